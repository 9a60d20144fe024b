"""Wrong, or open when it should be shut."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import counterrank as cr
from counterrank.data.sources.source import Source
from faults.calls import call


@pytest.mark.parametrize("engine", [{}, {"partitions": 2}], ids=["memory", "disk"])
@pytest.mark.parametrize("swap", ["replace", "append"])
def test_an_input_that_changes_is_refused(tables: Path, monkeypatch, engine, swap) -> None:
    """Whatever is hashed, before or after, would not be what was read."""
    whole = Source.sha256

    def later(self: Source) -> str | None:
        if self.name == "old.csv":
            if swap == "replace":
                (tables / "other").write_bytes((tables / "new.csv").read_bytes())
                os.replace(tables / "other", tables / "old.csv")
            else:
                with (tables / "old.csv").open("a") as file:
                    file.write("u0,i99,7\n")
        return whole(self)

    monkeypatch.setattr(Source, "sha256", later)
    with pytest.raises(cr.InputError, match="changed while it was read"):
        cr.evaluate("judged.csv", "old.csv", measure="P@2", **engine)


def edited(path: Path, edit: Any) -> str:
    document = json.loads((path / "saved" / "result.json").read_text())
    edit(document)
    (path / "edited.json").write_text(json.dumps(document))
    return "edited.json"


def lift(document: Any) -> None:
    """Numbers with which the gate opens."""
    for row in document["comparisons"]:
        row |= {"difference": 0.2, "low": 0.1, "high": 0.3, "family_low": 0.1, "family_high": 0.3}
        row |= {"lift": None, "lift_family_low": None, "lift_family_high": None}
    for d in document["diagnostics"]:
        d["state"] = "pass"
    for row in [*document["estimates"], *document["comparisons"]]:
        row["verdict"] = "pass"
    for row in document["comparisons"]:
        row["claim"] = "better"


def both(*edits: Any) -> Any:
    return lambda d: [edit(d) for edit in edits]


def test_the_gate_opens_on_a_good_result(tables: Path) -> None:
    code, out, err = call("gate", edited(tables, lift))
    assert code == 0, out + err


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.pop("diagnostics"),
        lambda d: d.update(diagnostics=[]),
        lambda d: d.update(kind="anything"),
        lambda d: d["comparisons"][0].update(verdict="FAIL"),
        lambda d: d["comparisons"][0].update(verdict="fail"),
        lambda d: d["diagnostics"][0].update(state="FAIL"),
        lambda d: d["diagnostics"][0].update(state=["fail"]),
        lambda d: d["diagnostics"].append({"state": "fail"}),
        lambda d: d["comparisons"][0].update(family_low=0.4),
        lambda d: d["comparisons"][0].update(family_low="0.1"),
        lambda d: d["comparisons"][0].update(family_low=float("inf"), family_high=float("inf")),
        lambda d: d["comparisons"].append(dict(d["comparisons"][0], family_low=-1.0)),
        lambda d: d["comparisons"][0].pop("family_low"),
        lambda d: d["comparisons"][0].update(claim="cannot_tell"),
        both(
            lambda d: d["protocol"]["decides"].update(min_lift=-0.05),
            lambda d: d["comparisons"][0].update(
                bound_low=-0.3, bound_high=0.4, lift=0.2, lift_family_low=0.1, lift_family_high=0.3
            ),
        ),
        lambda d: d["protocol"].update(lower_is_better="nDCG@3"),
        lambda d: d["protocol"]["decides"].update(min_lift="0"),
        lambda d: d["protocol"]["decides"].update(guards=None),
        lambda d: d["protocol"].update(level="high"),
        lambda d: d.update(schema=2),
    ],
)
def test_what_is_not_understood_stays_shut(tables: Path, edit: Any) -> None:
    code, _, _ = call("gate", edited(tables, both(lift, edit)))
    assert code in (2, 3)


@pytest.mark.parametrize("kind", ["power", "agreement", "robustness", "online", "accuracy",
                                  "exposure", "check"])  # fmt: skip
def test_what_compares_no_rankers_opens_no_gate(tables: Path, kind: str) -> None:
    def other(document: Any) -> None:
        document["kind"] = kind if kind in ("exposure", "check") else f"assess {kind}"

    code, out, err = call("gate", edited(tables, both(lift, other)))
    assert code == 2, out
    assert f'kind "{"assess " * (kind not in ("exposure", "check"))}{kind}"' in err


def test_a_key_that_stands_twice_is_refused(tables: Path) -> None:
    name = edited(tables, lift)
    text = (tables / name).read_text().replace('"verdict": "pass"', '"verdict": "fail", '
                                               '"verdict": "pass"', 1)  # fmt: skip
    (tables / name).write_text(text)
    code, _, err = call("gate", name)
    assert code == 2
    assert "stands twice" in err


@pytest.mark.parametrize(
    ("name", "value"),
    [("master", "sc://elsewhere"), ("scratch", "gone"), ("resume", "gone"), ("nope", 1),
     ("progress", "x"), ("judgments", "../judged.csv"), ("judgments", ""), ("judgments", 3),
     ("judgments", ".."), ("runs", {"a": None}), ("runs", [[]]), ("draws", 10**30)],
)  # fmt: skip
def test_a_document_that_is_repeated_leads_nowhere_else(tables: Path, name, value) -> None:
    """It says what verbs record: no cluster, no folder to write to, no table outside of --data."""

    def edit(document: Any) -> None:
        document["provenance"]["options"][name] = value

    (tables / "data").mkdir()
    for table in ("old.csv", "new.csv", *(["judged.csv"] if name != "judgments" else [])):
        shutil.copy(table, tables / "data")
    edited(tables, edit)
    code, _, err = call("repeat", "edited.json", "--data", "data")
    assert code == 2, err
    assert not (tables / "gone").exists()


@pytest.mark.parametrize("size", [1e308, 1e200, float("inf"), float("nan")])
@pytest.mark.parametrize("verb", ["evaluate", "strata", "estimate", "funnel"])
def test_every_number_is_finite_or_refused(tables: Path, verb: str, size: float) -> None:
    def huge(name: str, column: str) -> pl.DataFrame:
        return pl.read_csv(name).with_columns(pl.lit(size).alias(column))

    try:
        if verb in ("evaluate", "strata"):
            found = getattr(cr, verb)(
                huge("judged.csv", "rating"), {"old": pl.read_csv("old.csv")},
                measure=["DCG@3", "nDCG(gain=exp)@3", "nDCG@3"],
            )  # fmt: skip
        elif verb == "estimate":
            found = cr.estimate(
                huge("log.csv", "click"), {"t": pl.read_csv("target.csv")}, position_bias="log2"
            )
        else:
            found = cr.funnel(
                huge("funnel.csv", "revenue"), {"old": pl.read_csv("old.csv")}, reward="revenue"
            )
    except cr.CounterrankError:
        return
    for row in found.estimates:
        assert abs(row.value) < float("inf"), row
        assert row.se != float("inf"), row


def test_names_of_columns_that_no_table_has_are_refused(tables: Path) -> None:
    words = ["assess", "power", "judged.csv", "old.csv", "new.csv", "--columns", "user=nope"]
    assert call(*words)[0] == 2
    for empty in (["evaluate", "", "old.csv"], ["evaluate", "judged.csv", ""]):
        assert call(*empty)[0] == 2


def test_an_empty_name_is_no_folder(tables: Path) -> None:
    """``gate "$RESULT"`` without a RESULT must not open by whatever lies here."""
    for name in ("result.json", "units.parquet"):
        (tables / "saved" / name).rename(tables / name)
    before = sorted(p.name for p in tables.iterdir())
    for empty in ("", " "):
        for words in (["gate", empty], ["report", empty], ["repeat", empty], ["repeat", "."],
                      ["gate", ".", "--summary", empty], ["report", ".", "-o", empty],
                      ["simulate", "--out", empty, "--sessions", 10],
                      ["demo", "--out", empty, "--sessions", 10],
                      ["reproduce", "primer", "--quick", "--out", empty],
                      ["evaluate", "judged.csv", "old.csv", "--out", empty],
                      ["evaluate", "judged.csv", "old.csv", "--scratch", empty],
                      ["assess", "power", "judged.csv", "old.csv", "new.csv", "--resume", empty],
                      ["exposure", "log.csv", "--out", empty]):  # fmt: skip
            if words == ["repeat", "."]:
                words = ["repeat", ".", "--data", empty]
            assert call(*words)[0] == 2, words
    assert sorted(p.name for p in tables.iterdir()) == before


def test_packed_text_that_could_be_large_goes_by_the_disk(tables: Path, monkeypatch) -> None:
    """30 MB in 30 kB: by its rows it would fit, whole it need not."""
    note = "x" * 25_000
    with gzip.open("judged.csv.gz", "wt") as file:
        file.write("user,item,rating,note\n")
        file.writelines(f"u{n % 12},i{n},{n % 3},{note}\n" for n in range(1200))
    monkeypatch.setattr("counterrank.engine.disk.TAKEN", 4 * 10**6)
    monkeypatch.setattr("counterrank.engine.engines.LEAST", 10**6)

    def whole(path: Path) -> None:
        raise AssertionError("it was unpacked in memory")

    expected = cr.evaluate("judged.csv.gz", "old.csv", measure="P@2", test="none").estimates
    monkeypatch.setattr("gzip.decompress", whole)
    found = cr.evaluate("judged.csv.gz", "old.csv", measure="P@2", test="none", memory="5MB")
    assert [row.value for row in found.estimates] == [row.value for row in expected]


def test_memory_bounds_packed_text_too(tables: Path) -> None:
    """300 MB of text in 1 MB: nobody may unpack it all to see what columns it has."""
    rows = "".join(f"u{u},i{i},1\n" for u in range(300) for i in range(10))
    with gzip.open("packed.csv.gz", "wt") as file:
        file.write("user,item,rating\n" + rows)
        for _ in range(4):
            file.write("#" * 25_000_000 + "\n")
    code = (
        "import resource\nfrom counterrank.data.sources import open_source\n"
        "from counterrank.data.sources.source import count_source_rows\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "source = open_source('packed.csv.gz', trec=())\n"
        "print(source.columns(), count_source_rows(source))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told, grown = done.stdout.splitlines()
    assert told == "['user', 'item', 'rating'] 3006"
    assert int(grown) < 40_000  # kB
