"""The protection of a study: one file for each kind of tier, and how a list of them is read."""
