"""Calls from Python with what no argument takes: a message of three parts, never a TypeError."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.api.gate import report
from counterrank.core.arguments import arguments
from frozen import worlds

WRONG = [
    5, 1.5, None, True, "x", [], {}, {"a"}, b"x", object(), [5], [None], [[]], {"a": 5}, "",
    float("nan"), -1, 10**400, pl.DataFrame(), np.array([1, 2]), lambda: 0,
]  # fmt: skip
TABLES = [*WRONG, {5: "good.parquet"}, [("a",)], [("a", "b", "c")], pl.Series([1]), iter([1])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    worlds.write(path)
    return path


CALLS = {
    "evaluate": (("judgments.parquet", ["good.parquet", "weak.parquet"]),
                 {"draws": 10, "measure": "AP"}),
    "estimate": (("log.parquet", ["new.parquet"]),
                 {"position_bias": "log2", "reward": "click", "estimator": "IPS"}),
    "strata": (("judgments.parquet", ["good.parquet", "weak.parquet"]), {"measure": "AP"}),
    "funnel": (("funnel.parquet", ["sale_a.parquet"]), {"estimator": "IPS"}),
    "exposure": (("seen.parquet",), {}),
    "check": (("judgments.parquet", "good.parquet"), {"measure": "AP"}),
    "assess_power": (("units.parquet",), {"draws": 50, "resamples": 20}),
    "assess_agreement": (("units.parquet",), {"draws": 50, "resamples": 20}),
    "assess_robustness": (("units.parquet",), {"samples": 2, "sizes": [1, 0.5]}),
    "assess_online": (("past.parquet",), {"baseline": "old"}),
    "assess_accuracy": (("trials.parquet",), {}),
}  # fmt: skip
ELSEWHERE = ("resume", "scratch", "threads", "master")  # write, or start something


def refused(call) -> cr.CounterrankError | None:
    """The message of a call; other exceptions pass through."""
    try:
        call()
    except cr.CounterrankError as error:
        return error
    return None


@pytest.mark.parametrize("verb", CALLS)
def test_wrong_kinds_are_refused(verb, folder, monkeypatch):
    monkeypatch.chdir(folder)
    function, (tables, usual) = getattr(cr, verb), CALLS[verb]
    for name, a in arguments(function).items():
        if a.place or a.mark == "python" or name in ELSEWHERE:
            continue
        for value in WRONG:
            error = refused(lambda n=name, v=value: function(*tables, **usual | {n: v}))
            if error is not None:
                assert error.found or error.todo, (name, value, error.wrong)
        if a.kind in (int, float):
            for value in ("x", True, object()):
                error = refused(lambda n=name, v=value: function(*tables, **usual | {n: v}))
                assert isinstance(error, cr.UsageError), (name, value)
                assert error.wrong.startswith(f"{name} must be")


@pytest.mark.parametrize("verb", CALLS)
def test_tables_of_no_kind_are_refused(verb, folder, monkeypatch):
    monkeypatch.chdir(folder)
    function, (tables, usual) = getattr(cr, verb), CALLS[verb]
    for place in range(len(tables)):
        for value in TABLES:
            own = [*tables[:place], value, *tables[place + 1 :]]
            refused(lambda given=own: function(*given, **usual))


@pytest.mark.parametrize(
    "value", [v for v in TABLES if not isinstance(v, str)], ids=lambda v: type(v).__name__
)
def test_what_is_no_result_is_refused(value, tmp_path):
    for call in (cr.gate, cr.repeat, lambda v: report(v, output=str(tmp_path / "x.html"))):
        with pytest.raises(cr.UsageError, match="no result"):
            call(value)


def test_a_document_that_lacks_a_part_is_refused(tmp_path):
    (tmp_path / "result.json").write_text('{"schema": 1, "kind": "evaluate", "provenance": {}}')
    with pytest.raises(cr.InputError, match="is not a result"):
        cr.gate(tmp_path)


def test_a_call_says_how_it_must_be(folder, monkeypatch):
    monkeypatch.chdir(folder)
    told = {
        "Missing a required argument: 'judgments'": lambda: cr.evaluate(),
        "Missing a required argument: 'runs'": lambda: cr.evaluate("judgments.parquet"),
        "Too many positional arguments": lambda: cr.evaluate("a", "b", "AP"),
        "No table was given": lambda: cr.check(),
        'Did you mean "measure"': lambda: cr.evaluate("a", "b", mesure="AP"),
        "runs is None": lambda: cr.evaluate("judgments.parquet", None),
        "level must be a number, not 'x'. Write it like level=0.95.": lambda: cr.evaluate(
            "a", "b", level="x"
        ),
        "draws must be a whole number, not 1.5.": lambda: cr.evaluate("a", "b", draws=1.5),
        "5 is no engine": lambda: cr.evaluate("a", "b", engine=5),
        "columns must map roles": lambda: cr.evaluate("a", "b", columns="user=uid"),
        "partitions must be a whole number": lambda: cr.evaluate("a", "b", partitions="3"),
        "baseline must be text, not 5": lambda: cr.evaluate("a", "b", baseline=5),
        "seed must lie between 0": lambda: cr.evaluate("a", "b", seed=-1),
    }
    for words, call in told.items():
        error = refused(call)
        assert words in str(error)
    found = cr.check("judgments.parquet", "good.parquet")
    assert [table.kind for table in found.tables["tables"]] == ["judgments", "run"]


ONE = {
    "j": {"user": ["u"], "item": ["a"], "rating": [1]},
    "a": {"user": ["u", "u"], "item": ["a", "b"], "rank": [1, 2]},
    "b": {"user": ["u", "u"], "item": ["b", "a"], "rank": [1, 2]},
    "l": {"session": ["s", "s"], "item": ["a", "b"], "rank": [1, 2], "click": [1, 0]},
    "t": {"session": ["s", "s"], "item": ["b", "a"], "rank": [1, 2]},
}


@pytest.mark.parametrize("interval", ["normal", "t", "bootstrap", "bca"])
@pytest.mark.parametrize("test", ["permutation", "t", "bootstrap", "wilcoxon", "none"])
def test_one_user_is_enough_for_a_table_a_gate_and_a_page(test, interval, tmp_path):
    few = {name: pl.DataFrame(columns) for name, columns in ONE.items()}
    how = {"interval": interval, "resamples": 30}
    found = [cr.evaluate(few["j"], {n: few[n] for n in "ab"}, test=test, draws=30, **how)]
    found.append(cr.strata(few["j"], {n: few[n] for n in "ab"}))
    if test in ("t", "bootstrap", "none"):
        wanted = {"estimator": ["IPS", "SNIPS", "DR", "nDCG"], "position_bias": "log2"}
        found.append(cr.estimate(few["l"], {"t": few["t"]}, test=test, **wanted, **how))
    for place, result in enumerate(found):
        assert "n/a" in str(result) or "[no interval]" in str(result) or interval == "bootstrap"
        folder = tmp_path / str(place)
        result.save(folder)
        assert report(str(folder), output=str(folder / "page.html"))
        base = "logged" if result.kind == "estimate" else "a"
        if result.comparisons:
            gate = cr.gate(folder, baseline=base)
            assert not gate.passed
            assert "nan" not in gate.markdown()


@dataclass(frozen=True)
class Lost(cr.Measure):
    """A measure of one's own that does not always have a value."""

    value: str = "nan"

    def worth(self, hits, pool):
        return np.where(hits.rank == 2, float(self.value), hits.rating)


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_measure_without_a_number_is_refused(value, folder, monkeypatch):
    monkeypatch.chdir(folder)
    tables = "judgments.parquet", ["good.parquet", "weak.parquet"]
    for verb in (cr.evaluate, cr.strata, cr.assess_power):
        for partitions in (None, 3):
            with pytest.raises(cr.InputError, match=r"no number for \d+ of 90 users"):
                verb(*tables, measure=Lost(value), partitions=partitions)


class Nowhere(cr.PositionModel):
    """A position model without numbers."""

    def weight(self, rank):
        return np.full(np.shape(rank), np.nan)


def test_a_position_model_without_numbers_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(cr.UsageError, match="reaches nan"):
        cr.estimate("log.parquet", ["new.parquet"], position_bias=dataclass(frozen=True)(Nowhere)())
