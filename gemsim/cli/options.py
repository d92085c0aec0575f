"""Options that mean the same in every command that has them."""

from __future__ import annotations

import click

jobs_option = click.option("--jobs", "-j", type=click.IntRange(1), help="Worker processes (default: one for each CPU).")
seed_option = click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Instead of the study's seed.")
