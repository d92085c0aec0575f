"""The picture of the README: the first screen of the report of `gemsim sweep studies/widths.yaml --quick`.

python docs/make_picture.py    # needs chromium and chromedriver
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "report.png"


def make(target: Path) -> None:
    """Sweep, report, and write what a screen of 1,280 x 800 shows first."""
    sys.path.insert(0, str(ROOT))
    from gemsim.cli.main import main
    from tests.report.browser import browser

    with tempfile.TemporaryDirectory() as folder:
        study = str(ROOT / "studies" / "widths.yaml")
        for words in (["sweep", study, "--quick", "--out", folder], ["report", folder]):
            if main(words) != 0:
                raise SystemExit(f"gemsim {' '.join(words)} failed")
        with browser() as shown:
            shown.show(Path(folder, "report.html"))
            shown.picture(target)


if __name__ == "__main__":
    make(TARGET)
    print(f"wrote {TARGET}")
