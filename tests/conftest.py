"""Where reference data live, and the rule that CI skips nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def _folder(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(
            f"reference folder ../shared/{name} is not beside this checkout (see CONTRIBUTING.md)"
        )
    return folder


@pytest.fixture(scope="session")
def golden() -> Path:
    """Values computed by other evaluators."""
    return _folder("golden")


@pytest.fixture(scope="session")
def data() -> Path:
    """Public data sets."""
    return _folder("data")


@pytest.fixture(autouse=True)
def _only_our_classes(request: pytest.FixtureRequest):
    """Classes that examples or other tests registered are unknown, but to tests of extension."""
    if "extension" in str(request.path):
        yield
        return
    from counterrank.core.labels import Registry

    kinds = {id(r): dict(r.kinds) for r in Registry.every}
    for registry in Registry.every:
        for name, kind in kinds[id(registry)].items():
            if not kind.__module__.startswith("counterrank."):
                del registry.kinds[name]
    yield
    for registry in Registry.every:
        registry.kinds |= kinds.get(id(registry), {})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """With COUNTERRANK_NO_SKIPS a skipped test is a failed one."""
    outcome = yield
    report = outcome.get_result()
    if (
        report.skipped
        and os.environ.get("COUNTERRANK_NO_SKIPS")
        and not hasattr(report, "wasxfail")
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped, which is not allowed here: {report.longrepr}"
