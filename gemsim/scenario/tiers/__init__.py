"""Spec to tiers: one file for each kind, with its geometry, its feasibility and its seconds."""
