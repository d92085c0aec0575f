"""Put the terminal output of the main job, of a recommendation and of marked commands into the pages.

python docs/refresh.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs import make_reference, outputs

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
STUDY = "studies/widths.yaml"
BEGIN = "<!-- output of the main job, written by docs/refresh.py -->"
END = "<!-- end of output -->"
PAGE = ROOT / "docs" / "decide.md"
DECISION = "studies/recommend.yaml"
ALL_OF_ONE = "<!-- a recommendation, written by docs/refresh.py -->"
END_OF_ONE = "<!-- end of the recommendation -->"


def output(*options: str) -> str:
    """What `gemsim sweep studies/widths.yaml --quick` prints, run in an empty folder; `options` are added to it."""
    return _printed("sweep", STUDY, *options)


def recommendation(*options: str) -> str:
    """What `gemsim recommend studies/recommend.yaml --quick` prints, without the time that it took."""
    printed = _printed("recommend", DECISION, *options)
    return re.sub(r"^Took .*\n(?:  .*\n)*", "", printed, flags=re.MULTILINE)


def _printed(name: str, study: str, *options: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "studies", Path(folder, "studies"))
        command = [sys.executable, "-m", "gemsim.cli.main", name, study, "--quick", *options]
        search = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": search, "COLUMNS": "100"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[1:])} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _span(text: str, begin: str, end: str) -> tuple[int, int]:
    """Where the output stands in a page: after the first marker and its fence, up to the closing fence."""
    found = re.search(re.escape(begin) + r"\n```text\n(.*?)```\n" + re.escape(end), text, re.DOTALL)
    if found is None:
        raise SystemExit(f"no block of output between its markers ({begin})")
    return found.span(1)


def block(text: str, begin: str = BEGIN, end: str = END) -> str:
    """What a page holds between its markers, without the fence."""
    start, end_ = _span(text, begin, end)
    return text[start:end_]


def refreshed(text: str, printed: str, begin: str = BEGIN, end: str = END) -> str:
    """A page with `printed` between its markers."""
    start, end_ = _span(text, begin, end)
    return text[:start] + printed + text[end_:]


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text(encoding="utf-8"), output()), encoding="utf-8")
    PAGE.write_text(
        refreshed(PAGE.read_text(encoding="utf-8"), recommendation(), ALL_OF_ONE, END_OF_ONE), encoding="utf-8"
    )
    for name in outputs.PAGES:
        page = ROOT / name
        page.write_text(outputs.refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
    make_reference.TARGET.write_text(make_reference.reference(), encoding="utf-8")  # holds docs/study_intro.md
    print("wrote README.md, docs/decide.md, docs/study.md,", ", ".join(outputs.PAGES))
