"""Pages opened in a real browser with no network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

# The flags keep a headless Chromium from looking for its maker's servers.
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()


@dataclass
class Opened:
    """A page, and everything that went wrong or tried to reach out while it was open."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def ready(self) -> Opened:
        """Wait until every chart is drawn."""
        self.page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        return self


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """``opened(path, width)``: the page at that width, whatever it asks for refused."""
    contexts = []

    def show(path: Path, width: int = 1280, scheme: str = "light") -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("console", lambda m: found.errors.append(m.text) if m.type == "error" else 0)
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.on("dialog", lambda d: (found.dialogs.append(d.message), d.dismiss()))
        context.route("**/*", lambda route: _only_disk(route, found))
        found.page.goto(path.as_uri())
        return found.ready()

    yield show
    for context in contexts:
        context.close()


def _only_disk(route: Any, found: Opened) -> None:
    if route.request.url.startswith("file:"):
        route.continue_()
    else:
        found.requests.append(route.request.url)
        route.abort()
