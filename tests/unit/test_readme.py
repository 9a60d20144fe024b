"""The README shows what the demo prints, and what it points to is there, once."""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_demo_prints_what_the_readme_shows(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    import demo_block

    monkeypatch.delitem(sys.modules, "demo_block")
    assert demo_block.shown() == demo_block.printed(), (
        "python docs/_ext/demo_block.py writes it anew"
    )


def test_no_row_twice():
    rows = [line for line in README.splitlines() if line.startswith("| ")]
    links = re.findall(r"^\|.*?\]\(([^)]+)\)", README, re.MULTILINE)
    for counted in (Counter(rows), Counter(links)):
        assert not [what for what, times in counted.items() if times > 1]


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert len(targets) > 20
    assert not [t for t in targets if not (ROOT / t).exists()]


def test_every_guide_is_in_the_table():
    listed = set(re.findall(r"docs/guide/([\w-]+)\.md", README))
    assert listed == {path.stem for path in (ROOT / "docs" / "guide").glob("*.md")}


def test_the_commands_from_a_log_print_what_is_shown(tmp_path, monkeypatch, capsys):
    """Line by line, in order, with dots for what was left out."""
    from counterrank.cli.commands import run
    from counterrank.simulate import World, platform

    week = platform(World(seed=1), sessions=20_000, runs=["near"])
    week.log.rename({"context": "query"}).write_parquet(tmp_path / "log.parquet")
    week.runs["near"].write_parquet(tmp_path / "new.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    commands, shown = re.findall(r"```\n(.*?)```", README.split("## From a log")[1], re.S)[:2]
    for line in commands.splitlines():
        verb, *words = shlex.split(line, comments=True)[1:]
        capsys.readouterr()
        assert run([verb, *words, *(["--quiet"] if verb == "estimate" else [])]) == 0
        if verb == "estimate":
            printed = iter(capsys.readouterr().out.splitlines())
            missing = [x for x in shown.splitlines() if x not in ("", "...") and x not in printed]
            assert not missing
