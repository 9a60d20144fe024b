"""How likely was it seen, clicked, and bought once clicked? Popularity, and fitted models."""
