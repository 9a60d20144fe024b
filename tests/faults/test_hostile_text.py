"""Text of others takes no effect, and what is nobody's business is not kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import UsageError
from counterrank.documents.document import command_words, short_names
from counterrank.documents.gate import _md
from counterrank.results.output_files import guard_cell
from faults.calls import call

ESCAPES = "\x1b]0;owned\x07\x1b[31m\x9b31m\u202e"


def seen(text: str) -> None:
    assert not set(text) & set("\x1b\x07\x9b\u202e"), ascii(text)


def test_no_sequence_reaches_the_terminal(tables: Path) -> None:
    odd = f"a{ESCAPES}"
    pl.read_csv("old.csv").write_csv(tables / f"{odd}.csv")
    pl.read_csv("judged.csv").with_columns(pl.lit(1).alias(f"ratin{ESCAPES}")).drop(
        "rating"
    ).write_csv("odd.csv")
    for words in (
        ["evaluate", "judged.csv", f"{odd}.csv"],
        ["evaluate", "judged.csv", f"{odd}.csv", "--format", "csv"],
        ["evaluate", "judged.csv", f"{odd}.csv", "--format", "json"],
        ["evaluate", "judged.csv", f"{odd}.csv", "--out", f"out{ESCAPES}"],
        ["evaluate", "odd.csv", "old.csv"],
        ["evaluate", "judged.csv", f"none{ESCAPES}.csv"],
        ["evaluate", "judged.csv", "old.csv", "-m", f"nDCG{ESCAPES}"],
        ["evaluate", "judged.csv", "old.csv", f"--{ESCAPES}"],
        ["evaluate", "judged.csv", "old.csv", "--test", f"{ESCAPES}"],
        [f"evaluate{ESCAPES}"],
        ["gate", "saved", "--baseline", f"old{ESCAPES}"],
        ["gate", "saved", "--decide-by", f"P@2{ESCAPES}"],
        ["simulate", "--sessions", 10, "--out", odd],
        ["demo", "--sessions", 100, "--out", odd],
        ["reproduce", "primer", "--quick", "--out", odd],
        ["reproduce", odd],
        ["repeat", "saved", "--data", odd],
        ["report", "saved", "-o", odd + "/page.html"],
        ["check", f"{odd}.csv"],
        ["check", f"{odd}.csv", "--format", "csv"],
    ):
        code, out, err = call(*words)
        assert code in (0, 2, 3), words
        seen(out)
        seen(err)


def test_names_that_are_no_text_are_refused(tables: Path, monkeypatch) -> None:
    """Bytes of Latin-1 in the name of a file or of the folder where we stand."""
    odd = os.fsdecode(b"\xff")
    for name in (f"{odd}.csv", f"runs/{odd}.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        pl.read_csv("old.csv").write_csv(tables / "plain.csv")
        os.rename("plain.csv", name)
    for words in (
        ["evaluate", "judged.csv", f"{odd}.csv"], ["evaluate", "judged.csv", "runs"],
        ["evaluate", "judged.csv", f"{odd}=old.csv"], ["evaluate", "judged.csv", "old.csv", odd],
        ["evaluate", "judged.csv", "old.csv", "--out", odd], ["check", f"{odd}.csv"],
        ["evaluate", "judged.csv", "old.csv", "--by-unit", f"{odd}.csv"],
        ["simulate", "--out", odd, "--sessions", 10], ["report", "saved", "--title", odd],
        ["demo", "--out", odd, "--sessions", 10], ["reproduce", "primer", "--out", odd],
        ["gate", odd], ["gate", "saved", "--summary", odd], [odd],
        ["repeat", "saved", "--data", odd],
    ):  # fmt: skip
        code, _, err = call(*words)
        assert code == 2, words
        assert "not UTF-8 text" in err or "no command" in err, words
    with pytest.raises(cr.UsageError, match="not UTF-8"):
        cr.evaluate("judged.csv", {odd: pl.read_csv("old.csv")})
    (tables / odd).mkdir()
    monkeypatch.chdir(tables / odd)
    inputs = [tables / "judged.csv", tables / "old.csv"]
    for words in (
        ["--out", "out"],
        ["--by-unit", "u.parquet"],
        ["--scratch", ".", "--partitions", 2],
    ):
        code, _, err = call("evaluate", *inputs, *words)
        assert code == 2, words
        assert "not UTF-8 text" in err
    assert not any(Path().iterdir())


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=1+1", "'=1+1"), ("+x", "'+x"), ("-x", "'-x"), ("@SUM(A1)", "'@SUM(A1)"), ("-1.5", "-1.5"),
     ("+3e5", "+3e5"), ("nDCG@10", "nDCG@10"), ("", ""), ("a\tb", "a\\u0009b")],
)  # fmt: skip
def test_cells_make_no_formula(text: str, cell: str) -> None:
    assert guard_cell(text) == cell


def test_tables_for_spreadsheets_are_guarded(tables: Path) -> None:
    run = pl.read_csv("old.csv").with_columns(user="=" + pl.col("user"))
    run.write_csv("=run.csv")
    pl.read_csv("judged.csv").with_columns(user="=" + pl.col("user")).write_csv("j.csv")
    _, out, _ = call("evaluate", "j.csv", "=run.csv", "--format", "csv", "--by-unit", "units.csv")
    assert "estimate,'=run," in out
    assert (tables / "units.csv").read_text().splitlines()[1].startswith("'=u")


def test_summaries_call_nobody_and_link_nowhere() -> None:
    told = _md("@everyone see https://evil.example www.evil.example #12 a@b.example")
    for live in ("@everyone", "https://", "www.e", "#1", "a@b"):
        assert live not in told
    assert _md("nDCG@10 P@5, AP@100") == "nDCG@10 P@5, AP@100"  # labels are found by what they are
    for live in ("a@10.example", "a@10x", "a@10-b", "@10", ")@10"):
        assert live not in _md(live).replace("\\", "")
    assert len(_md("x" * 10_000_000)) < 1000


def test_a_message_has_an_end() -> None:
    assert len(str(UsageError("x" * 10_000_000, found="y" * 10_000_000))) < 5000


def test_documents_hold_no_folders_and_no_secrets(tables: Path) -> None:
    words = [tables / f"{name}.csv" for name in ("judged", "old", "new")]
    assert call("evaluate", *words, "--out", tables / "out")[0] == 0
    assert call("check", *words, "--format", "json")[0] == 0
    for text in ((tables / "out" / "result.json").read_text(),
                 (tables / "out" / "report.html").read_text(),
                 call("check", *words, "--format", "json")[1]):  # fmt: skip
        assert str(tables) not in text
    inputs = json.loads((tables / "out" / "result.json").read_text())["provenance"]["inputs"]
    assert [i["name"] for i in inputs] == ["judged.csv", "old.csv", "new.csv"]
    code, out, err = call("repeat", tables / "out", "--data", tables)
    assert code == 0, out + err


def test_commands_keep_no_folders_and_no_secrets() -> None:
    typed = ["counterrank", "evaluate", "/home/me/j.csv", "new=/home/me/n.csv", "--master",
             "sc://h/;token=secret", "--master=spark://u:secret@h", "--out=/home/me/out",
             "s3a://key:secret@bucket/x.parquet", "-m", "nDCG@10"]  # fmt: skip
    told = " ".join(command_words(typed))
    assert told == "counterrank evaluate j.csv new=n.csv --out=out x.parquet -m nDCG@10"
    assert short_names(["/a/x/run.csv", "/b/y/run.csv"]) == {
        "/a/x/run.csv": "x/run.csv", "/b/y/run.csv": "y/run.csv",
    }  # fmt: skip
