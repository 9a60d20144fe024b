"""The verbs: one file each with a signature, its documentation, and a call of its pipeline."""
