"""What may be written for a key of a study, where its type alone does not say it: for docs/study.md."""

from __future__ import annotations

ALLOWED: dict[str, str] = {
    "uncertain": "path: law, e.g. `failures.contained: beta(14, 19)`",
    "title": "text",
    "notes": "text",
    "cluster.gpu": "a GPU type, see below",
    "failures.mix": "a failure mix, see below",
    "failures.drift": "list of [time, factor], the first at 0",
    "failures.replay.log": "a CSV file",
    "failures.replay.window": "time, or `FROM to TO`",
    "failures.replay.where": "`{column: value}` or `{column: [value, …]}`",
    "failures.replay.columns": "`{time_h: t, node: host, …}`",
    "failures.replay.detect": "time, or a law as `detect` of a class",
    "failures.replay.repair": "time, or a law as `detect` of a class",
    "failures.classes.rows": "list of [rows, probability]",
    "failures.classes.frailty": "as `failures.frailty`",
    "failures.classes.drift": "as `failures.drift`",
    "failures.classes.batch.sizes": "list of [number, probability]",
    "failures.classes.stop": "time, or a law as `detect`",
    "failures.classes.latent.read": "time, or a law as `detect`",
    "fleet.repair.stages.time": "time, or a law as `detect` of a class",
    "fleet.repair.parts.lead": "time, or a law as `detect` of a class",
    "failures.classes.source": "text",
    "workload.protect": "`critical`, `unique` or a list of `weights`, `moments`, `expert_weights`, `expert_moments`",
    "compare": "mapping of name to sections",
    "require": 'mapping of column to bound, as `"<= 0.5 %"`',
    "profile": "a profile, see below",
    "quick": "`sweep`, `compare`, `decide`, `run`, `require`",
    "decide.variables": "mapping of path to list or range: `{from: 8, to: 1024, factor: 2}`, "
    "`{from: 0, to: 64, step: 8}`, `{from: 1 min, to: 2 h, number: 40, scale: log}`",
    "decide.objective": "`goodput`, `cost`, `{finish: 0.9}`",
    "run.precision": "mapping of column to share, number or time",
    "sweep.grid": "mapping of path to list",
    "sweep.zip": "mapping of path to list",
    "sweep.points": "list of mappings of path to value",
    "sweep.nested": "list of sweeps",
    "sample.over": "mapping of path to list or range: `{from: 1 min, to: 1 h, scale: log}`, "
    "`{from: 8, to: 64, whole: true}`",
}
