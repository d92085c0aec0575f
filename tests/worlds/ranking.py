"""Where closed form and engine differ most on the random worlds: `python tests/worlds/ranking.py [WORLDS] [FAILURES]`.

One line for each world, the largest difference as a share of the time lost first.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from gemsim.analytic.run import predict
from tests.worlds import make, play


def line(number: int, size: play.Size) -> tuple[float, str]:
    """(difference beyond noise over the time lost, what is said of it)."""
    of = play.world(number, size)
    said = predict(of)
    ettr, stated = said["ettr_analytic"], said["analytic_error"]
    sample = np.array([row["productive_s"] / row["wall_s"] for row in play.rows(number, size, 0)])
    noise = float(sample.std(ddof=1)) / len(sample) ** 0.5
    apart = float(sample.mean()) - ettr
    share = max(0.0, abs(apart) - 2.0 * noise) / max(1e-9, 1.0 - ettr)
    tiers = "+".join(tier.name for tier in of.tiers) or "none"
    text = (
        f"| {number} | {of.restart.mode} | {tiers} | {ettr:.4f} | {apart:+.4f} ± {2.0 * noise:.4f} | {stated:.4f} "
        f"| {share:.1%} | {', '.join(odd(number)) or '–'} |"
    )
    return share, text


def odd(number: int) -> list[str]:
    """What is out of the ordinary in a world."""
    text = make.text(number)
    words = (
        "silent", "planned", "latent", "frailty", "drift", "recurrence", "batch", "common_cause", "fleet", "wall",
        "invalid", "cadence", "remap",
    )  # fmt: skip
    return [word for word in words if f'"{word}"' in text]


def main(count: int = len(make.WORLDS), failures: int = 60) -> None:
    size = play.Size(40, failures, 0.0)
    numbers = [n for n in (*play.of_kind("exact"), *play.of_kind("first_order")) if n < count]
    print("| world | restart | tiers | closed form | engine − closed form | stated error | of the time lost | with |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for _, text in sorted((line(number, size) for number in numbers), reverse=True):
        print(text)


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:]))
