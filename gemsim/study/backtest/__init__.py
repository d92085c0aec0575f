"""Back-test: a log of one's own run, its first part fitted, the rest predicted and judged."""
