"""The formulas of docs/formulas.md: each as it is written, an example asked of the code, and the same by hand.

`call` is Python over `gemsim.analytic` and `gemsim.costs`; `hand` is the formula itself over the same numbers. A test
holds the two equal, so that what the page prints is what the code computes.
"""

from __future__ import annotations

from typing import NamedTuple


class Formula(NamedTuple):
    """`of`: a key of `named.NAMED` (its kind, source and validity are printed), or a title. `unit`: s, share, count."""

    of: str
    formula: str
    call: str
    hand: str
    unit: str
    says: tuple[str, str, str, str] = ("", "", "", "")
    """Kind, source, where it holds, what it leaves out: for what is not among the named models."""


WEEK = "save=40.0, rate=1 / (168 * 3600)"
SAVES: tuple[Formula, ...] = (
    Formula("young", "τ = √(2 δ / λ)", f'NAMED["young"].of({WEEK})', "sqrt(2 * 40 * 168 * 3600)", "s"),
    Formula(
        "daly", "τ = √(2 δ M) · (1 + √(δ / 2M) / 3 + (δ / 2M) / 9) − δ for δ < 2M, else M; M = 1 / λ",
        'NAMED["daly"].of(save=300.0, rate=1 / 900)',
        "sqrt(2 * 300 * 900) * (1 + sqrt(300 / 1800) / 3 + 300 / 1800 / 9) - 300", "s",
    ),
    Formula(
        "optimum", "τ = (1 + W₀(−e^(−1 − δλ))) / λ", f'NAMED["optimum"].of({WEEK})',
        "168 * 3600 * (1 + lambertw(-exp(-1 - 40 / (168 * 3600))).real)", "s",
    ),
    Formula(
        "availability", "T_c = T_s + √(2 (T_f + T_r) T_s + T_s²)",
        'NAMED["availability"].of(save=40.0, mtbf=604800.0, recovery=600.0)', "40 + sqrt(2 * 605400 * 40 + 40**2)", "s",
    ),
    Formula(
        "roll_back", "τ / E[T], E[T] = e^(λR) · (e^(λ(τ + δ)) − 1) / λ",
        'NAMED["roll_back"].of(interval=3600.0, save=40.0, rate=1 / 86400, recovery=600.0)',
        "3600 / (86400 * exp(600 / 86400) * expm1(3640 / 86400))", "share",
    ),
    Formula(
        "repairs_end", "L = φ / (1 − a (1 − φ) / λ), φ = the mean of e^(−λd), λ = a + b",
        'NAMED["repairs_end"].of(rate=1 / 86400, milder=[(2 / 86400, 3600.0)])',
        "(p := exp(-3 / 24)) / (1 - 2 / 3 * (1 - p))", "share",
    ),
    Formula(
        "in_place", "τ / E[T], E[T] = (e^((b + a (1 − L)) (τ + δ)) − 1) · (1/b + (e^(λR) − 1) / λ)",
        'NAMED["in_place"].of(interval=3600.0, save=40.0, rate=1 / 86400, recovery=600.0, milder=[(2 / 86400, 60.0)])',
        "3600 / (expm1((1 + 2 * (1 - (p := exp(-180 / 86400)) / (1 - 2 / 3 * (1 - p)))) * 3640 / 86400)"
        " * (86400 + expm1(1800 / 86400) * 28800))", "share",
    ),
    Formula(
        "meta", "1 − λ (τ/2 + u₀ + q) − δ/τ",
        'NAMED["meta"].of(interval=3600.0, save=40.0, rate=1 / 86400, restart=600.0, queue=120.0)',
        "1 - (1800 + 600 + 120) / 86400 - 40 / 3600", "share",
    ),
    Formula(
        "published_linear", "base − Σ rate · charge",
        'NAMED["published_linear"].of(base=1.0, charges=[(8 / 86400, 3087.0)])', "1 - 8 / 86400 * 3087", "share",
    ),
    Formula(
        "gemini_wasted", "t_ckpt + 1 / (2 f) + t_rtvl; 1/f = interval + save",
        'NAMED["gemini_wasted"].of(written=62.0, interval=62.0, save=0.0, retrieval=3.0)', "62 + 31 + 3", "s",
    ),
    Formula(
        "silent", "rate · (latency + τ/2 + R)",
        'NAMED["silent"].of(silent_rate=1 / 777600, latency=7200.0, interval=3600.0, recovery=600.0)',
        "(7200 + 1800 + 600) / 777600", "share",
    ),
    Formula(
        "Write that ends later", "ETTR = ETTR of a save that counts at once · e^(−bW)",
        "renewal.write_lag_factor(1 / 86400, 900.0)", "exp(-900 / 86400)", "share",
        ("exact", "elementary", "roll-backs alone cut a write off; it goes on during a pause in place",
         "restarts that keep the state and cut a write off (the twin takes them in)"),
    ),
)  # fmt: skip
CODES: tuple[Formula, ...] = (
    Formula(
        "stripe_loss", "P(X > m), X binomial(k + m, p)", 'NAMED["stripe_loss"].of(k=10, m=4, loss=0.01)',
        "sum(comb(14, j) * 0.01**j * 0.99**(14 - j) for j in range(5, 15))", "share",
    ),
    Formula(
        "lost_at_once", "P(X > m), X hypergeometric: r lost of N, k + m of them in the stripe",
        'NAMED["lost_at_once"].of(k=8, m=1, members=64, lost=4)',
        "sum(comb(9, j) * comb(55, 4 - j) for j in range(2, 5)) / comb(64, 4)", "share",
    ),
    Formula(
        "mttdl", "Σ h_i; h_0 = 1/u_0, h_i = (1 + d_(i−1) h_(i−1)) / u_i; u_i = (k + m − i) λ, d_(i−1) = i μ",
        'NAMED["mttdl"].of(k=8, m=1, member_rate=1e-6, rebuild_rate=1e-2)',
        "1 / 9e-6 + (1 + 1e-2 / 9e-6) / 8e-6", "s",
    ),
    Formula(
        "worst_burst", "interleaved m · S, S = ⌈pages / k⌉ stripes; contiguous m",
        'NAMED["worst_burst"].of(pages=3143, page_k=32, page_m=1, mapping="interleaved")', "ceil(3143 / 32)", "count",
    ),
    Formula(
        "burst", "interleaved: a burst of r adjacent pages is decodable iff ⌈r / S⌉ ≤ m; contiguous: starts counted",
        'NAMED["burst"].of(pages=3143, page_k=32, page_m=1, rows=99, mapping="interleaved")', "1.0", "share",
    ),
    Formula(
        "Parity memory", "m · S pages of state / memory of the GPU, about m/k of the coded share",
        "survival.worst_burst(3143, 32, 1, mapping='interleaved') * 2 * 2**20 / (80 * 2**30)",
        "99 * 2097152 / (80 * 2**30)", "share",
        ("exact", "arithmetic", "one page is one chunk", "the kept copy of a snapshot"),
    ),
)  # fmt: skip
COPIES: tuple[Formula, ...] = (
    Formula(
        "replicas", "sets of r machines that leave a copy of every shard / C(N, r), counted",
        'NAMED["replicas"].of(machines=16, copies=2, lost=3)', "1 - 8 * 14 / comb(16, 3)", "share",
    ),
    Formula(
        "corollary_1", "1 for k < m, else ≥ max(0, 1 − N · C(N − m, k − m) / (m · C(N, k))), k lost",
        'NAMED["corollary_1"].of(machines=16, copies=2, lost=3)', "1 - 16 * comb(14, 1) / (2 * comb(16, 3))", "share",
    ),
    Formula(
        "theorem_1", "1 − ⌈N/m⌉ / C(N, m)", 'NAMED["theorem_1"].of(machines=15, copies=2)', "1 - 8 / comb(15, 2)",
        "share",
    ),
)  # fmt: skip
SPARES: tuple[Formula, ...] = (
    Formula(
        "spares_in_repair", "fewest s with P(X > s) ≤ 1 − confidence, X Poisson(leaving · repair)",
        'NAMED["spares_in_repair"].of(leaving=2 / 86400, repair=12 * 3600.0, confidence=0.99)',
        "next(s for s in range(99) if 1 - sum(exp(-1) / factorial(j) for j in range(s + 1)) <= 0.01)", "count",
    ),
    Formula(
        "spares_down", "fewest s with P(X > s) ≤ 1 − confidence, X binomial(needed + s, share down)",
        'NAMED["spares_down"].of(needed=64, down_share=0.0232, confidence=0.99)',
        "next(s for s in range(99) if 1 - sum(comb(64 + s, j) * 0.0232**j * 0.9768**(64 + s - j)"
        " for j in range(s + 1)) <= 0.01)", "count",
    ),
    Formula(
        "crews", "P(more than s in an M/M/c queue)",
        'NAMED["crews"].of(leaving=2 / 86400, repair=12 * 3600.0, crews=2, spares=3)',
        "1 - sum((w := [1, 1, 1 / 2, 1 / 4])) / (sum(w) + 1 / 4)", "share",
    ),
)  # fmt: skip
COSTS: tuple[Formula, ...] = (
    Formula(
        "Write or read of a store", "max(S / b_node, N · S / B_store), S bytes of each of N nodes",
        "links.store_seconds(44e9, clients=64, node_bandwidth=100e9, store_bandwidth=200e9)", "64 * 44e9 / 200e9", "s",
        ("first_order", "fair share of bandwidth", "all nodes write at once", "what other jobs do to the store"),
    ),
    Formula(
        "Traffic of an encode across GPUs", "m · S · (n − 1) / n bytes over each NIC, n = k + m, parity rotated",
        "links.parity_exchange_seconds(2e9, k=8, m=1, bandwidth=50e9)", "2e9 * 8 / 9 / 50e9", "s",
        ("exact", "counting", "links carry both directions at once", "contention with training"),
    ),
    Formula(
        "Communicators", "17 s · (N / 16,384)^1.376", "COMMUNICATOR[0] * (98304 / COMMUNICATOR[1]) ** COMMUNICATOR[2]",
        "17 * exp(1.376 * log(6))", "s",
        ("first_order", "through 17 s at 16 k and 200 s at 98 k GPUs: FT-HSDP (arXiv 2602.00277)",
         "between these two", "libraries and topologies other than theirs: give `restart.communicator`"),
    ),
    Formula(
        "Cut of the wasted time of a class", "P (1 − c/c₀) + (1 − P) (1 − c_f/c₀)",
        "0.54 * (1 - 15 / 1800) + 0.46 * (1 - 1800 / 1800)", "0.54 - 0.54 / 120", "share",
        ("exact", "definition: P recovered at cost c, the rest falls back at c_f, c₀ under the baseline",
         "always; with c_f ≥ c₀ at most P (1 − c/c₀)", "the steady cost, which stands beside it"),
    ),
)  # fmt: skip
GROUPS: tuple[tuple[str, tuple[Formula, ...]], ...] = (
    ("Saves and roll-backs", SAVES),
    ("Codes", CODES),
    ("Copies in CPU memory", COPIES),
    ("Spares and repair", SPARES),
    ("Costs", COSTS),
)
