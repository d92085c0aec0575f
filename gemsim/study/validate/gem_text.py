"""The report on GEM as lines of at most 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from gemsim.study.validate.gem import Report
from gemsim.study.validate.gem_sets import AXES, PAIRS
from gemsim.study.validate.gem_worlds import BASELINES

WIDTH = 100
_INTRO = (
    "GEM claims that the time wasted by memory failures falls by 96.6 % on average, for 0.3 % of GPU memory. Of "
    "its paper only the abstract is known, so this is not judged: what follows says under which assumptions it "
    "is met. A cut is 1 - (time lost at memory failures) / (the same under the baseline) = P (1 - c / c0) + (1 - "
    "P) (1 - cf / c0): P repaired in GPU memory at cost c, the rest by the fall-back at cost cf, the baseline's "
    "cost c0. Failures: Llama 3 (2024). Baselines restart all processes (assumption), so a fall-back under a "
    "better restart mode is cheaper too."
)
_WORDS = {
    "contained": "contained",
    "pause": "pause",
    "lands": "on",
    "mapping": "mapping",
    "mode": "restart",
    "sram": "SRAM counted",
    "steady": "encoding counted",
}
_SAID = {"critical": "coded bytes", "used": "used bytes", True: "yes", False: "no"}


def render_gem(report: Report) -> list[str]:
    """The sections of `gem_report` as text."""
    return [
        "",
        "GEM (R21): which assumptions meet its claim",
        *_wrap(_INTRO),
        "",
        *_models(_of(report, "model")),
        "",
        *_simulated(_of(report, "simulated")),
        "",
        *_sets(_of(report, "set"), _of(report, "pattern")),
        "",
        *_swings(_of(report, "swing")),
    ]


def _of(report: Report, section: str) -> Report:
    return [row for row in report if row["section"] == section]


def _wrap(text: str, indent: str = "", hang: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=hang or indent)


def _table(head: Iterable[str], body: Iterable[Iterable[str]], first: int = 18) -> list[str]:
    """Columns as wide as their longest cell, the first to the left and the rest to the right."""
    lines = [list(head), *(list(row) for row in body)]
    wide = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    wide[0] = max(wide[0], first)
    shown = []
    for line in lines:
        cells = [line[0].ljust(wide[0]), *(cell.rjust(size) for cell, size in zip(line[1:], wide[1:], strict=True))]
        shown.append("  ".join(cells).rstrip())
    return shown


def _models(rows: Report) -> list[str]:
    """Each job: k at 0.3 % of memory, the share that a code inside the GPU can decode, and what it is up against."""
    head = ("model", "GPUs", "coded", "k: m=1", "m=2", "m=3", "m=4", "burst", "P", "encode", "c0 cpu", "hourly")
    body = [
        (
            row["model"],
            f"{row['gpus']:,}",
            f"{row['coded_share']:.1%}",
            *(row["k"][m] for m in (1, 2, 3, 4)),
            str(row["survivable_burst_pages"]),
            f"{row['decoded']:.3f}",
            f"{row['steady_s']:,.0f} s",
            f"{row['lost_s']['cpu']:,.0f} s",
            f"{row['lost_s']['hourly']:,.0f} s",
        )
        for row in rows
    ]
    note = (
        "coded: weights and moments, share of GPU memory. k: data pages of a stripe whose m parity pages take "
        "0.3 % of GPU memory; above 255 (coded beyond 76.5 % / m, m > 1) it needs GF(2^16). burst: adjacent "
        "pages that it survives, interleaved. P: decoded when all errors are contained and hit coded bytes; the "
        "rest hits the update and the encode. encode: seconds of encoding for each memory failure. c0: lost per "
        "memory failure under the baseline, CPU memory each step and remote each hour."
    )
    return [*_table(head, body, 16), *_wrap(note), *_wrap(_costs(rows))]


def _costs(rows: Report) -> str:
    """What the seconds of coding and of steps rest on."""
    words = {row["profile"]: "modelled, not measured" if row["modelled"] else "measured" for row in rows}
    profiles = "; ".join(f"profile {name}, {word}" for name, word in sorted(words.items()))
    return f"Costs of coding: {profiles}. Steps of the models are derived (calibration/published/models.yaml)."


def _simulated(rows: Report) -> list[str]:
    head = ("simulated", "saves", "contained", "P-term", "rest", "cut", "engine (95 %)", "of all", "engine (95 %)")
    body = [
        (
            row["model"],
            row["baseline"],
            f"{row['contained']:.2f}",
            f"{row['code']:.3f}",
            f"{row['of_fallback']:.3f}",
            f"{row['cut']:.3f}",
            _interval(row["simulated"]),
            f"{row['all_at_memory']:.3f}",
            _interval(row["all_simulated"]),
        )
        for row in rows
    ]
    note = (
        "P-term and rest: the two terms of the cut in closed form (first order); cut: their sum, beside the "
        "engine's, paired on the same failures. GEM falls back to the baseline, in place of a restart of all "
        "processes. of all: the cut at memory failures as a share of all lost time; behind it the engine's cut "
        "of all lost time, which holds encoding and what the restart mode does for other failures."
    )
    return [*_table(head, body, 16), *_wrap(note)]


def _interval(values: tuple[float, float, float]) -> str:
    value, low, high = values
    return f"{value:.3f} ± {(high - low) / 2:.3f}"


def _sets(rows: Report, found: Report) -> list[str]:
    """For each baseline and fall-back how many sets are met, and which."""
    head = ("baseline > fall-back of GEM", "sets", "met", "by code alone", "lowest cut", "highest", "highest P-term")
    body, named = [], list[str]()
    for pair in PAIRS:
        own = [row for row in rows if (row["baseline"], row["fallback"]) == pair]
        alone = sum(_count(p) for p in found if (p["baseline"], p["fallback"], p["by"]) == (*pair, "code"))
        cuts = [row["total"] for row in own]
        counts = (str(len(own)), str(sum(row["met"] for row in own)), str(alone))
        most = max(row["code"] for row in own)
        title = f"{BASELINES[pair[0]]} > {'same' if pair[0] == pair[1] else 'CPU memory'}"
        body.append((title, *counts, f"{min(cuts):.3f}", f"{max(cuts):.3f}", f"{most:.3f}"))
        own_patterns = [p for p in found if (p["baseline"], p["fallback"]) == pair]
        named += _wrap(f"{title}:" + ("" if own_patterns else " met by no set"))
        for one in own_patterns:
            by = "by the code" if one["by"] == "code" else "with the fall-back's term"
            named += _wrap(f"{by}: {_said(one)}", "  ", "    ")
    note = (
        "Sets: all combinations of contained 0.42, 0.54, 0.9, 1; restart in place, holder, all processes; pause "
        "1, 10, 60 s; errors on coded or used bytes; both mappings; SRAM errors counted or not; encoding counted "
        "or not (with --quick fewer). A set is met when the mean over the models is 96.6 % or more; by code "
        f"alone: the P-term alone is. All other sets miss it.{_stall(rows)} Met:"
    )
    return [*_table(head, body, 34), *_wrap(note), *named]


def _stall(rows: Report) -> str:
    """What detection, pause and decode may cost where the code alone is enough."""
    alone = [row["repaired"] for row in rows if row["met"] and row["total"] - row["of_fallback"] >= row["claim"]]
    return f" By code alone, detection and pause are at most {max(alone):.1%} of the baseline's cost." if alone else ""


def _count(pattern: dict[str, Any]) -> int:
    """Sets in a pattern."""
    count = 1
    for axis in AXES:
        count *= len(pattern[axis])
    return count


def _said(pattern: dict[str, Any]) -> str:
    """A pattern in words; an axis of which all values are in it is left out."""
    parts = []
    for axis, values in AXES.items():
        if len(pattern[axis]) < len(values):
            shown = " or ".join(str(_SAID.get(v, v) if isinstance(v, bool | str) else f"{v:g}") for v in pattern[axis])
            parts.append(f"{_WORDS[axis]} {shown.replace('_', ' ')}{' s' if axis == 'pause' else ''}")
    return "; ".join(parts) or "every set"


def _swings(rows: Report) -> list[str]:
    """One assumption at a time, widest swing first by the hourly baseline."""
    head = ("one assumption at a time", "from", "to", "hourly: from", "to", "swing", "cpu: swing")
    near = {row["axis"]: row["swing"] for row in rows if row["baseline"] == "cpu"}
    body = [
        (
            row["axis"],
            row["low"],
            row["high"],
            *(f"{row[key]:.3f}" for key in ("cut_low", "cut_high")),
            *(f"{round(swing, 3) + 0.0:+.3f}" for swing in (row["swing"], near[row["axis"]])),
        )
        for row in rows
        if row["baseline"] == "hourly"
    ]
    note = (
        "Mean cut over the models against hourly remote saves and against CPU memory each step, each also the "
        "fall-back, about: all contained, in place, pause and detection 10 s, on coded bytes, interleaved, 2 "
        "MiB, 0.3 %, m = 1. Encoding each step costs a small job more than all its memory failures do."
    )
    return [*_table(head, body, 28), *_wrap(note)]
