"""The suite: exact parts, laws, closed forms, whole studies; random checks go through `tests.statcheck`."""
