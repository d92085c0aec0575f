"""Dask workers on 8 nodes under Slurm, until this is stopped: docs/cluster.md says how. Put in your own names."""

import time

from dask_jobqueue import SLURMCluster

cluster = SLURMCluster(
    queue="normal",
    cores=64,
    processes=64,
    memory="240GB",
    walltime="08:00:00",
    interface="ib0",
    python="/shared/gemsim/bin/python",
    local_directory="/tmp",
    log_directory="/shared/runs/logs",
    job_extra_directives=["--exclusive"],
    worker_extra_args=["--no-dashboard", "--dashboard-address", "127.0.0.1:0"],
    scheduler_options={
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",
        "scheduler_file": "/shared/runs/scheduler.json",
    },
)
cluster.scale(jobs=8)
print(cluster.scheduler_address, flush=True)
while True:
    time.sleep(60)
