"""The suite, by the rings of its README; `tests.statcheck` is what random checks go through."""
