"""The way of the data goes forward only: no module imports one to its right."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "counterrank"
ORDER = """
version command errors core wording once digest progress text arrays tables checks schema logs
funnels features data matching hits pool coverage order align engine policies exposure aggregate
estimates stats nuisance moments ranking systems inference propensity compare lifts
diagnostics assumptions saved decision gate report results judged stratified ope conversions trust
assess simulate api verbs cli
""".split()


TOGETHER = {"inference": "stats", "moments": "stats", "report": "results", "verbs": "api"}


def part(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Parts of the package a file imports; ``from counterrank import x`` imports part x."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.startswith("counterrank")
        ):
            inner = node.module.split(".")[1:]
            found |= {inner[0]} if inner else {alias.name for alias in node.names}
    return found


def test_no_module_imports_one_to_its_right():
    files = [f for f in SOURCE.rglob("*.py") if f.parent != SOURCE or not f.name.startswith("__")]
    assert len(files) > 50
    for file in files:
        own = ORDER.index(TOGETHER.get(part(file), part(file)))
        for other in imported(file) - {"__version__"}:
            assert ORDER.index(TOGETHER.get(other, other)) <= own, (
                f"{file.relative_to(SOURCE)} imports {other}"
            )


def test_the_order_is_complete():
    parts = {part(f) for f in SOURCE.rglob("*.py")} - {"__init__", "__main__"}
    assert parts == set(ORDER)
