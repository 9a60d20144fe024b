"""How sure: from values per unit, or their moments, to estimates, comparisons and p-values."""
