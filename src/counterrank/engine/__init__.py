"""Where buckets come from and where they run. Nothing else knows the back-end."""

from counterrank.engine.local import Part, aligned, walked

__all__ = ["Part", "aligned", "walked"]
