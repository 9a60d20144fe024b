"""How likely was it seen? Propensities of items and of pairs."""

from counterrank.propensity.popularity import Popularity, Propensity, per_row, popularity
from counterrank.propensity.powerlaw import PowerLaw, power_law

__all__ = ["Popularity", "PowerLaw", "Propensity", "per_row", "popularity", "power_law"]
