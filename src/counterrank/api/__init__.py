"""The verbs: one file each, with its signature, what it is asked, and a call of its pipeline."""
