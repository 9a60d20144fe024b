"""Worlds whose truth is known."""

from counterrank.simulate.judged import JudgedWorld, judged_world

__all__ = ["JudgedWorld", "judged_world"]
