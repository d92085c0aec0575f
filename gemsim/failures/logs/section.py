"""The model as a `failures:` section in the words of a study, with the source of each number beside it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from gemsim.failures.logs.fit import Analysis
from gemsim.failures.logs.model import Source
from gemsim.failures.logs.repair import Repair
from gemsim.failures.logs.wording import within

_DETECT = "10 s  # assumption: a log of outages does not say how soon they were seen"
_REPAIR = "2.2 h  # assumption, not in this log: Delta's spare study, arXiv 2503.11901"


def section(analysis: Analysis, *, source: str, gpus: int) -> str:
    """YAML to paste into a study; `source` names the log, `gpus` is the fleet of a rate of the whole job."""
    return "\n".join(["failures:", *_shared(analysis), "  classes:", *_classes(analysis, source, gpus), ""])


def mix(analysis: Analysis, *, title: str, source: str, notes: str, gpus: int, cited: str) -> str:
    """The same as a file of calibration/published/failures; each class begins its source with `cited`.

    A mix is used for other times than the log's, so its rates are even; the steps stand there as a comment.
    """
    head = [f"title: {json.dumps(title, ensure_ascii=False)}", *_folded("source", source), *_folded("notes", notes)]
    steps = [f"# {line.strip().removeprefix('# ')}" for line in _shared(analysis)]
    lines = [line[2:] for line in _classes(analysis, cited, gpus, drift=False)]
    return "\n".join([*head, *steps, "classes:", *lines, ""])


def slug(name: str, taken: set[str]) -> str:
    """A name for a class: small letters, digits, underscores; unlike those taken."""
    base = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40].strip("_") or "class"
    base = base if base[0].isalpha() else f"class_{base}"
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    taken.add(found)
    return found


def _shared(analysis: Analysis) -> Iterator[str]:
    model = analysis.model
    if not model.drift:
        return
    yield (
        f"  # {len(model.drift)} stretches of the rate; each step gained {model.penalty:.3g} in log-likelihood or more"
        f" (bins of {model.bin_h:.3g} h)."
    )
    yield "  # They describe the time of this log: after it the last factor stays. Leave drift out for an even rate."
    yield from _flow("  drift", [f"[{_number(start)} h, {_number(factor)}]" for start, factor in model.drift])


def _classes(analysis: Analysis, source: str, gpus: int, *, drift: bool = True) -> Iterator[str]:
    taken: set[str] = set()
    for one in sorted(analysis.model.sources, key=lambda one: -one.events):
        yield f"    - name: {slug(one.name, taken)}"
        yield from (f"      {line}" for line in _one(one, analysis, source, gpus, drift))


def _one(one: Source, analysis: Analysis, source: str, gpus: int, drift: bool) -> Iterator[str]:
    log = analysis.log
    if log.named:
        yield "scope: node"
        hours = one.events / one.rate
        of_use = hours < 0.999999 * log.node_hours
        yield f"rate: {one.events} / {hours:.12g} node h" + ("  # hours of use: less those in repair" if of_use else "")
    else:
        yield "scope: process"
        yield "exposure: wall  # counted per wall time"
        yield f"rate: {one.events} / {log.window_h:.12g} h"
        yield f"gpus: {gpus}"
    if not math.isinf(one.gamma_shape):
        yield f"frailty: {{kind: gamma, shape: {_number(one.gamma_shape)}}}"
    if drift and one.steps != analysis.model.drift:
        yield from _flow("drift", [f"[{_number(start)} h, {_number(factor)}]" for start, factor in one.steps])
    if one.sizes:
        yield from _flow(
            "batch",
            [f"[{size}, {_number(share)}]" for size, share in _whole(one.sizes)],
            "{sizes: [",
            "], within: cluster}",
        )
        if one.spread_sigma > 0:
            yield (
                "# in the log the others start after the first by a lognormal time of mean"
                f" {one.spread_mean_h * 60:.3g} min, sigma {one.spread_sigma:.3g}; here at one instant"
            )
    if one.again:
        gap = f"{{kind: weibull, shape: {_number(one.gap_shape)}, mean: {_number(one.gap_mean_h)} h}}"
        yield f"recurrence: {{again: {_number(one.again)}, gap: {gap}}}"
    yield f"detect: {_DETECT}"
    yield f"action: {'replace' if log.named else 'restart_app'}"
    if log.named:
        yield f"repair: {_repair(one)}"
    yield from _folded("source", _why(one, analysis, source))


def _repair(one: Source) -> str:
    repair = one.repair
    if not repair.kind:
        return _REPAIR
    if repair.kind == "fixed":
        return f"{_number(repair.mean_h)} h"
    sigma = f", sigma: {_number(repair.sigma)}" if repair.kind == "lognormal" else ""
    return f"{{kind: {repair.kind}, mean: {_number(repair.mean_h)} h{sigma}}}"


def _why(one: Source, analysis: Analysis, source: str) -> str:
    log, repair = analysis.log, one.repair
    parts = [f"{source}: {one.events} events"]
    if one.sizes:
        parts[0] += " on two nodes or more that start " + within(analysis.model.joint_h)
        parts[0] += f", {round(analysis.model.joint.chance)} starts that chance explains left out"
    parts.append(f"in {log.window_h:,.0f} h on {log.nodes:,} nodes (fitted by gemsim fit)")
    if repair.kind:
        parts.append(
            f"repair: {repair.known} down times, {_kept(repair)}"
            + (f" (best by AIC: {repair.fits[0].kind})" if repair.fits else "")
        )
    return "; ".join(parts) + ". Detection: assumption. Action: assumption (the log gives outages, not actions)."


def _kept(repair: Repair) -> str:
    mean, median = f"mean {repair.mean_h:.4g} h", f"median {repair.median_h:.4g} h"
    if repair.keeps == "median":
        return f"{mean} and {median} kept"
    squares = " and mean of squares" if repair.keeps == "squares" else ""
    return f"{mean}{squares} kept, {median} (of the law {repair.law_median_h:.4g} h)"


def _whole(sizes: tuple[tuple[int, float], ...]) -> list[tuple[int, float]]:
    """Shares of six digits that sum to 1."""
    shares = [round(share, 6) for _, share in sizes]
    shares[0] = round(shares[0] + 1.0 - math.fsum(shares), 6)
    return [(size, share) for (size, _), share in zip(sizes, shares, strict=True)]


def _flow(key: str, items: list[str], head: str = "[", tail: str = "]") -> Iterator[str]:
    """A list on as many lines as it needs."""
    indent = " " * (len(key) - len(key.lstrip()) + 2)
    lines, line = [], f"{key}: {head}"
    for number, item in enumerate(items):
        text = item + (", " if number < len(items) - 1 else tail)
        if len(line) + len(text) > 112:
            lines.append(line.rstrip())
            line = indent
        line += text
    yield from [*lines, line]


def _folded(key: str, text: str) -> Iterator[str]:
    """A long text as a folded block."""
    import textwrap

    yield f"{key}: >-"
    yield from (f"  {line}" for line in textwrap.wrap(" ".join(text.split()), 108))


def _number(value: float) -> str:
    return (
        f"{value:.6g}"
        if abs(value) < 1e6 or value != int(value)
        else f"{value:.0f}"
        if value < 1e15
        else f"{value:.6g}"
    )
