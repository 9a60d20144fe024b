"""Any table a user has, as a Polars frame of the columns asked for."""

from counterrank.data.sources.source import Source, opened

__all__ = ["Source", "opened"]
