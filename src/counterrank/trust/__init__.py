"""Diagnoses of funnels and their models."""
