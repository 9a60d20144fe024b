"""What knows nothing of ranking: how parts merge, what can be wrong with a table."""
