"""The addresses of a build, from the one in pyproject.toml.

The README in the repository has relative links, which work there and offline. A package index shows
it apart from the files, so a build makes them absolute. (hatch-fancy-pypi-readme would do that part
too, with the address repeated in each substitution.)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)]+)\)")


def absolute(text: str, repository: str) -> str:
    """The text with its relative links made absolute: pictures to the file, others to its page."""

    def link(found: re.Match[str]) -> str:
        picture, name, path = found.groups()
        return f"{picture}[{name}]({repository}/{'raw' if picture else 'blob'}/HEAD/{path})"

    return LINK.sub(link, text)


class Addresses(MetadataHookInterface):
    """What pyproject.toml declares as dynamic: ``urls`` and ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in both."""
        repository = self.config["repository"]
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(readme, repository),
        }
        metadata["urls"] = {
            "Homepage": repository,
            "Documentation": f"{repository}/blob/HEAD/docs/index.md",
            "Source": repository,
            "Issues": f"{repository}/issues",
            "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        }
