"""The study: what a user writes, checked, with units, defaults and their sources."""
