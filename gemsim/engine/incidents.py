"""What happens to the job next: a failure strikes, is found later than it struck, or strikes nobody."""

from __future__ import annotations

from gemsim.engine.faults import Injector
from gemsim.engine.fleet import Fleet
from gemsim.engine.listener import Listener
from gemsim.engine.progress import Progress
from gemsim.engine.strike import NOWHERE, Strike, Striker
from gemsim.engine.tally import Tally
from gemsim.engine.unseen import Unseen
from gemsim.engine.verdict import Verdicts
from gemsim.failures.trace import Event
from gemsim.scenario import Scenario


class Incidents:
    """Failures that are due, as strikes: what they do to this job as it stands now. None where that is nothing yet."""

    def __init__(
        self, scenario: Scenario, injector: Injector, striker: Striker, fleet: Fleet, progress: Progress,
        tally: Tally, unseen: Unseen, verdicts: Verdicts,
    ) -> None:  # fmt: skip
        self.scenario, self.injector, self.striker, self.fleet = scenario, injector, striker, fleet
        self.progress, self.hidden, self.tally = progress, progress.hidden, tally
        self.unseen, self.verdicts = unseen, verdicts
        self.listener: Listener | None = None

    def next(self, now: float, *, advancing: bool) -> Strike | None:
        """What is due at wall time `now`, while the job runs (`advancing`) or stands still."""
        event, since = self.injector.pop(now, self.progress.exposure, advancing=advancing)
        strike = self.met(event, now) if since is None else self._found(event, since, now)
        if self.listener is not None:
            self.listener.heard(event, since, strike, now)
        return strike

    def met(self, event: Event, now: float) -> Strike | None:
        """A failure of the trace."""
        if not self.striker.ordinary[event.index]:
            return self._extraordinary(event, now)
        gpu = self.fleet.struck(event, now)
        if gpu == NOWHERE:
            return None
        self.tally.failures += 1
        strike = self.verdicts.strike(event, gpu, now)
        return self.unseen.joined(strike, gpu) if self.unseen.gpus else strike

    def _extraordinary(self, event: Event, now: float) -> Strike | None:
        """A memory error, what strikes unseen, a planned stop, or a failure that another of the same device follows."""
        gpu = self.injector.struck(event, self.fleet, now, self.progress.exposure)
        if gpu == NOWHERE:
            return None
        kind = self.scenario.classes[event.index]
        if kind.scope == "silent" or (kind.scope == "slow" and not self.verdicts.found_early(event)):
            self.tally.failures += 1
            self._hide(event, gpu, now)
            return None
        region = self.striker.region(event, kind) if kind.scope == "memory" else ""
        if kind.latent and self.unseen.takes(event, gpu, region, now):
            self.tally.failures += 1
            return None
        worn = kind.scope == "memory" and self.fleet.remap(event, gpu)
        if region == "free":
            return None
        if kind.scope == "planned":
            self.tally.planned_stops += 1
            return self.striker.strike(event, now, gpu, region=region)
        self.tally.failures += 1
        strike = self.verdicts.strike(event, gpu, now, region=region, worn=worn)
        return self.unseen.joined(strike, gpu) if self.unseen.gpus else strike

    def _hide(self, event: Event, gpu: int, now: float) -> None:
        """What strikes unseen waits for its detection; a slow node holds up all others until then."""
        node = self.fleet.node_in(gpu // self.scenario.platform.grid.per_node)
        self.hidden.add(event, gpu, self.scenario.classes[event.index].slower, node)
        self.injector.hide(event, now)

    def _found(self, event: Event, since: float, now: float) -> Strike | None:
        """What struck unseen is detected: a corruption rolls back, a slow node that is still there is taken out."""
        if self.scenario.classes[event.index].scope == "memory":
            return self.unseen.read(event, now)
        if event not in self.hidden.gpus:
            return None  # the slow node has left for another reason
        gpu, node = self.hidden.find(event)
        kind = self.scenario.classes[event.index]
        silent = kind.scope == "silent"
        if node != NOWHERE and self.fleet.where(node) != NOWHERE:  # others were blamed or drawn, and it has moved
            per_node = self.scenario.platform.grid.per_node
            gpu = self.fleet.where(node) * per_node + gpu % per_node
        if kind.slower and kind.detect.mean and self.fleet.misdiagnosed(event):
            self._hide(event._replace(again=event.again + 1), gpu, now)  # it stays, and has to be found again
        if silent:
            return self.striker.strike(event, now, gpu, region="", since=since)
        return self.verdicts.strike(event, gpu, now)
