"""Is the difference real? Intervals, paired tests, corrections, rank correlation."""
