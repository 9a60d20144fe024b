"""Where buckets come from and where they run. Nothing else knows the back-end."""

from counterrank.engine.local import aligned

__all__ = ["aligned"]
