"""What papers published beside what gemsim computes: one module of rows a paper, judged in one place."""
