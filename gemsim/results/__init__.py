"""Rows (one per replication), intervals and the summary of a sweep."""
