"""The package: what an index shows, what it depends on, and what its README promises."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from counterrank.version import __version__

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
REPOSITORY = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
CORE = {"narwhals", "numpy", "polars", "rich", "scipy", "threadpoolctl"}
OF_EXTRAS = {  # distribution by module: imported in functions only, where an extra is asked for
    "mlflow": "mlflow-skinny",
    "pandas": "pandas",
    "py4j": "pyspark",  # comes with it
    "pyarrow": "pyarrow",
    "pyspark": "pyspark",
    "sklearn": "scikit-learn",
}
# More of these is used than they promise to keep, so a new major version has to be tried first.
BOUND = {
    "polars": "polars.io.plugins",  # called unstable by its makers
    "pyspark": "pyspark.sql.pandas.types",  # not documented
}
# Modules that a library's own documentation does not describe, or calls unstable.
INTERNAL = re.compile(
    r"\b(?:polars\.(?:io\.plugins|_\w+|internals)|pyspark\.sql\.(?:pandas|classic|connect|utils)"
    r"|numpy\._\w+|scipy\.[\w.]*\b_\w+|narwhals\._\w+|rich\._\w+)"
)


def sources() -> dict[str, str]:
    files = (ROOT / "src" / "counterrank").rglob("*.py")
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}


def requirements() -> dict[str, list[str]]:
    """Every requirement by its distribution, of the package and of all extras."""
    found: dict[str, list[str]] = {}
    for text in [*PROJECT["dependencies"], *(text for extra in EXTRAS.values() for text in extra)]:
        match = re.match(r"[\w-]+", text)
        assert match
        found.setdefault(match[0], []).append(text)
    return found


def imported() -> dict[str, set[str]]:
    """Top modules that the package imports, and the files that do."""
    found: dict[str, set[str]] = {}
    for name, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module or ""]
            for module in modules:
                found.setdefault(module.split(".")[0], set()).add(name)
    return {module: files for module, files in found.items() if module != "counterrank"}


def test_metadata_is_complete():
    for key in "description license license-files authors keywords classifiers".split():
        assert PROJECT[key], key
    assert PROJECT["requires-python"] == ">=3.11"
    assert {"readme", "urls", "version"} <= set(PROJECT["dynamic"])
    pythons = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert pythons == ["3.11", "3.12", "3.13", "3.14"]
    assert "Operating System :: POSIX :: Linux" in PROJECT["classifiers"]


def test_the_citation_is_of_this_version_and_this_repository():
    told = dict(re.findall(r"^([\w-]+): +(\S+)", CITATION, flags=re.MULTILINE))
    assert told["version"] == __version__
    assert told["repository-code"] == REPOSITORY
    assert told["license"] == PROJECT["license"]
    assert PROJECT["authors"][0]["name"] in CITATION


def test_the_address_stands_in_two_files_only():
    """Whoever publishes the project changes it in pyproject.toml and in CITATION.cff."""
    pages = [ROOT / name for name in "README.md CONTRIBUTING.md CHANGELOG.md Makefile".split()]
    pages += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    pages += (ROOT / "release").glob("*.py")
    assert not [page.name for page in pages if REPOSITORY in page.read_text(encoding="utf-8")]


def test_dependencies_are_those_that_are_imported():
    declared = {re.match(r"[\w-]+", text)[0] for text in PROJECT["dependencies"]}  # type: ignore[index]
    assert declared == CORE
    others = {module for module in imported() if module not in sys.stdlib_module_names}
    assert others == CORE | set(OF_EXTRAS), "add it to the dependencies, or take it out"
    assert set(OF_EXTRAS.values()) <= set(requirements())


def test_every_dependency_has_a_lower_bound_that_can_be_tried():
    """release/check.py installs exactly these."""
    for text in PROJECT["dependencies"]:
        assert re.match(r"[\w-]+>=[\d.]+(,|$)", text), text


@pytest.mark.parametrize("name", BOUND)
def test_upper_bounds_stand_where_internals_are_used(name: str):
    assert any(BOUND[name] in text for text in sources().values()), "the bound may go"
    for text in requirements()[name]:
        assert re.search(r",<\d+$", text), text


def test_no_other_internals_are_used():
    used = {found for text in sources().values() for found in INTERNAL.findall(text)}
    assert used == {"polars.io.plugins", "pyspark.sql.pandas"}, "bound it, or do without"


def test_constraints_are_names_and_versions():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)]
    names = Counter(re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines)
    assert not [name for name, times in names.items() if times > 1]
    unpinned = {re.sub(r"[-_.]+", "-", name).lower() for name in requirements()} - set(names)
    assert unpinned == {"counterrank"}


def test_no_row_of_a_table_in_the_readme_stands_twice():
    rows = [line for line in README.splitlines() if line.startswith("| ")]
    assert len(rows) > 10
    assert len(set(rows)) == len(rows)
    topics = [row.split("|")[1].strip() for row in rows]
    assert len(set(topics)) == len(topics)


def test_links_of_the_readme_are_relative_here_and_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        assert "://" not in link, f"{link}: release/metadata.py makes it absolute"
        assert (ROOT / link.partition("#")[0]).exists(), link


def test_links_of_the_readme_are_absolute_on_an_index():
    """The pattern alone is loaded: the build tool need not be installed here."""
    text = (ROOT / "release" / "metadata.py").read_text(encoding="utf-8")
    names: dict[str, object] = {"MetadataHookInterface": object}
    exec(text.replace("from hatchling", "# from hatchling"), names)
    shown = names["absolute"](README, REPOSITORY)  # type: ignore[operator]
    assert all(link.startswith(f"{REPOSITORY}/") for link in re.findall(r"\]\(([^)]+)\)", shown))
    assert f"]({REPOSITORY}/raw/HEAD/docs/pictures/page.png)" in shown
    kept = "[a](#b) [c](https://d.example/e)"
    assert names["absolute"](kept, REPOSITORY) == kept  # type: ignore[operator]


def test_the_sdist_has_what_its_tests_need():
    included = set(PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    needed = "src tests docs benchmarks studies release Makefile constraints.txt README.md"
    assert {f"/{name}" for name in needed.split()} <= included
    assert {"/CHANGELOG.md", "/CITATION.cff", "/CONTRIBUTING.md"} <= included
    assert all((ROOT / name.strip("/")).exists() for name in included)
