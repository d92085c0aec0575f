"""Bytes over links, by hand."""

from __future__ import annotations

import pytest

from gemsim.costs import links


def test_a_store_is_bound_by_the_node_or_by_the_share_of_all() -> None:
    one = links.store_seconds(100e9, clients=1, node_bandwidth=50e9, store_bandwidth=2e12)
    many = links.store_seconds(100e9, clients=100, node_bandwidth=50e9, store_bandwidth=2e12)
    assert (one, many) == (2.0, 5.0)


def test_an_all_gather_receives_what_a_member_does_not_hold() -> None:
    assert links.all_gather_seconds(8e9, members=4, bandwidth=1e9) == 6.0
    assert links.all_gather_seconds(8e9, members=1, bandwidth=1e9) == 0.0


def test_parity_exchange_is_m_shards_less_the_own_part() -> None:
    assert links.parity_exchange_seconds(10.0, k=8, m=2, bandwidth=1.0) == pytest.approx(2 * 10 * 9 / 10)
    assert links.parity_exchange_seconds(10.0, k=8, m=0, bandwidth=1.0) == 0.0


def test_idle_spans_hide_a_transfer() -> None:
    assert links.exposed_seconds(3.0, idle=1.0) == 2.0
    assert links.exposed_seconds(1.0, idle=3.0) == 0.0
