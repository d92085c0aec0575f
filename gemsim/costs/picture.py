"""A picture of a calibration: bytes of data encoded per second over k, one line for each m, under the copy roofline.

It is written as SVG text, so it needs no plotting library and any browser shows it.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 74, 118, 64, 58
COLOURS = ("#4e79a7", "#e15759", "#59a14f", "#b07aa1", "#f28e2b", "#76b7b2", "#9c755f", "#333333")


def picture(curves: Mapping[int, Mapping[int, float]], *, copy_bandwidth: float, title: str, note: str) -> str:
    """The SVG. `curves` is m -> k -> bytes/s of data; dashed lines are what copy bandwidth allows, B k / (k + m)."""
    widths = sorted({k for curve in curves.values() for k in curve})
    scale = _Scale(widths, copy_bandwidth, curves)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 24, title, size=16),
        _text(LEFT, 44, note, colour="#666"),
        *_axes(scale, widths),
    ]
    for place, m in enumerate(sorted(curves)):
        parts += _curve(scale, m, curves[m], copy_bandwidth, COLOURS[place % len(COLOURS)])
    parts += _legend(sorted(curves))
    return "\n".join([*parts, "</svg>", ""])


class _Scale:
    """Bytes/s and k to places in the picture: k on a logarithmic axis, bytes/s from 0."""

    def __init__(self, widths: list[int], copy: float, curves: Mapping[int, Mapping[int, float]]) -> None:
        self.low, self.high = math.log(widths[0] / 1.25), math.log(widths[-1] * 1.25)
        top = max([copy, *(value for curve in curves.values() for value in curve.values())])
        self.step = _step(top)
        self.top = self.step * math.ceil(top * 1.02 / self.step)

    def x(self, k: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(k) - self.low) / (self.high - self.low)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.top


def _step(top: float) -> float:
    """A round distance between the marks: 1, 2 or 5 times a power of ten, about six of them."""
    power = 10.0 ** math.floor(math.log10(top / 6))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= top / 6)


def _axes(scale: _Scale, widths: list[int]) -> Iterable[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    unit, name = (1e12, "TB/s") if scale.top >= 2e12 else (1e9, "GB/s")
    for at in range(round(scale.top / scale.step) + 1):
        y = scale.y(at * scale.step)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#ddd"/>'
        yield _text(LEFT - 8, y + 4, f"{at * scale.step / unit:.4g}", anchor="end")
    for k in widths:
        yield f'<line x1="{scale.x(k):.1f}" y1="{bottom}" x2="{scale.x(k):.1f}" y2="{bottom + 5}" stroke="#333"/>'
        yield _text(scale.x(k), bottom + 20, str(k), anchor="middle")
    yield f'<line x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="#333"/>'
    yield _text((LEFT + right) / 2, HEIGHT - 14, "k, data shards of a stripe", anchor="middle")
    middle = (TOP + bottom) / 2
    yield (
        f'<text x="20" y="{middle}" text-anchor="middle" transform="rotate(-90 20 {middle})">'
        f"data encoded, {name}</text>"
    )


def _curve(scale: _Scale, m: int, curve: Mapping[int, float], copy: float, colour: str) -> Iterable[str]:
    points = [(scale.x(k), scale.y(curve[k])) for k in sorted(curve)]
    low, high = math.exp(scale.low), math.exp(scale.high)
    steps = [low * (high / low) ** (at / 60) for at in range(61)]
    roof = [(scale.x(k), scale.y(copy * k / (k + m))) for k in steps]
    yield _line(roof, colour, 'stroke-dasharray="3 4" opacity="0.55"')
    yield _line(points, colour, 'stroke-width="2"')
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>'


def _line(points: list[tuple[float, float]], colour: str, more: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" {more}/>'


def _legend(rows: list[int]) -> Iterable[str]:
    x = WIDTH - RIGHT + 14
    for place, m in enumerate(rows):
        y, colour = TOP + 12 + 20 * place, COLOURS[place % len(COLOURS)]
        yield f'<line x1="{x}" y1="{y}" x2="{x + 22}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
        yield _text(x + 28, y + 4, f"m = {m}")
    y = TOP + 12 + 20 * len(rows)
    yield f'<line x1="{x}" y1="{y}" x2="{x + 22}" y2="{y}" stroke="#666" stroke-dasharray="3 4"/>'
    yield _text(x + 28, y + 4, "roofline")


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 13, colour: str = "#222") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">'
        f"{html.escape(words)}</text>"
    )
