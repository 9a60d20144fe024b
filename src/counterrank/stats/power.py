"""What this sample can tell apart."""

from __future__ import annotations

from counterrank.stats.intervals import normal_quantile


def detectable(se: float, *, level: float = 0.95, power: float = 0.8) -> float:
    r"""Smallest true difference found with the given power.

    .. math:: (z_{(1 + level)/2} + z_{power})\, se

    ``se`` is the standard error of the paired difference.
    """
    return (normal_quantile(0.5 + level / 2) + normal_quantile(power)) * se
