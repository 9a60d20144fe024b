"""Places of other kinds: names too long, links, addresses, folders that may not be looked into."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from counterrank import cli
from counterrank.core.input_files import files_of
from faults.calls import call, outcome, write_tables

LONG = "x" * 300
EVALUATE = ["evaluate", "judged.csv", "old.csv", "-m", "P@2", "--quiet"]
WRITING = [
    [*EVALUATE, "--out"], [*EVALUATE, "--by-unit"], ["report", "saved", "-o"],
    ["gate", "saved", "--summary"], ["exposure", "log.csv", "--method", "em", "--out"],
    ["simulate", "--sessions", 20, "--quiet", "--out"],
    ["demo", "--sessions", 100, "--quiet", "--out"],
    ["reproduce", "primer", "--quick", "--quiet", "--out"],
    ["assess", "power", "judged.csv", "old.csv", "new.csv", "--quiet", "--resume"],
    [*EVALUATE, "--partitions", 2, "--scratch"],
]  # fmt: skip
READING = [
    ["gate"], ["report"], ["repeat"], ["repeat", "saved", "--data"], ["evaluate", "judged.csv"],
    ["check"], ["estimate", "log.csv", "target.csv", "--position-bias"], ["evaluate", "--config"],
    ["reproduce", "simpson", "--quick", "--data"], ["assess", "power"],
]  # fmt: skip


@pytest.mark.parametrize("words", [*WRITING, *READING], ids=lambda words: " ".join(map(str, words)))
def test_a_name_that_the_system_refuses_is_told(tables: Path, words: list[object]) -> None:
    """Too long a name stands for all that may not be looked at: the system says no."""
    (tables / "loop").symlink_to("loop")
    before = sorted(p.name for p in tables.rglob("*"))
    end = {"--by-unit": ".csv", "--out": ".json" if words[0] == "exposure" else ""}
    for name in (LONG, f"judged.csv/{LONG}", "loop/x"):
        assert outcome(*words, name + end.get(str(words[-1]), "")) == (2, ""), name
    assert sorted(p.name for p in tables.rglob("*")) == before


@pytest.mark.parametrize("words", WRITING, ids=lambda words: " ".join(map(str, words)))
def test_an_address_is_no_place_to_write_to(tables: Path, words: list[object]) -> None:
    """``--out s3://bucket/x`` made a folder called s3: and said that all was written."""
    before = sorted(tables.rglob("*"))
    code, _, err = call(*words, "s3://bucket/x.csv")
    assert code == 2, err
    assert sorted(tables.rglob("*")) == before


@pytest.mark.parametrize("name", ["~", "b[0]", "a*", "what?", "a\nb", " "])
def test_names_with_signs_of_a_shell_are_names(tables: Path, monkeypatch, name: str) -> None:
    """Polars takes some for a glob, and ~ for the home of the user, which is not touched."""
    home = tables / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    where = Path(name, "x")
    write_tables(tables / where)
    words = ["evaluate", *(where / f"{one}.csv" for one in ("judged", "old", "new")), "--quiet"]
    for more in (["--out", where / "out"], ["--by-unit", where / "u.csv"], ["--memory", "100MB"],
                 ["--partitions", 2, "--scratch", where]):  # fmt: skip
        code, _, err = call(*words, *more)
        assert code == 0, err
    for more in (["assess", "power", where / "out", "--draws", 20, "--resamples", 20],
                 ["simulate", "--sessions", 20, "--quiet", "--out", where / "world"],
                 ["report", where / "out", "-o", where / "page.html"],
                 ["repeat", where / "out", "--data", where]):  # fmt: skip
        code, out, err = call(*more)
        assert code == 0, out + err
    assert (where / "world" / "log.parquet").exists()
    assert not any(home.iterdir())
    assert not list(where.glob("counterrank-*"))


def test_links_in_a_folder_are_read_or_refused(tables: Path) -> None:
    """A part of a table that is linked, folder or file, is not left out without a word."""
    for name in ("whole", "elsewhere"):
        (tables / name).mkdir()
    run = pl.read_csv("old.csv")
    half = run["user"].is_in(["u1", "u2", "u3"])
    run.filter(half).write_csv("whole/first.csv")
    run.filter(~half).write_csv("elsewhere/second.csv")
    (tables / "whole" / "day").symlink_to(tables / "elsewhere")
    (tables / "elsewhere" / "back").symlink_to(tables / "whole")
    found = {os.path.realpath(file) for file in files_of("whole")}
    assert found == {str(tables / "whole/first.csv"), str(tables / "elsewhere/second.csv")}
    code, _, err = call("evaluate", "judged.csv", "whole", "--by-unit", "elsewhere/units.csv")
    assert code == 2
    assert "is one of the inputs" in err
    for given in ("whole", "whole/*.csv", "whole/third.csv"):
        (tables / "whole" / "third.csv").unlink(missing_ok=True)
        (tables / "whole" / "third.csv").symlink_to("gone.csv")
        code, _, err = call("evaluate", "judged.csv", given)
        assert code == 2
        assert "is a link to nothing" in err


def test_a_real_log_is_not_simulated_over(tables: Path) -> None:
    """A log is called log.parquet by whoever follows the guide."""
    (tables / "log.parquet").write_text("mine")
    (tables / "position_bias.json").write_text("mine")
    for verb in ("simulate", "demo"):
        code, _, err = call(verb, "--sessions", 100, "--quiet", "--out", ".")
        assert code == 2
        assert "was not made by a simulation" in err
    assert (tables / "log.parquet").read_text() == "mine"
    assert (tables / "position_bias.json").read_text() == "mine"
    for _ in range(2):
        assert call("simulate", "--sessions", 20, "--quiet", "--out", "world")[0] == 0
    shutil.rmtree("world")


def test_the_system_has_the_last_word(monkeypatch, capsys) -> None:
    """An error of the system that nobody foresaw has no traceback."""

    def work(_: object) -> int:
        raise OSError(5, "Input/output error", "a\x1b[31m.csv")

    monkeypatch.setattr("counterrank.cli.commands.run", work)
    assert cli._run() == 2
    assert "Input/output error (a\\u001b[31m.csv)" in capsys.readouterr().err
