"""What of the pages no test runs, and why; and how what is run is made small. A block that is in neither fails."""

from __future__ import annotations

PARSED: dict[str, str] = {
    "gemsim calibrate --cpu": "measures for minutes; tests/calibrate runs it small",
    "gemsim calibrate --gpu": "needs a GPU",
    "gemsim calibrate --from": "needs a file that a bench wrote; tests/calibrate makes one",
    "--dask": "needs a cluster; tests/study/test_cluster.py starts one",
    "/shared/": "needs the disk of a cluster; tests/study/test_merge.py runs shares of a shipped study and joins them",
    "gemsim merge": "needs folders of other hosts; tests/study/test_merge.py makes them and runs it",
    "gemsim validate": "seconds to minutes; tests/validate runs it, once",
}
"""Commands that are only parsed: command, options and files exist. By words that the line holds, as `--gpu`."""

SLOW: tuple[str, ...] = ("gemsim recommend",)
"""Over three seconds even when small: run by `make test-long`."""

SMALL: dict[str, tuple[str, ...]] = {
    "sweep": ("--replications", "2", "--jobs", "1"),
    "explain": ("--replications", "2"),
    "sensitivity": ("--quick", "--samples", "4"),
    "losses": ("--quick", "--most", "1"),
    "recommend": ("--quick", "--jobs", "1"),
    "fit": ("--replications", "100"),
}
"""Options that a command gets, unless it has them."""

OTHER: dict[str, str] = {
    ". .venv/bin/activate": "the shell's own; `make run` made it",
    ". /shared/gemsim/bin/activate": "the shell's own",
    "python3 -m venv /shared/gemsim": "Python's own",
    "pip install '/shared/src/gemsim[cluster]'": "pip's own; the extra stands in pyproject.toml",
    "sbatch /shared/src/gemsim/docs/slurm/array.sh": "Slurm's own; tests/study/test_cluster.py reads the script",
    "python /shared/src/gemsim/docs/slurm/workers.py": "needs Slurm; tests/study/test_cluster.py has it write its jobs",
    "dask scheduler": "Dask's own; tests/study/test_cluster.py starts a cluster",
    "dask worker": "Dask's own",
}
"""What is neither gemsim, make nor a module of ours: shown, not run. By how the line begins."""

MODULES: tuple[str, ...] = ("gemsim_kernels.bench", "gemsim.cli.main", "pytest")
"""What `python -m` may name."""
