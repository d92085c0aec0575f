"""Errors of SRAM lie outside what a code over memory pages can touch: no stripe inside a GPU ever takes one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from pydantic import ValidationError

from gemsim.protection.damage import MODES, Nature, consequence, nature_of
from gemsim.protection.stripe import PageStripe
from gemsim.protection.tier import Moment
from gemsim.spec.failures import FailureClassSpec
from tests.engine.small import RETRY, STRIPE, Hit, checkpoint, recovered, run, scenario
from tests.faults import must_reject, replaced

ACTIONS = ("none", "restart_app", "drain_and_reset", "reset", "reboot", "replace")


def codable() -> None:
    """Whatever the hardware action, the restart mode and even a mark that says contained: a GPU is lost, no page."""
    of = scenario(STRIPE, checkpoint())
    (stripe,) = (tier for tier in of.tiers if isinstance(tier, PageStripe))
    for action, mode, contained in product(ACTIONS, MODES, (False, True)):
        nature = nature_of("sram", contained=contained, region="weights", action=action)
        assert nature.kind == "gpu"
        assert not stripe.survives(nature, of.platform)
        damage = consequence(
            mode=mode, nature=nature, action=action, gpu=3, grid=of.platform.grid, hit=None, survives=True,
            replace_unit="node",
        )  # fmt: skip
        assert damage.memory_lost
        assert not damage.pages
        assert stripe.recover(damage, Moment(5, 1.0, 0), of.platform) is None


def test_an_sram_error_is_never_a_lost_page() -> None:
    codable()


def test_sram_taken_for_memory_is_caught() -> None:
    def make(right: Callable[..., Nature]) -> Callable[..., Nature]:
        return lambda scope, **keys: right("memory" if scope == "sram" else scope, **keys)

    must_reject(codable, replaced("tests.protection.test_sram:nature_of", make))


@pytest.mark.parametrize("key", [{"contained": 1.0}, {"rows": [[1, 1.0]]}, {"lands": "critical"}])
def test_a_study_cannot_call_an_sram_error_contained_or_give_it_rows(key: dict[str, object]) -> None:
    given = {"name": "sram", "scope": "sram", "rate": "1 / 1000 gpu h", "detect": "0 s", "action": "reset", **key}
    with pytest.raises(ValidationError, match="does not apply to scope sram"):
        FailureClassSpec.model_validate(given)


@pytest.mark.parametrize("mode", MODES)
def test_a_run_goes_past_the_stripe(mode: str) -> None:
    """A contained page at the same moment is the stripe's in place; an SRAM error is the checkpoint's in every mode."""
    of = scenario(RETRY, STRIPE, checkpoint(), mode=mode, run__horizon="2000 s")
    row = run(of, Hit("sram", 505.0))
    assert recovered(row) == {"checkpoint": 1}
    assert row["touch_failures"] == 0
