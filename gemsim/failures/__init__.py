"""What fails, when, and what goes with it: lifetime laws, failure classes, and the trace of one replication."""
