"""One run of one design point of a study, recorded, and the files that tell it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gemsim.engine.record import record
from gemsim.results.folder import locked, write_bytes
from gemsim.results.timeline import Timeline, events_csv, spans_csv
from gemsim.results.timeline_chrome import to_chrome
from gemsim.results.timeline_text import to_text
from gemsim.scenario import build
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.study.design import DesignPoint
from gemsim.study.plan import label_of


def recorded(loaded: LoadedStudy, design: DesignPoint, *, seed: int | None, replication: int) -> Timeline:
    """The run that a sweep makes of this point and replication. Raises Infeasible where it cannot exist."""
    scenario = build(resolve_point(loaded, design.assignments))
    used = loaded.spec.run.seed if seed is None else seed
    found = record(scenario, seed=used, replication=replication)
    return replace(found, title=loaded.spec.title, design=label_of(design))


def write(timeline: Timeline, folder: Path) -> None:
    """All that there is of it, as files: every event as text and CSV, spans, pictures and a trace."""
    from gemsim.results.figures.timeline import timeline_pictures

    svg, png = timeline_pictures(timeline)
    texts = {
        "timeline.txt": to_text(timeline, full=True),
        "timeline.csv": events_csv(timeline),
        "spans.csv": spans_csv(timeline),
        "timeline.json": to_chrome(timeline),
    }
    files = {name: text.encode() for name, text in texts.items()} | {"timeline.svg": svg, "timeline.png": png}
    with locked(folder):
        for name, content in files.items():
            write_bytes(folder / name, content)
