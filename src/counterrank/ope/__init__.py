"""What would that ranker have earned? Off-policy evaluation of targets from a log."""
