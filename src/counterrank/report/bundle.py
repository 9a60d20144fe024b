"""The chart library as one script, so that a page needs no network."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec


def there() -> bool:
    """Whether charts can be drawn: the extra ``report`` is installed."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script."""
    import vl_convert

    bundled: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundled.replace("</script", "<\\/script")
