"""Estimators of a target's value: each file holds formulas, as few lines over arrays."""
