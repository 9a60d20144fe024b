"""The house: layers, names and sizes that keep the way of a number short to read."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "counterrank"
FILES = sorted(SOURCE.rglob("*.py"))
# Each package may import those before it. See docs/architecture.md.
LAYERS = """
core data engine matching stats position metrics propensity nuisance diagnostics assumptions
documents report results judged ope conversions stratified assess simulate api studies cli
""".split()
FLAT = {"__init__.py", "__main__.py", "version.py"}
SHARED_NAMES = {"__init__", "base", "pipeline", "request", "registry"}


def module(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module(path): path for path in FILES}


def imports(path: Path) -> Iterator[str]:
    """Every module of the package that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for inner in node.body:
                inner.skipped = True  # type: ignore[attr-defined]
        if getattr(node, "skipped", False):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "counterrank":
            base = (node.module or "").partition(".")[2]
            for alias in node.names:
                inner_name = f"{base}.{alias.name}".strip(".")
                yield inner_name if inner_name in MODULES else base
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "counterrank":
                    yield alias.name.partition(".")[2]


def layer(name: str) -> int:
    return LAYERS.index(name.split(".")[0])


def test_every_package_has_its_place():
    assert {p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()} == set(LAYERS)
    assert {p.name for p in SOURCE.glob("*.py")} == FLAT


def test_imports_go_down():
    wrong = [
        f"{name} imports {other}"
        for name, path in MODULES.items()
        if name.partition(".")[0] in LAYERS
        for other in imports(path)
        if other.partition(".")[0] in LAYERS and layer(other) > layer(name)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other_in_a_circle():
    arrows = {name: set(imports(path)) & MODULES.keys() for name, path in MODULES.items()}
    left = {name: others - {name} for name, others in arrows.items() if name}
    while True:
        free = {name for name, others in left.items() if not others & left.keys()}
        if not free:
            break
        left = {name: others for name, others in left.items() if name not in free}
    circle = {name: sorted(others & left.keys()) for name, others in left.items()}
    assert not circle, circle


def test_no_file_name_occurs_twice():
    places = defaultdict(list)
    for path in FILES:
        if path.stem not in SHARED_NAMES and path.parent.name not in ("api", "cli"):
            places[path.stem].append(str(path.relative_to(SOURCE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_public_name_has_two_definitions():
    """A verb's function and its command may share the verb's name with its pipeline."""
    places = defaultdict(list)
    for name, path in MODULES.items():
        if name.split(".")[0] in ("api", "cli"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert not {name: found for name, found in places.items() if len(found) > 1}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("pipeline.py")), ids=module)
def test_the_function_that_runs_a_verb_is_short(path: Path):
    functions = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
    public = [f for f in functions if not f.name.startswith("_")]
    assert public
    for f in public:
        assert (f.end_lineno or 0) - f.lineno + 1 <= 25, f"{f.name} is too long"


def test_a_verb_is_a_signature_and_a_call():
    for path in {*(SOURCE / "api").glob("*.py")} - {SOURCE / "api" / "verb.py"}:
        assert len(path.read_text().splitlines()) <= 120, path.name


def test_the_engine_is_known_in_engine_only():
    told = re.compile(r"isinstance\([^)]*\b(Local|Spark|InMemory|OnDisk|OnSpark)\b")
    for name, path in MODULES.items():
        if name.split(".")[0] != "engine":
            assert not told.search(path.read_text()), name


LOADED = """
import sys
{work}
print(sum(name.startswith("counterrank") for name in sys.modules))
"""
ESTIMATE = """
import polars as pl, counterrank as cr
log = pl.DataFrame({{"session": [1, 1, 2, 2], "item": [1, 2, 2, 1], "rank": [1, 2, 1, 2],
                    "click": [1, 0, 0, 1]}})
cr.estimate(log, {{"new": log.select("session", "item", "rank")}}, position_bias="log2")
"""


@pytest.mark.parametrize(
    ("work", "most"),
    [("import counterrank.diagnostics.diagnostic", 12), (ESTIMATE, 119)],
    ids=["a diagnostic", "estimate"],
)
def test_little_is_loaded(work: str, most: int):
    code = LOADED.format(work=work.replace("{{", "{").replace("}}", "}"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= most


ENTERED = """
import sys
import counterrank as cr
from counterrank.simulate import judged_world, paradox_world, platform, World
files = set()
def enter(frame, event, _):
    if event == "call" and frame.f_code.co_name[0] != "<":
        files.add(frame.f_code.co_filename)
{world}
sys.setprofile(enter)
{call}
sys.setprofile(None)
names = sorted(name.partition("/counterrank/")[2] for name in files if "/counterrank/" in name)
print("\\n".join(names))
"""


@pytest.mark.parametrize(
    ("world", "call", "most"),
    [
        ("w = judged_world(seed=0)", "cr.evaluate(w.judgments, w.runs, draws=1000)", 45),
        (
            "w = platform(World(seed=1), sessions=500, runs=['near'])",
            "cr.estimate(w.log, w.runs, reward='like', position_bias='log2@10', bounds='none')",
            45,
        ),
        (
            "w = platform(World(seed=1), sessions=500, runs=['near'])",
            "cr.estimate(w.log, w.runs, reward='like', position_bias='log2@10')",
            50,
        ),
        ("w = paradox_world(seed=0)", "cr.strata(w.judgments, w.runs)", 46),
    ],
    ids=["evaluate", "estimate", "bounds", "strata"],
)
def test_a_number_passes_few_files(world: str, call: str, most: int):
    """Beside assumptions, of which each has a file of its own."""
    code = ENTERED.format(world=world, call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [name for name in done.stdout.split() if not name.startswith("assumptions/")]
    assert len(names) <= most, f"{len(names)} files:\n" + done.stdout


def test_importing_allocates_nothing_large():
    code = (
        "import resource, pkgutil, numpy, polars, importlib, counterrank\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for name in ('data.ids', 'matching.hashjoin', 'stats.permutation'):\n"
        "    importlib.import_module('counterrank.' + name)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 24_000  # kB: modules, no arrays


def test_every_page_of_definitions_links_to_its_code():
    root = SOURCE.parents[1]
    pages = [p for p in (root / "docs" / "definitions").glob("*.md") if p.stem != "index"]
    for page in pages:
        links = re.findall(r"src/counterrank/[\w/]+\.py", page.read_text(encoding="utf-8"))
        assert links, f"{page.name} links to no file"
        for link in links:
            assert (root / link).is_file(), f"{page.name}: {link}"
