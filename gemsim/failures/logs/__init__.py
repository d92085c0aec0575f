"""What a failure log says: reading, cleaning, statistics, laws, a section for a study, and replay."""
