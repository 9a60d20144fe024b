"""One environment for us and one for each peer, so that no tool's versions bind another's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORK = HERE / ".work"
POLARS = "polars==2.1.0"  # reads the files for every peer: it is the quickest reader

# The first of each row names the tool in the report.
PINS: dict[str, list[str]] = {
    "counterrank": [".[spark]"],  # this checkout, under constraints.txt
    "pytrec_eval": ["pytrec-eval-terrier==0.5.11", "numpy==2.4.6", POLARS],
    "ir_measures": ["ir-measures==0.4.3", "pytrec-eval-terrier==0.5.11", "numpy==2.4.6", POLARS],
    "ranx": ["ranx==0.3.21", "numba==0.68.1", "numpy==2.4.6", POLARS],
    "rectools": ["rectools==0.19.0", "pandas==2.3.3", "numpy==1.26.4", POLARS],
    "duckdb": ["duckdb==2.0.0"],
    "scipy": ["scipy==1.17.1", "numpy==2.4.6"],
    "obp": [
        "obp==0.5.7", "numpy==2.4.6", "scipy==1.17.1", "pandas==3.1.1", "scikit-learn==1.9.1",
        "torch==2.13.0", "matplotlib==3.11.2", "seaborn==0.13.2", "pyyaml==6.0.3",
        "tqdm==4.70.1", POLARS,
    ],
}  # fmt: skip
# It declares Python below 3.10 and older pins, but its estimators run with current ones.
BY_ITSELF = {"obp": "obp==0.5.7"}


def python(name: str) -> str:
    """The interpreter of an environment, relative to the project: no machine's paths in results."""
    return str((WORK / "venvs" / name / "bin" / "python").relative_to(ROOT))


def ready(name: str) -> str | None:
    """Make an environment unless it stands; the reason if it cannot be made.

    Ours is installed anew each time, as a user would have it: not editable, compiled.
    """
    folder = WORK / "venvs" / name
    stamp = folder / "pins.txt"
    pins = "\n".join(PINS[name])
    try:
        if not stamp.exists() or stamp.read_text() != pins:
            _run(sys.executable, "-m", "venv", "--clear", str(folder))
            if name == "counterrank":
                _pip(name, "-c", str(ROOT / "constraints.txt"), *PINS[name])
            else:
                _pip(name, *_others(name))
                if name in BY_ITSELF:
                    _pip(name, "--no-deps", "--ignore-requires-python", BY_ITSELF[name])
            stamp.write_text(pins)
        elif name == "counterrank":
            _pip(name, "--no-deps", "--force-reinstall", str(ROOT))
    except subprocess.CalledProcessError as failed:
        lines = (failed.stderr or "").strip().splitlines() or ["no reason given"]
        return f"could not be installed: {lines[-1]}"
    return None


def _others(name: str) -> list[str]:
    return [pin for pin in PINS[name] if pin != BY_ITSELF.get(name)]


def version(name: str) -> str:
    """What was measured, by name and number."""
    if name != "counterrank":
        return ", ".join(pin.replace("==", " ") for pin in PINS[name])
    code = (
        "from importlib.metadata import version as v\n"
        "names = 'counterrank', 'polars', 'numpy', 'pyspark'\n"
        "print(', '.join(f'{n} {v(n)}' for n in names))"
    )
    return _run(python(name), "-c", code).strip()


def processor() -> str:
    """The CPU, and the widest vectors that NumPy found in it: kernels differ by these."""
    code = (
        "import numpy as n; f = n.show_config(mode='dicts')['SIMD Extensions'];"
        "print([*f['baseline'], *f['found']][-1])"
    )
    told = [x.split(":")[1].strip() for x in _run("lscpu").splitlines() if "Model name" in x]
    return f"{''.join(told[:1])} with {_run(python('counterrank'), '-c', code).strip()}"


def revision() -> str:
    """Which source was installed and timed; files changed since the commit are owned up to."""
    try:
        commit = _run("git", "rev-parse", "--short", "HEAD").strip()
        changed = _run("git", "status", "--porcelain", "--", "src").strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown revision"
    return f"{commit} with {len(changed.splitlines())} changed files" if changed else commit


def _pip(name: str, *words: str) -> None:
    _run(python(name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words)


def _run(*command: str) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), check=True, text=True, capture_output=True
    )
    return done.stdout
