"""One file for each verb: its signature, what it does, and a call of its pipeline."""
