"""The suite: exact parts first, then laws, closed forms and whole studies; random checks go through `tests.statcheck`."""
