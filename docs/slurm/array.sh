#!/bin/bash
# Each of 200 nodes runs one share of a sweep: docs/cluster.md says how. Put in your own names.
#SBATCH --job-name=gemsim
#SBATCH --partition=normal
#SBATCH --array=1-200
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --time=08:00:00
. /shared/gemsim/bin/activate
I=$SLURM_ARRAY_TASK_ID
exec gemsim sweep /shared/studies/big.yaml --shard "$I/200" --out "/shared/runs/big-$I"
