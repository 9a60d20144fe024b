"""What SECURITY.md promises of the code."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "counterrank"
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "requests",
           "urllib.request", "http", "ftplib", "smtplib", "telnetlib", "subprocess"}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load",
         "socket.socket", "socket.create_connection", "np.fromregex", "pl.Config.load"}  # fmt: skip


def found(text: str) -> set[str]:
    told: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            told |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            told |= {node.module or "", *(f"{node.module}.{a.name}" for a in node.names)}
        elif isinstance(node, ast.Call):
            told.add(f"call {ast.unparse(node.func)}")
            words = {k.arg: ast.unparse(k.value) for k in node.keywords}
            told |= {"shell=True"} if words.get("shell") == "True" else set()
            told |= {"allow_pickle"} if words.get("allow_pickle", "False") != "False" else set()
    wrong = {name for name in told if name in MODULES or name.split(".")[0] in MODULES}
    return wrong | (told & {f"call {c}" for c in CALLS}) | (told & {"shell=True", "allow_pickle"})


def test_nothing_runs_what_it_reads_and_nothing_calls_out():
    wrong = {
        str(p.relative_to(SOURCE)): f for p in SOURCE.rglob("*.py") if (f := found(p.read_text()))
    }
    assert wrong == {"studies/pipeline.py": {"subprocess"}}  # git, for the commit of a page


def test_it_would_be_seen():
    for text in ("import pickle", "from urllib.request import urlopen", "eval('1')",
                 "import yaml; yaml.load(x)", "f(x, shell=True)", "np.load(x, allow_pickle=True)",
                 "from subprocess import run", "import socket; socket.socket()"):  # fmt: skip
        assert found(text), text
