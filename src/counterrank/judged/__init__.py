"""Judged lists: ``evaluate``, from tables to every measure of every user."""
