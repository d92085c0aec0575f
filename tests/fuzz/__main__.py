"""`python -m tests.fuzz KIND FIRST COUNT`: run these cases and print what is found; any number of defects."""

from __future__ import annotations

import faulthandler
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.cases import KINDS, run_case
from tests.fuzz.watch import Defect


def run(kind: str, first: int, count: int) -> Counter[str]:
    """How the cases went."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        for number in range(first, first + count):
            folder = Path(name) / "case"
            faulthandler.dump_traceback_later(120, exit=True)
            begun = time.process_time()
            try:
                found[run_case(kind, number, folder)] += 1
            except Defect as defect:
                found["defects"] += 1
                told = str(defect)
                print(told[:400] if len(told) < 900 else f"{told[:300]}\n …\n{told[-700:]}", "\n", flush=True)
            spent = time.process_time() - begun
            if spent > 5:
                print(f"slow: {kind} {number}: {spent:.1f} CPU s", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    faulthandler.cancel_dump_traceback_later()
    return found


if __name__ == "__main__":
    asked = sys.argv[1]
    for one in [*KINDS] if asked == "all" else [asked]:
        begun = time.process_time()
        print(
            one,
            dict(run(one, int(sys.argv[2]), int(sys.argv[3]))),
            f"{time.process_time() - begun:.1f} CPU s",
            flush=True,
        )
