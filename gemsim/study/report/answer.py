"""The first screen: the answer in the words of the terminal, and the numbers that it stands on."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gemsim.results.summary import Row
from gemsim.study.advice import Group, advice, cautions, verdict
from gemsim.study.certainty import certainty
from gemsim.study.drawn import drawn, winner
from gemsim.study.heading import sources
from gemsim.study.matrix import Block
from gemsim.study.money import hourly
from gemsim.study.report.content import NUMERIC, Answer, Fact, Grid, Part, plain
from gemsim.study.report.jobs import APART, grid_of, sentence_of
from gemsim.study.report.view import View
from gemsim.study.report.words import KINDS, LEVEL, UNKNOWN, ettr, form, known, range_text
from gemsim.study.shares import percent
from gemsim.study.terminal import twin
from gemsim.units import brief

SHOWN_GROUPS = 6
NOTHING = "Nothing to compare: no design could be simulated."


def answer_of(view: View) -> Answer:
    """The first screen of a sweep; of one without numbers that alone."""
    lead = view.lead
    if lead is None:
        return Answer(NOTHING, "", (), (), ())
    if view.result.plan.jobs:
        return _of_drawn(view)
    if view.jobs:
        return _of_jobs(view)
    if view.fleet_decides:  # there is one design in each group: its verdict would be none
        sentence, why = view.fleets[0].text, [f"{one.title.partition(' (')[0]}: {one.text}" for one in view.fleets[1:]]
    else:
        sentence, why = verdict(lead), advice(lead)[: 1 if lead.best is not None and len(lead.designs) > 1 else 0]
    said = [*why, *certainty(lead)]
    return Answer(
        sentence=sentence,
        about="" if view.fleet_decides else view.title(lead),
        why=said + (_elsewhere(view, lead) if len(view.groups) > 1 and not view.fleet_decides else []),
        facts=list(_facts(view, lead)),
        cautions=[f"Caution: {'; '.join(found)}."] if (found := cautions(view.rows)) else [],
        groups=groups_of(view),
    )


def _of_jobs(view: View) -> Answer:
    """Where systems stand beside each other: how they rank on each job."""
    assert view.shown is not None
    rows = list(view.rows)
    facts = [_sample(view.shown), _costs(view.shown)]
    return Answer(
        sentence=sentence_of(view.jobs, rows),
        about="",
        why=[APART],
        facts=facts,
        cautions=[f"Caution: {'; '.join(found)}."] if (found := cautions(view.rows)) else [],
        groups=grid_of(view.jobs, rows),
    )


def _of_drawn(view: View) -> Answer:
    """Where the jobs are drawn: what holds over all of them, since no two of them compete."""
    blocks = drawn_blocks(view)
    lines = [block.title for block in blocks if block.table is None]
    tables = [plain(block.table, block.title) for block in blocks if block.table is not None]
    rows = [row for row in view.rows if row["ettr"] is not None]
    facts = [
        Fact("Drawn jobs", str(len(view.groups)), "designs compete within one job alone"),
        Fact(
            "ETTR, simulated", f"{min(r['ettr'] for r in rows):.4f} to {max(r['ettr'] for r in rows):.4f}", "over all"
        ),
        _costs(rows[0]),
    ]
    said = [f"Caution: {'; '.join(found)}."] if (found := cautions(view.rows)) else []
    return Answer(winner(view.groups), "", lines, facts, said, tables[0] if tables else None)


def drawn_blocks(view: View) -> list[Block]:
    """What the terminal says of drawn jobs."""
    plan = view.result.plan
    return list(drawn(view.groups, plan.jobs, plan.sampled))


def _elsewhere(view: View, lead: Group) -> list[str]:
    """Whether the other groups come to the same design."""
    others = [group for group in view.groups if group is not lead and group.best is not None]
    if lead.best is None or not others:
        return []
    name = lead.name(lead.best)
    same = sum(group.best is not None and group.name(group.best) == name for group in others)
    if same == len(view.groups) - 1:
        return [f"{name} is the best design of all {len(view.groups)} groups."]
    return [f"The best design is not the same in all {len(view.groups)} groups: see below."]


def _facts(view: View, lead: Group) -> Iterator[Fact]:
    row = view.shown
    if row is None:
        return
    span = range_text(row, "ettr", digits=4)
    yield Fact("ETTR, simulated", f"{row['ettr']:.4f}", f"{LEVEL}: {span}" if span else "one replication: no interval")
    yield _closed_form(row)
    allowed = len(lead.allowed)
    if allowed > 1:
        yield Fact(
            "Tied with the largest", f"{len(lead.choice.tied)} of {allowed}", _paired_on(len(lead.designs) - allowed)
        )
    yield Fact("Memory overhead", percent(row["memory_overhead"]), "of the GPU's memory")
    yield Fact("Step time", f"+{percent(row['step_overhead'], 3)}", "when nothing fails")
    hour = hourly(lead)
    if hour is not None:
        yield Fact("Useful GPU-hour", *hour)
    if known(row["wall_s_lo"]) and row["wall_s_lo"] < row["wall_s_hi"]:
        low, high = (brief(row[f"wall_s_{end}"], "time") for end in ("lo", "hi"))
        yield Fact("Wall time", brief(row["wall_s"], "time"), f"{LEVEL}: {low} to {high}, until the work is done")
    yield _sample(row)
    yield _costs(row)


def _paired_on(excluded: int) -> str:
    left = f"; {excluded} more do not meet the requirement" if excluded else ""
    return f"designs, paired on the same failures{left}"


def _closed_form(row: Row) -> Fact:
    if not known(row["ettr_analytic"]):
        return Fact("Closed form", "none", str(row["analytic_note"] or "not covered"))
    kind = KINDS.get(row["analytic_kind"], str(row["analytic_kind"]))
    error = row["analytic_error"]
    stated = "" if error is None or math.isnan(error) or not error else f", stated error {error:.1g}"
    return Fact("Closed form", f"{row['ettr_analytic']:.4f}", f"{kind}{stated}; simulated less it: {twin(row)[1]}")


def _sample(row: Row) -> Fact:
    done = row["replications"]
    days = brief(row["wall_s"], "time")
    each = "" if not known(row["failures"]) else f"{row['failures'] * done:,.0f} failures in all, {days} each"
    return Fact("Replications", str(done), each)


def _costs(row: Row) -> Fact:
    if not row["profile"]:
        return Fact("Costs", "none", "no calibration profile is used")
    profile = str(row["profile"]).partition("#")[0].partition("/")[0]
    kind = ("modelled", f"not measured: {profile}") if row["modelled"] else ("measured", profile)
    return Fact("Costs", *kind)


def groups_of(view: View, most: int = SHOWN_GROUPS) -> Grid | None:
    """How each group stands, where there are several."""
    known_groups = [(group, title) for group, title in zip(view.groups, view.titles, strict=True) if group.designs]
    if len(known_groups) < 2:
        return None
    rows = [[title, *_standing(group)] for group, title in known_groups[:most]]
    more = len(known_groups) - most
    headings = ("group", "best design", f"ETTR, {LEVEL}", "closed form", "tied", "memory", "step time")
    notes = [f"{more} more groups below and in summary.csv."] if more > 0 else []
    caption = "The fleets, each with its design" if view.fleet_decides else "The best design of each group"
    return Grid(caption, headings, ("", "", *[NUMERIC] * 5), [Part("", rows)], notes)


def _standing(group: Group) -> list[str]:
    row = group.best or group.reference
    if row is None:
        return ["none meets the requirement", *[UNKNOWN] * 5]
    name = group.name(row) if group.best is not None else f"no choice; largest: {group.name(row)}"
    tied = f"{len(group.choice.tied)} of {len(group.allowed)}"
    return [
        name,
        ettr(row),
        form(row).replace("\n", " "),
        tied,
        percent(row["memory_overhead"]),
        f"+{percent(row['step_overhead'], 3)}",
    ]


def source_lines(view: View) -> list[str]:
    """Whether the costs were measured or modelled, for each profile."""
    return list(sources(view.rows))
