"""Which uncertain inputs decide the answer of one design."""
