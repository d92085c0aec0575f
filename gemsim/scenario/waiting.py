"""What a job can wait for: nodes in place of those taken out, or its own to be reset or rebooted.

The ledger books both as waiting. What a study says tells them apart where it has one of them alone; where it has both,
the seconds of resets and reboots follow from the rates, to first order.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemsim.failures.classes import FailureClass
from gemsim.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class Waits:
    """`nodes`: whether any failure takes a node out. `devices`: seconds of resets and reboots per second of the job."""

    nodes: bool
    devices: float


def waits(scenario: Scenario) -> Waits:
    """What of the waiting this scenario can have."""
    taken = any("replace" in _actions(kind) for kind in scenario.classes)
    by_rule = scenario.fleet.retire is not None or scenario.geometry is not None  # whatever the action is
    devices = sum(
        kind.starts * kind.striking * share * scenario.restart.device_wait(action)
        for kind in scenario.classes
        for action, share in _actions(kind).items()
    )
    return Waits(taken or by_rule, devices)


def _actions(kind: FailureClass) -> dict[str, float]:
    """What follows a failure of a class, with its share."""
    shares: dict[str, float] = {}
    for contained, share in ((True, kind.contained), (False, 1.0 - kind.contained)):
        action = kind.action_of(contained=contained)
        if share > 0.0:
            shares[action] = shares.get(action, 0.0) + share
    return shares
