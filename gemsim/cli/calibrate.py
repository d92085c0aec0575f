"""`gemsim calibrate`: measure the coding kernels on this machine, or make or check a profile of what was measured."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemsim.cli.main import DONE, FAULT

if TYPE_CHECKING:
    from gemsim.costs.goals import Achieved
    from gemsim_kernels.bench import Report

DEFAULT_OUT = Path("out/profiles")
SHOWN = 12  # differences of a check: one sample changed can move every entry
EXAMPLES = """\b
Examples:
  gemsim calibrate --cpu --budget 90s
  gemsim calibrate --gpu 0
  gemsim calibrate --from bench.json   # made on a bare machine: python -m gemsim_kernels.bench --gpu 0 --out bench.json
  gemsim calibrate --check cpu-amd-epyc-26-2
"""


@click.command(epilog=EXAMPLES)
@click.option("--cpu", is_flag=True, help="Measure the host.")
@click.option("--gpu", type=click.IntRange(0), metavar="N", help="Measure GPU number N.")
@click.option("--from", "source", type=click.Path(path_type=Path), help="Take the JSON of gemsim_kernels.bench.")
@click.option("--check", "checked", metavar="PROFILE", help="Refit a profile's samples; they must give that profile.")
@click.option("--budget", default="4m", show_default=True, help="How long to measure at most, about: 90s or 4m.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of the host kernels.")
@click.option("--out", type=click.Path(path_type=Path), default=DEFAULT_OUT, show_default=True,
              help="Where DEVICE/DATE/ is written.")  # fmt: skip
@click.option("--conditions", default="", help="What disturbs the measurement, such as a shared machine.")
def calibrate(
    cpu: bool, gpu: int | None, source: Path | None, checked: str | None, budget: str, threads: int, out: Path,
    conditions: str,
) -> int:  # fmt: skip
    """Measure what coding costs on this machine, and write it as a profile that a study can name.

    Writes DEVICE/DATE/profile.json with samples.csv (every repeat) and throughput.svg. Ctrl-C keeps what was measured.
    """
    if sum((cpu, gpu is not None, source is not None, checked is not None)) != 1:
        raise click.UsageError("one of --cpu, --gpu N, --from FILE.json or --check PROFILE")
    if checked is not None:
        return _check(checked)
    bench = _measured(gpu, budget, threads) if source is None else _read(source)
    return _write(bench, out, conditions) if bench else FAULT


def _check(name: str) -> int:
    """Refit; 2 where the profile does not follow from its samples."""
    from gemsim.costs.calibrate import check
    from gemsim.costs.profiles import profile_path
    from gemsim.errors import ProfileError

    path = profile_path(name)
    wrong = check(path)
    if wrong:
        lines = [f"{path}: does not follow from its samples.csv", *(f"  {one}" for one in wrong[:SHOWN])]
        more = [f"  and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        raise ProfileError("\n".join(lines + more))
    shown = f"{path.parent.parent.name}/{path.parent.name}"
    modelled = path.parent.name == "modelled"
    click.echo(f"{shown}: {'modelled, so there are no samples' if modelled else 'its samples give this profile'}")
    return DONE


def _measured(gpu: int | None, budget: str, threads: int) -> dict[str, Any]:
    """What the bench measured; nothing, with the reason said, where there is no usable GPU."""
    from gemsim_kernels import bench
    from gemsim_kernels.gpu_reasons import NoGpu

    try:
        seconds = bench.seconds_of(budget)
    except ValueError as error:
        raise click.UsageError(f"--budget: {error}") from error
    try:
        arm = bench.arm_for(gpu, threads=threads)
    except NoGpu as error:
        click.echo(str(error), err=True)
        return {}
    click.echo(f"Measuring {arm.device} for about {budget}; Ctrl-C keeps what was measured.", err=True)
    return bench.measure(arm, seconds, report=_report())


def _report() -> Report:
    """A line that is written over on a terminal, else one every two seconds."""
    from gemsim_kernels.bench import Progress, printer

    if not sys.stderr.isatty():
        return printer(sys.stderr)

    def _show(progress: Progress) -> None:
        share = f"{progress.done}/{progress.planned}"
        line = f"{share:>9}  {progress.left:4.0f} s left  {progress.label}"
        end = "\n" if progress.done == progress.planned else ""
        click.echo(f"\r{line[: shutil.get_terminal_size().columns - 1]:<79}{end}", nl=False, err=True)

    return _show


def _read(path: Path) -> dict[str, Any]:
    from gemsim.costs.profiles import LARGEST
    from gemsim.errors import ProfileError
    from gemsim.files import read_file

    try:
        data = json.loads(read_file(path, most=LARGEST))
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"{path}: not JSON ({error})") from error
    if not isinstance(data, dict):
        raise ProfileError(f"{path}: not the output of gemsim_kernels.bench")
    return data


def _write(bench: dict[str, Any], out: Path, conditions: str) -> int:
    """Profile, samples and picture; the table; 1 where a kernel gave wrong bytes."""
    from gemsim.costs.calibrate import series_of, write_profile
    from gemsim.costs.goals import achieved, curves
    from gemsim.costs.picture import picture
    from gemsim.costs.profiles import read_profile

    there = out / str(bench.get("device")) / str(bench.get("taken"))[:10] / "profile.json"
    if there.exists():
        click.echo(f"{there}: of the same device and day, is replaced", err=True)
    folder = write_profile(out, bench, conditions=conditions)
    profile = read_profile(folder.resolve() / "profile.json")
    series = series_of(bench)
    rows = achieved(series, copy_bandwidth=profile.copy_bandwidth, gpu=bench["kind"] == "gpu")
    click.echo("\n".join(table(rows)))
    for name, value in profile.ceilings.items():
        shown = f"{value * 1e6:.3g} µs" if "launch" in name else f"{value / 1e9:.4g} GB/s"
        click.echo(f"{name.replace('_', ' '):<16}{shown}")
    drawn = curves(series)
    if drawn:
        name = profile.provenance.get("device name", profile.device)
        note = "; ".join(part for part in (f"measured {profile.date}", conditions, "solid: measured") if part)
        text = picture(drawn, copy_bandwidth=profile.copy_bandwidth, title=f"Encoding on {name}", note=note)
        (folder / "throughput.svg").write_text(text, encoding="utf-8")
    worst = max(profile.points, key=lambda point: point.residual or 0.0)
    width = "any k" if worst.k is None else f"k = {worst.k}"
    click.echo(f"worst miss of t = t0 + bytes / B: {worst.residual:.0%}, {worst.op} at {width} with {worst.rows} rows")
    alone = sum(point.smallest == point.largest for point in profile.points)
    if alone:
        click.echo(f"{alone} of {len(profile.points)} fits stand on one size alone: no miss to see, and t0 is a guess")
    if profile.unfinished:
        click.echo(f"UNFINISHED: {profile.unfinished}")
    click.echo(f"written: {folder}/profile.json, samples.csv{', throughput.svg' if drawn else ''}")
    click.echo(f"a study uses it with `profile: {folder}` (`profile: {folder} strict` refuses what it does not hold)")
    wrong = [row for row in rows if row.verdict == "WRONG BYTES"]
    if wrong:
        click.echo(f"WRONG BYTES in {len(wrong)} series: they are left out, and these kernels must not be used")
    return FAULT if wrong else DONE


def table(rows: Iterable[Achieved]) -> Iterable[str]:
    """The table: throughput, achieved over copy bandwidth, goal, verdict."""
    yield "GB/s of data encoded, rebuilt or changed; ÷ copy: bytes read plus written, over those of a plain copy"
    yield f"{'':<8}{'code':>8}{'lost':>6}{'field':>7}{'GB/s of data':>14}{'÷ copy':>8}{'goal':>6}  verdict"
    for row in rows:
        one = row.series
        lost = str(one.rows) if one.op == "decode" else ""
        least = "" if row.goal is None else f"{row.goal:.2f}"
        field = "XOR" if one.field == 1 else f"2^{one.field}"
        code = f"{one.k}+{one.m}"
        yield (
            f"{one.op:<8}{code:>8}{lost:>6}{field:>7}{row.data / 1e9:>14.2f}{row.ratio:>8.2f}{least:>6}  {row.verdict}"
        )
