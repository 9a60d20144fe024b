"""Any table a user has, as a Polars frame of the columns asked for."""

from counterrank.data.sources.source import Source, open_source

__all__ = ["Source", "open_source"]
