"""Memory errors in cold pages that nobody has read yet: where they lie, and when they will be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gemsim.engine.capacity import Capacity
from gemsim.engine.faults import Injector
from gemsim.engine.fleet import Fleet
from gemsim.engine.strike import Strike, Striker
from gemsim.engine.verdict import Verdicts
from gemsim.failures.trace import Event
from gemsim.protection.damage import Damage, together
from gemsim.protection.stripe import PageStripe
from gemsim.scenario import Scenario


class Unseen:
    """The errors that lie unseen, in order, each with the GPU whose state it is in."""

    def __init__(
        self, scenario: Scenario, injector: Injector, striker: Striker, fleet: Fleet, capacity: Capacity,
        verdicts: Verdicts,
    ) -> None:  # fmt: skip
        self.scenario, self.injector, self.striker = scenario, injector, striker
        self.fleet, self.capacity, self.verdicts = fleet, capacity, verdicts
        self.critical = {region.name for region in scenario.platform.memory.regions if region.critical}
        self.stripes = [tier for tier in scenario.tiers if isinstance(tier, PageStripe)]
        self.gpus: dict[Event, int] = {}

    def takes(self, event: Event, gpu: int, region: str, now: float) -> bool:
        """Whether nobody sees this hit until its page is read, by a scrub or else; it then waits for that. On what is
        out anyway all are seen."""
        kind, mark = self.scenario.classes[event.index], self.striker.trace.mark
        if region not in self.critical or mark(event, "contained") >= kind.contained:
            return False
        if mark(event, "latent") >= kind.latent or any(gpu in block for block in self.capacity.blocks()):
            return False
        self.gpus[event] = gpu
        hit = self.striker.hit(event, kind, gpu, region)
        read = now + float(kind.read.quantile(mark(event, "read")))
        self.injector.hide(event, now, min([read, *(stripe.scrubbed(hit, now) for stripe in self.stripes)]))
        return True

    def read(self, event: Event, now: float) -> Strike | None:
        """A page is read: the strike of its error, with all that is found beside it; None if it is gone by now."""
        gpu = self.gpus.pop(event, None)
        if gpu is None:
            return None
        worn = self.fleet.remap(event, gpu)
        strike = self.verdicts.strike(event, gpu, now, region=self._region(event), worn=worn)
        return self.joined(strike, gpu)

    def joined(self, strike: Strike, gpu: int) -> Strike:
        """A repair of a GPU's state reads the rest of it: what lies unseen there is to be repaired too."""
        critical = any(hit.region in self.critical for hit in strike.damage.pages)
        found = [event for event, where in self.gpus.items() if critical and where == gpu]
        if not found:
            return strike
        for event in found:
            del self.gpus[event]
        others = []
        for event in found:
            self.fleet.remap(event, gpu)
            others.append(self.striker.strike(event, strike.wall, gpu, region=self._region(event)))
        strikes = [strike, *others]
        return replace(
            strike,
            damage=together(one.damage for one in strikes),
            slots=next((one.slots for one in strikes if one.slots), ()),
            repair=max(one.repair for one in strikes),
            wait=max(one.wait for one in strikes),
            remap=any(one.remap for one in strikes),
        )

    def _region(self, event: Event) -> str:
        return self.striker.region(event, self.scenario.classes[event.index])

    def lose(self, damage: Damage, *, rewritten: bool = False) -> None:
        """Memory is gone, or a roll-back has written the state of all anew, with all that lies unseen in it."""
        if not self.gpus:
            return
        if damage.all_gpu_memory or rewritten:
            self.gpus.clear()
        elif damage.lost:
            grid = self.scenario.platform.grid
            self.refill([grid.members(unit, number) for unit, number in damage.lost])

    def refill(self, blocks: Sequence[range]) -> None:
        """The memory of these GPUs is written anew."""
        if self.gpus:
            self.gpus = {event: gpu for event, gpu in self.gpus.items() if not any(gpu in block for block in blocks)}
