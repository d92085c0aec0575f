"""Seconds to move bytes: over one link, to and from a shared store, and between the members of a stripe."""

from __future__ import annotations


def store_seconds(bytes_each: float, *, clients: int, node_bandwidth: float, store_bandwidth: float) -> float:
    """`clients` nodes each read or write `bytes_each` at once: max(S / b_node, N S / B_store), by fair share."""
    return max(bytes_each / node_bandwidth, clients * bytes_each / store_bandwidth)


def all_gather_seconds(total_bytes: float, *, members: int, bandwidth: float) -> float:
    """Every member ends with all `total_bytes`, of which it holds 1/members: it receives the rest over its own link."""
    return total_bytes * (members - 1) / members / bandwidth


def parity_exchange_seconds(coded_bytes: float, *, k: int, m: int, bandwidth: float) -> float:
    """One encode of a stripe across GPUs with rotated parity: every member sends and receives m S (n - 1) / n bytes.

    S = coded bytes per GPU, n = k + m; links carry both directions at once.
    """
    members = k + m
    return m * coded_bytes * (members - 1) / members / bandwidth


def exposed_seconds(seconds: float, *, idle: float) -> float:
    """What is left of a transfer after the network's idle spans have hidden `idle` seconds of it."""
    return max(0.0, seconds - idle)
