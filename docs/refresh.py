"""Put the terminal output of the main job into README.md, between its markers.

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

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
STUDY = "studies/widths.yaml"
BEGIN = "<!-- output of the main job, written by docs/refresh.py -->"
END = "<!-- end of output -->"


def output(*options: str) -> str:
    """What `gemsim sweep studies/widths.yaml --quick` prints, run in an empty folder; `options` are added to it."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "studies", Path(folder, "studies"))
        command = [sys.executable, "-m", "gemsim.cli.main", "sweep", STUDY, "--quick", *options]
        search = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": search, "COLUMNS": "100"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[1:])} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _span(text: str) -> tuple[int, int]:
    """Where the output stands in README.md: after the first marker and its fence, up to the closing fence."""
    found = re.search(re.escape(BEGIN) + r"\n```text\n(.*?)```\n" + re.escape(END), text, re.DOTALL)
    if found is None:
        raise SystemExit(f"{README}: has no block of output between its markers")
    return found.span(1)


def block(text: str) -> str:
    """What README.md holds between its markers, without the fence."""
    start, end = _span(text)
    return text[start:end]


def refreshed(text: str, printed: str) -> str:
    """README.md with `printed` between its markers."""
    start, end = _span(text)
    return text[:start] + printed + text[end:]


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text(encoding="utf-8"), output()), encoding="utf-8")
    print(f"wrote {README}")
