"""Try what would be published as its users will: ``make release`` runs this on ``dist/``.

Each environment has nothing but the wheel and what it depends on. The newest versions are tried on
every supported Python that this machine has, the oldest that pyproject.toml allows on the oldest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UNPUBLISHED = (".ci/", ".gitignore")
NEED_EXTRAS = ("conversions.md",)  # its last part trains a model of scikit-learn


def pythons() -> dict[str, str | None]:
    """The Pythons of the classifiers, and the command that runs each, if there is one."""
    found: dict[str, str | None] = {}
    for version in re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"])):
        own = version == f"{sys.version_info.major}.{sys.version_info.minor}"
        command = sys.executable if own else f"python{version}"
        try:
            run(command, "-c", "import venv, ensurepip", cwd=ROOT)
        except (OSError, RuntimeError):
            command = None
        found[version] = command
    return found


def oldest() -> str:
    """The lower bounds of the dependencies, as constraints."""
    bounds = (re.fullmatch(r"([\w-]+)>=([\d.]+).*", text) for text in PROJECT["dependencies"])
    return "".join(f"{found[1]}=={found[2]}\n" for found in bounds if found)


def run(*words: object, cwd: Path) -> None:
    """Run a command; what it said is told only if it fails."""
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env=alone, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def check_sdist(sdist: Path, into: Path) -> Path:
    """Unpack it; every file of the repository is there."""
    with tarfile.open(sdist) as packed:
        packed.extractall(into, filter="data")
    (folder,) = into.iterdir()
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    wanted = [name for name in listed if name and not name.startswith(UNPUBLISHED)]
    missing = [name for name in wanted if not (folder / name).is_file()]
    if missing:
        raise RuntimeError(f"{sdist.name} lacks {', '.join(missing)}.")
    print(f"{sdist.name} has all {len(wanted)} files.")
    return folder


def try_wheel(python: str, wheel: Path, source: Path, constraints: str, place: Path) -> None:
    """Install it into an empty environment, and do what a newcomer does."""
    began = time.monotonic()
    (place / "constraints.txt").write_text(constraints, encoding="utf-8")
    run(python, "-m", "venv", "env", cwd=place)
    own = place / "env" / "bin"
    pip = (own / "python", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "-c", "constraints.txt", wheel, cwd=place)
    run(own / "python", source / "release" / "first_result.py", cwd=place)
    first = time.monotonic() - began
    run(own / "counterrank", "demo", "--sessions", 2000, cwd=place)
    guide = sorted((source / "docs" / "guide").glob("*.md"))
    for page in [source / "README.md", *(p for p in guide if p.name not in NEED_EXTRAS)]:
        run(own / "python", "-m", "doctest", "-o", "ELLIPSIS", page, cwd=place)
    run(*pip, "check", cwd=place)
    print(f"  from nothing to a first result in {first:.0f} s; demo and guide run", flush=True)


def main() -> None:
    """Hold dist/ to it, and say what was tried where."""
    (wheel,), (sdist,) = (ROOT / "dist").glob("*.whl"), (ROOT / "dist").glob("*.tar.gz")
    here = pythons()
    with tempfile.TemporaryDirectory() as folder:
        source = check_sdist(sdist, Path(folder))
        trials = [("oldest", min(here, key=lambda v: int(v[2:])), oldest())]
        trials += [("newest", version, "") for version in here]
        for kind, version, constraints in trials:
            python = here[version]
            print(f"Python {version}, {kind} versions:", "" if python else "not here", flush=True)
            if python:
                with tempfile.TemporaryDirectory() as place:
                    try_wheel(python, wheel, source, constraints, Path(place))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as failed:
        sys.exit(f"FAILED: {failed}")
