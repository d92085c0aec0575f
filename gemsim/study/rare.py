"""How likely a run of each design loses everything: the engine's estimate beside the closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gemsim.analytic.losses import Losses, losses
from gemsim.analytic.survival import nines
from gemsim.engine.rare import RareLosses, rare_losses
from gemsim.errors import GemsimError, NotCovered, ValueRefused
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.study.choosing import choose_point
from gemsim.study.design import DesignPoint, designs_of

LEAST, MOST = 0.01, 1.0  # precision that can be asked for
SHOWN = 4  # parts of a loss on the page


@dataclass(frozen=True, slots=True)
class Found:
    """One design: P(a run loses everything), what it is in closed form, or why it cannot be told."""

    index: int
    name: str
    simulated: RareLosses | None = None
    form: Losses | None = None
    reason: str = ""  # why there is no closed form, or no such design

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        told = {"point": self.index, "name": self.name, "reason": self.reason}
        simulated = None if self.simulated is None else asdict(self.simulated)
        form = None if self.form is None else {**asdict(self.form), "parts": dict(self.form.parts)}
        return {**told, "simulated": simulated, "closed_form": form, "nines": self.nines, "ratio": self.ratio}

    @property
    def nines(self) -> float | None:
        """Of the probability that nothing is lost; of the upper bound where no loss was met."""
        if self.simulated is None:
            return None
        seen = self.simulated.value or self.simulated.hi
        return nines(seen) if seen else None

    @property
    def ratio(self) -> tuple[float, float, float] | None:
        """Engine over closed form, with its interval."""
        if self.simulated is None or self.form is None or not (self.form.probability and self.simulated.value):
            return None
        of = self.simulated
        return of.value / self.form.probability, of.lo / self.form.probability, of.hi / self.form.probability


def rare_of(
    loaded: LoadedStudy, *, point: int | None, words: Sequence[str], precision: float, most_seconds: float
) -> Iterator[Found]:
    """Each design of a study in turn, or the one that `point` (from 1) or `words` (path=value) choose."""
    designs = designs_of(loaded)
    if point is not None or words:
        designs = [choose_point(loaded, number=point, words=words)]
    if not LEAST <= precision <= MOST:
        raise ValueRefused(
            f"--precision is {precision:g}", f"a share from {LEAST:g} to {MOST:g}", "0.2 is enough to choose a design"
        )
    known: set[str] = set()
    for design in designs:
        try:
            scenario = build(resolve_point(loaded, design.assignments))
        except GemsimError as error:
            yield Found(design.index + 1, name_of(design), reason=" ".join(str(error).split()))
            continue
        if scenario.id in known:
            continue
        known.add(scenario.id)
        yield _found(design, scenario, loaded.spec.run.seed, precision, most_seconds)


def _found(design: DesignPoint, scenario: Scenario, seed: int, precision: float, most_seconds: float) -> Found:
    form, reason = None, ""
    try:
        form = losses(scenario)
    except NotCovered as error:
        reason = error.reason
    simulated = rare_losses(scenario, seed=seed, precision=precision, most_seconds=most_seconds)
    return Found(design.index + 1, name_of(design), simulated, form, reason)


def name_of(design: DesignPoint) -> str:
    """What a point varies, in one line."""
    swept = [f"{path}={value}" for path, value in design.columns.items() if value != ""]
    return " ".join(filter(None, [design.variant, *swept])) or "the study as it stands"


def lines(found: Found) -> Iterator[str]:
    """One design as text."""
    yield f"{found.index}: {found.name}"
    if found.simulated is None:
        yield f"  no such design: {found.reason}"
        return
    yield f"  engine       {said(found.simulated)}"
    if found.simulated.note:
        yield f"               plain runs, since {found.simulated.note}"
    if found.form is None:
        yield f"  closed form  none: {found.reason}"
        return
    form = found.form
    beside = "" if found.ratio is None else "; engine / form {:.3g} ({:.3g} to {:.3g})".format(*found.ratio)
    yield f"  closed form  {form.probability:.3g} ({form.kind}, {form.per_run:.3g} ± {form.error:.1g} per run){beside}"
    parts = sorted(form.parts.items(), key=lambda one: -one[1])
    for name, count in parts[:SHOWN]:
        yield f"               {count / form.per_run:6.1%} {name}"
    if len(parts) > SHOWN:
        rest = sum(count for _, count in parts[SHOWN:]) / form.per_run
        yield f"               {rest:6.1%} {len(parts) - SHOWN} others"


def said(of: RareLosses) -> str:
    """The engine's estimate in one line."""
    how = "failures forced" if of.method == "forced" else "plain runs"
    ended = f"{of.events:,.0f} losses in {of.runs:,} runs, {how}, stopped by {of.stopped_by}"
    if of.hi == 0.0:
        return "0: nothing fails"
    if of.events == 0 and of.hi >= 1.0:
        return f"no loss met, which bounds nothing yet; give it more time: {ended}"
    if of.events == 0:
        return f"< {of.hi:.2g} (95 %), at least {nines(of.hi):.1f} nines: {ended}"
    return f"{of.value:.3g} (95 %: {of.lo:.3g} to {of.hi:.3g}), {max(0.0, nines(of.value)):.1f} nines: {ended}"
