"""Tiers of protection: pure functions that say what can be recovered, to which version, and in how long."""
