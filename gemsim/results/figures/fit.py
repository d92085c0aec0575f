"""A fitted log beside its data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.fit import Analysis
from gemsim.failures.logs.laws import Fit
from gemsim.failures.logs.roundtrip import simulate
from gemsim.results.figures.canvas import canvas, png_of, svg_of

Floats = NDArray[np.float64]

_DATA, _FIT, _OTHER = "#1b1b1b", "#c1440e", "#2f6f9f"
_LOGS = 200


def fit_figure(analysis: Analysis) -> tuple[bytes, bytes]:
    """(SVG, PNG) of a fit beside its data: gaps of the system, events over time, counts of nodes, down times."""
    with canvas(9.5, 6.5, **{"axes.spines.top": False, "axes.spines.right": False}) as figure:
        axes = figure.subplots(2, 2)
        simulated = [
            simulate(analysis.log, analysis.model, seed=analysis.seed, replication=number)
            for number in range(_LOGS if analysis.checks else 1)
        ]
        _gaps(axes[0, 0], analysis, simulated)
        _over_time(axes[0, 1], analysis, simulated)
        _counts(axes[1, 0], analysis)
        _down(axes[1, 1], analysis)
        log = analysis.log
        figure.suptitle(f"{log.source}: {len(log.time_h):,} events, {log.nodes:,} nodes, {log.window_h / 24:.4g} d")
        return svg_of(figure), png_of(figure)


def _gaps(axes: Any, analysis: Analysis, simulated: list[Floats]) -> None:
    """Survival of the gaps that are not zero: data, the model's band, and the two laws often taken instead."""
    gaps = _positive(np.diff(np.sort(analysis.log.time_h)))
    if not len(gaps):
        axes.set(xlabel="gap between starts, h", ylabel="share longer")
        return
    x = np.geomspace(gaps.min(), gaps.max(), 120)
    curves = np.array([_survival(_positive(np.diff(one)), x) for one in simulated if len(one) > 2])
    if len(curves):
        low, high = np.quantile(curves, [0.025, 0.975], axis=0)
        axes.fill_between(x, low, high, color=_FIT, alpha=0.25, lw=0, label=_band(len(curves)))
    axes.step(np.sort(gaps), 1 - np.arange(len(gaps)) / len(gaps), color=_DATA, lw=1, label="data", where="pre")
    for fit in analysis.rows[0].gap_fits:
        if fit.kind in ("exponential", "weibull"):
            shape = f" (shape {fit.shape:.2f}): a diagnostic, no device law" if fit.kind == "weibull" else ""
            axes.plot(
                x, _law(fit, x), lw=0.9, ls="--" if fit.kind == "weibull" else ":", color=_OTHER, label=fit.kind + shape
            )
    axes.set(
        xscale="log", yscale="log", ylim=(0.5 / len(gaps), 1.2), xlabel="gap between starts, h", ylabel="share longer"
    )
    axes.legend(frameon=False, fontsize=6.5, loc="lower left")


def _over_time(axes: Any, analysis: Analysis, simulated: list[Floats]) -> None:
    log = analysis.log
    at = np.linspace(0.0, log.window_h, 200)
    curves = np.array([np.searchsorted(one, at) for one in simulated])
    low, high = np.quantile(curves, [0.025, 0.975], axis=0)
    axes.fill_between(at / 24, low, high, color=_FIT, alpha=0.25, lw=0, label=_band(len(curves)))
    axes.plot(log.time_h / 24, np.arange(1, len(log.time_h) + 1), color=_DATA, lw=1, label="data")
    for start, _ in analysis.model.drift[1:]:
        axes.axvline(start / 24, color=_OTHER, lw=0.5, ls=":")
    axes.set(xlabel="day (dotted: steps of the rate that all classes of the section share)", ylabel="events so far")
    axes.legend(frameon=False, fontsize=6.5, loc="upper left")


def _counts(axes: Any, analysis: Analysis) -> None:
    """Nodes by number of events beside Poisson and the gamma frailty."""
    from scipy.stats import nbinom, poisson

    log, nodes = analysis.log, analysis.classes[0].nodes
    if nodes is None:
        axes.text(0.5, 0.5, "single nodes cannot be compared", ha="center", va="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    counts = np.bincount(np.bincount(log.node, minlength=log.nodes))
    x = np.arange(len(counts))
    mean = len(log.time_h) / log.nodes
    axes.bar(x, counts, color="#bbbbbb", width=0.8, label="data")
    axes.plot(x, log.nodes * poisson.pmf(x, mean), color=_OTHER, lw=1, ls=":", label="all alike (Poisson)")
    if math.isfinite(nodes.gamma_shape):
        k = nodes.gamma_shape
        axes.plot(
            x, log.nodes * nbinom.pmf(x, k, k / (k + mean)), color=_FIT, lw=1, label=f"gamma frailty, shape {k:.2f}"
        )
    most = len(counts) - 0.5
    axes.set(xlabel="events of a node", ylabel="nodes", yscale="log", ylim=(0.3, None), xlim=(-0.6, most))
    axes.legend(frameon=False, fontsize=6.5)


def _down(axes: Any, analysis: Analysis) -> None:
    """Survival of the down times beside the best law and the laws written for a study."""
    repair = analysis.classes[0].repair
    if not repair.known or repair.mean_h <= 0:
        axes.text(0.5, 0.5, "no down time is known", ha="center", va="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    down = _positive(analysis.log.downtime_h[~np.isnan(analysis.log.downtime_h)])
    x = np.geomspace(down.min(), down.max(), 120)
    axes.step(np.sort(down), 1 - np.arange(len(down)) / len(down), color=_DATA, lw=1, label="data", where="pre")
    if repair.fits:
        axes.plot(x, _law(repair.fits[0], x), color=_OTHER, lw=1, ls="--", label=f"best by AIC: {repair.fits[0].kind}")
    axes.plot(x, _written(analysis, x), color=_FIT, lw=1, label="laws of the section, all classes together")
    axes.set(xscale="log", yscale="log", ylim=(0.5 / len(down), 1.2), xlabel="down time, h", ylabel="share longer")
    axes.legend(frameon=False, fontsize=6.5, loc="lower left")


def _band(logs: int) -> str:
    return f"fitted section, central 95 % of {logs} logs" if logs > 1 else "fitted section, one log"


def _written(analysis: Analysis, x: Floats) -> Floats:
    """P(time > x) of the down times that are not 0, by the laws of the section, each as often as its events."""
    laws = [(one.repair, one.repair.known) for one in analysis.model.sources if one.repair.mean_h > 0]
    chances = np.zeros(len(x))
    for repair, known in laws:
        if repair.kind == "fixed":
            chances += known * (x < repair.mean_h)
        else:
            shape = repair.sigma if repair.kind == "lognormal" else 1.0
            scale = repair.law_median_h if repair.kind == "lognormal" else repair.mean_h
            chances += known * _law(Fit(repair.kind, shape, scale, 0.0, 0, 0), x)
    return chances / max(sum(known for _, known in laws), 1)


def _law(fit: Fit, x: Floats) -> Floats:
    """P(time > x) of a fitted law."""
    from scipy import special

    z = x / fit.scale
    chance: Floats
    if fit.kind == "gamma":
        chance = special.gammaincc(fit.shape, z)
    elif fit.kind == "lognormal":
        chance = special.ndtr(-np.log(z) / fit.shape)
    else:
        chance = np.exp(-(z**fit.shape))  # the exponential has shape 1
    return chance


def _survival(values: Floats, x: Floats) -> Floats:
    chance: Floats = 1.0 - np.searchsorted(np.sort(values), x, side="left") / max(len(values), 1)
    return np.maximum(chance, 1e-9)


def _positive(values: Floats) -> Floats:
    kept: Floats = values[values > 0]
    return kept
