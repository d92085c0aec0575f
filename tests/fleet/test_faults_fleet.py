"""Faults planted in the nodes beside the job, each with the check that notices it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import pytest

from tests.faults import must_reject, replaced
from tests.fleet import test_scripted_nodes as nodes
from tests.fleet import test_scripted_orderly as orderly
from tests.fleet.test_fleet_metamorphic import check_waits

Fault = AbstractContextManager[None]
Make = Callable[..., Any]
ENGINE = "gemsim.engine."
NOTHING: Callable[[Make], Make] = lambda _: lambda *args, **keys: None  # noqa: E731


RETIRED = ENGINE + "verdict:Verdicts._retired"


def on_fleet(method: str, make: Callable[[Make], Make]) -> Fault:
    """A method of the fleet is another."""
    return replaced(f"{ENGINE}fleet:Fleet.{method}", make)


def shop_of(change: Callable[[Any], Any]) -> Fault:
    """The shop works by another plan."""
    return replaced(ENGINE + "before:Shop", lambda original: lambda plan: original(change(plan)))


def pools_of(change: Callable[[Any], Any]) -> Fault:
    """The pools work by another plan."""
    return replaced(ENGINE + "fleet:Pools", lambda original: lambda plan, *rest, **keys: original(
        change(plan), *rest, **keys))  # fmt: skip


def each_stage(**keys: Any) -> Fault:
    """All stages of repair have these."""
    return shop_of(lambda plan: replace(plan, stages=tuple(replace(stage, **keys) for stage in plan.stages)))


def cured_lemons_still_fail() -> Fault:
    """Repair makes no lemon ordinary."""
    return on_fleet("_note_cured", NOTHING)


def every_repair_cures() -> Fault:
    """No repair silently fails."""
    return each_stage(silent=0.0)


def slow_nodes_are_never_found() -> Fault:
    """Nobody looks."""
    return replaced(ENGINE + "faults:Injector.hide", NOTHING)


def the_fastest_counts() -> Fault:
    """Of two slow nodes the lesser evil holds the job up."""

    def least(_: Make) -> Make:
        def slowest(hidden: Any) -> Any:
            event = min(hidden.slow, key=lambda one: hidden.slow[one][0])
            return hidden.slow[event][0], event.index

        return slowest

    return replaced(ENGINE + "hidden:Hidden.slowest", least)


def slowness_stays_at_its_place() -> Fault:
    """A slow node that was replaced still holds the job up."""
    return replaced(ENGINE + "hidden:Hidden.leave", NOTHING)


def missing_work_is_owed_twice() -> Fault:
    """A roll-back over slow work leaves it missing."""
    return replaced(ENGINE + "capacity:Capacity.restart", NOTHING)


def notice_is_ignored() -> Fault:
    """Nobody saves before a stop."""
    return replaced(ENGINE + "recovery:Stores.save_on_notice", lambda _: lambda stores, moment, strike: (moment, 0.0))


def notice_is_long_enough() -> Fault:
    """Any save is taken to fit."""
    return replaced(
        ENGINE + "recovery:Stores.save_on_notice",
        lambda original: lambda stores, moment, strike: original(stores, moment, replace(strike, notice=inf)),
    )


def stop_begins_again() -> Fault:
    """A failure during a stop starts the whole stop again."""

    def whole(original: Make) -> Make:
        def course(recovery: Any, *args: Any) -> Any:
            found = original(recovery, *args)
            return replace(found, planned=600.0 if found.planned else 0.0)

        return course

    return replaced(ENGINE + "recovery:Recovery._course", whole)


def checks_find_nothing() -> Fault:
    """No failure is found before it strikes."""
    return replaced(ENGINE + "strike:Striker.strike", lambda original: lambda striker, *args, **keys: replace(
        original(striker, *args, **keys), slots=()))  # fmt: skip


def retired_nodes_come_back() -> Fault:
    """Who is retired is repaired."""
    return replaced(
        ENGINE + "pools:Pools.retire", lambda _: lambda pools, node, now, *_rest: pools.send_for([node], now, 300)
    )


def nobody_is_retired() -> Fault:
    """The rule is never met."""
    return replaced(RETIRED, lambda _: lambda *args: False)


def the_count_goes_with_the_place() -> Fault:
    """A failure counts against whoever stood there at the start."""

    def blame(original: Make) -> Make:
        def at_place(verdicts: Any, gpu: int, now: float) -> Any:
            with replaced(ENGINE + "fleet:Fleet.node_in", lambda _: lambda _fleet, place: place):
                return original(verdicts, gpu, now)

        return at_place

    return replaced(RETIRED, blame)


def scores_do_not_fade() -> Fault:
    """Failures count in full however long ago."""

    def old(original: Make) -> Make:
        def blame(verdicts: Any, gpu: int, now: float) -> Any:
            rule = verdicts.retire
            verdicts.retire = replace(rule, half_life=1e12) if rule.half_life < inf else rule
            found = original(verdicts, gpu, now)
            verdicts.retire = rule
            return found

        return blame

    return replaced(RETIRED, old)


def devices_stay_where_they_were() -> Fault:
    """What strikes a device strikes the place in which it stood at the start."""
    return on_fleet("where", lambda _: lambda fleet, node: node if node < fleet.places else -1)


def chains_go_on() -> Fault:
    """A failure that follows another has the marks of the first."""

    def same(original: Make) -> Make:
        return lambda trace, event, device, now: original(trace, event._replace(again=0), device, now)

    return replaced("gemsim.failures.trace:Trace.follower", same)


def the_guilty_one_is_found() -> Fault:
    """There is no misdiagnosis."""
    return on_fleet("_innocent", lambda _: lambda fleet, place, u: fleet.node_in(place))


def cold_spares_fail() -> Fault:
    """What fails standing by may be off."""

    def any_kind(original: Make) -> Make:
        def lose(pools: Any, node: int, now: float, *rest: Any) -> Any:
            return original(pools, node, now, *rest) or node >= 4

        return lose

    return replaced(ENGINE + "pools:Pools.lose_idle", any_kind)


def all_start_alike() -> Fault:
    """Warm and cold spares start as hot ones do."""
    return pools_of(lambda plan: replace(plan, activation=plan.activation[:1] * 3))


def crews_without_limit() -> Fault:
    """All are mended at once."""
    return each_stage(crews=0)


def no_parts_needed() -> Fault:
    """Repair never waits for a part."""
    return shop_of(lambda plan: replace(plan, parts=None))


def one_spare_more() -> Fault:
    """There is a spare that the study does not know."""
    return pools_of(lambda plan: replace(plan, hot=plan.hot + 1))


def joins_are_noticed_at_once() -> Fault:
    """A spare that does not join costs no time-out."""
    return pools_of(lambda plan: replace(plan, join_timeout=0.0))


def borrowed_at_once() -> Fault:
    """Taking a node from another job takes no time."""
    return pools_of(lambda plan: replace(plan, borrow_each=1e-9))


def empty_places_fail() -> Fault:
    """What strikes a place strikes, whether anybody stands there or not."""

    def anyway(original: Make) -> Make:
        def struck(fleet: Any, event: Any, now: float) -> Any:
            return original(fleet, event, now) if event.bound or event.unit >= 16 else event.unit

        return struck

    return on_fleet("struck", anyway)


def who_left_is_still_there() -> Fault:
    """A node that was sent to repair is still found in its place."""

    def stays(original: Make) -> Make:
        def away(fleet: Any, nodes: list[int], *rest: Any) -> None:
            places = {node: fleet.where(node) for node in nodes}
            original(fleet, nodes, *rest)
            fleet.place_of.update(places)

        return away

    return on_fleet("_send_away", stays)


def nodes_are_lost() -> Fault:
    """Nobody comes back from repair."""
    return replaced(ENGINE + "pools:Pools.send_for", NOTHING)


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (cured_lemons_still_fail, partial(nodes.check_cure, 0.0, 2)),
        (every_repair_cures, partial(nodes.check_cure, 0.5, 3)),
        (slow_nodes_are_never_found, orderly.test_a_slow_node_holds_all_up_until_it_is_found_and_taken_out),
        (the_fastest_counts, orderly.test_the_slowest_of_two_counts),
        (slowness_stays_at_its_place, orderly.test_a_slow_node_may_leave_for_another_reason_before_it_is_found),
        (missing_work_is_owed_twice, orderly.test_missing_work_is_made_up_for_once),
        (notice_is_ignored, orderly.test_a_planned_stop_with_notice_costs_the_step_in_progress),
        (notice_is_long_enough, orderly.test_a_save_that_takes_longer_than_the_notice_is_not_tried),
        (stop_begins_again, partial(orderly.test_a_failure_during_a_stop_does_not_make_it_longer, [], 0.0, "gpu")),
        (checks_find_nothing, partial(orderly.test_a_check_finds_a_failure_before_it_strikes, 0.4, 4.0, 3.0, 0.0)),
        (retired_nodes_come_back, orderly.test_without_a_new_node_the_job_waits_to_the_end),
        (nobody_is_retired, partial(orderly.test_two_failures_within_the_window_retire_a_node, 600.0, 1)),
        (the_count_goes_with_the_place, orderly.test_the_count_goes_with_the_node_and_not_with_its_place),
        (scores_do_not_fade, partial(orderly.test_a_score_fades, 201.0, 0)),
        (devices_stay_where_they_were, partial(nodes.test_a_device_fails_again_where_it_stands, "replace", 500, 1, 1)),
        (devices_stay_where_they_were, nodes.test_a_device_that_is_back_in_the_job_fails_again_there),
        (chains_go_on, nodes.test_a_chain_ends_with_its_mark),
        (the_guilty_one_is_found, nodes.test_misdiagnosis_takes_a_healthy_node_and_the_faulty_one_its_place),
        (cold_spares_fail, nodes.test_a_device_in_no_place_is_not_seen),
        (empty_places_fail, nodes.test_nobody_fails_in_an_empty_place),
        (who_left_is_still_there, nodes.test_a_replacement_that_breaks_while_it_is_started),
        (nodes_are_lost, nodes.test_a_replacement_that_breaks_while_it_is_started),
        (all_start_alike, nodes.test_hot_then_warm_then_cold),
        (crews_without_limit, check_waits),
        (one_spare_more, check_waits),
        (no_parts_needed, nodes.test_two_stages_and_a_part),
        (joins_are_noticed_at_once, nodes.test_a_spare_that_does_not_join_is_noticed_after_its_time_out),
        (borrowed_at_once, nodes.test_a_node_is_borrowed_when_there_are_too_few),
    ],
)
def test_fault_in_the_fleet_is_rejected(fault: Callable[[], Fault], check: Callable[[], None]) -> None:
    must_reject(check, fault())
