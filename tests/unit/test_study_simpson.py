"""The study of Simpson's paradox: its worked numbers, its models, a very small run."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from counterrank.studies import paradox_tables as paradox
from counterrank.studies import simpson as study
from counterrank.studies.closed_loop import named_models
from counterrank.studies.descent import fit_factors
from counterrank.studies.study import Context


def test_worked_tables_are_as_printed_from_rounded_rates():
    rows = paradox.worked_tables().rows
    assert [row[1].paper == row[1].ours for row in rows] == [True, True, False, True]
    assert rows[2][1].ours == "0.343"  # of 0.339 and 0.695, themselves rounded
    assert [row[2] for row in rows] == ["0.8325", "0.7789", "-", "-"]


def test_the_models_are_the_104_of_the_paper():
    names = [name for name, _ in named_models(range(10, 101, 10))]
    assert len(names) == len(set(names)) == 104
    families = {name.rpartition("-")[0] or name for name in names}
    assert families == {"GA", "MPOP", "BO", "MLP", "MF", "SVD", "PMF-linear", "PMF-nonlinear",
                        "WMF", "MMMF", "BPR", "WBPR", "GMF", "NeuMF"}  # fmt: skip


def test_two_models_on_every_set_that_is_at_hand():
    rng = np.random.default_rng(0)
    u, i = np.nonzero(rng.random((50, 30)) < np.linspace(0.9, 0.2, 30))
    table = pl.DataFrame({"user": 7 * u + 3, "item": 5 * i + 1,  # ids with gaps
                          "rating": rng.integers(1, 6, len(u))})  # fmt: skip
    random = table.sample(fraction=0.3, seed=1)
    both = {"train": table, "test": random}
    loaded = {"movielens-100k": table, "netflix": table, "yahoo-r3": both, "coat": both}
    has = {"has": lambda self, name: name in loaded}
    context = type("Given", (Context,), has)(quick=True, loaded=loaded)
    tables, claims = paradox.pair_tables(context, 1)
    assert [t.title.split(":")[0] for t in tables] == [f"Table {n}" for n in range(2, 6)]
    assert [len(t.rows) for t in tables] == [5, 5, 6, 6]
    assert len(claims) == 4
    assert "movielens-1m" in tables[0].note  # whose numbers are printed
    for t in tables:
        rows = {row[0]: row for row in t.rows}
        count = {m: float(row[4].ours.replace(",", "")) for m, row in rows.items()}
        share = count["Q1"] / count["Holdout"]
        for model in (1, 2):  # the stratified row is the weighted mean of its strata
            within = share * rows["Q1"][model].ours + (1 - share) * rows["Q2"][model].ours
            assert rows["Stratified"][model].ours == pytest.approx(within)


def test_rated_items_are_never_the_ones_not_preferred():
    rng = np.random.default_rng(0)
    chance = np.linspace(0.9, 0.1, 20)
    rated = (rng.random((80, 20)) < chance).astype(float)
    scores = fit_factors(rated, size=2, loss="popular", rate=0.05, epochs=40).mean(axis=0)
    assert np.corrcoef(scores, chance)[0, 1] > 0.8  # else as many steps down as up
    everything = np.ones((10, 5))
    assert np.abs(fit_factors(everything, size=2, loss="bpr", l2=0.0)).max() < 0.01


def test_marks_are_methods_that_differ():
    pairs = [["nDCG", "holdout", "Q1", -3.0, 0.01], ["nDCG", "stratified", "holdout", 1.0, 0.2]]
    assert study.marks(pairs, "nDCG", "holdout") == "4"
    assert study.marks(pairs, "nDCG", "Q1") == "1"
    assert study.marks(pairs, "nDCG", "stratified") == "none"


def split_found(t, p, low=-0.1, high=0.1):
    """One split in which Q1 is compared with holdout, alike at every cut-off."""
    return {"pairs": [[m, "Q1", "holdout", t, p] for m in study.MEASURES],
            "users": [[m, "Q1", low, high] for m in study.MEASURES]}  # fmt: skip


def test_a_method_is_ahead_only_where_the_published_test_says_so():
    taus = {(m, method): (x, None) for m in study.MEASURES
            for method, x in (("Q1", 0.5), ("holdout", 0.4))}  # fmt: skip
    ways = {"holds": (3.0, 0.01), "does not hold": (-3.0, 0.01), "cannot be told here": (1.0, 0.2)}
    for state, (t, p) in ways.items():
        found = [split_found(t, p), split_found(t, p), split_found(-t, 0.3)]
        told = study.compare_taus(found, taus, "Q1", "holdout")
        assert (told.state, "Higher at 6 of 6" in told.why) == (state, True)
        assert told.theirs == "surely at 6 of 6"
    pairs = split_found(3.0, 0.01)["pairs"]
    assert study.sure_leads(pairs, "holdout", "Q1") == (0, 6)  # whichever comes first
    told = study.compare_taus([split_found(3.0, 0.01, 0.02, 0.2)] * 3, taus, "Q1", "holdout")
    assert "above 0 in 18 of 18" in told.why


def claims_where(p_ips, p_others, p_strata):
    """Claims about IPS and about strata, with p-values of the tests against holdout."""
    pairs = [[m, method, "holdout", 2.0, p_ips if method == "IPS" else p_others]
             for m in study.MEASURES for method in study.METHODS[1:]]  # fmt: skip
    found = [{"pairs": pairs, "users": [], "paradoxes": [1, 9],
              "numbers": [[k, 0.3, p_strata] for k in range(1, 11)]}]  # fmt: skip
    methods = (*study.METHODS, study.WRONG)
    taus = {(m, method): (0.3, None) for m in study.MEASURES for method in methods}
    numbers = np.array([0.2, *[0.3] * 9])
    claims = study.claims_of(found, taus, [(0.0, 0.0, 1.0)] * 6, [], numbers)
    return [c.state for c in claims if c.sentence.startswith(("IPS is", "Any number"))]


def test_nothing_is_told_by_a_test_that_finds_nothing():
    assert claims_where(0.2, 0.01, 0.01) == ["holds", "holds"]
    assert claims_where(0.2, 0.2, 0.2) == ["cannot be told here"] * 2
    assert claims_where(0.01, 0.01, 0.01) == ["does not hold", "holds"]


def test_a_paradox_is_one_only_if_what_is_printed_as_sure_is_sure():
    coat = paradox.PAIRS[3]  # only Q1 has a star
    rows = {"Holdout": [0.3, 0.2, 0.5], "Q1": [0.2, 0.3, 0.01], "Stratified": [0.2, 0.3, 0.5]}
    found = {m: np.array([[*row, 1, 1]] * 3, float) for m, row in rows.items()}
    assert paradox._pair_claim("coat", coat, found).state == "holds"
    found["Q1"][:, 2] = 0.2
    assert paradox._pair_claim("coat", coat, found).state == "cannot be told here"
    found["Stratified"][:, :3] = 0.3, 0.2, 0.01
    assert paradox._pair_claim("coat", coat, found).state == "does not hold"


def test_a_small_run_has_every_cell(monkeypatch):
    rng = np.random.default_rng(0)
    u, i = np.nonzero(rng.random((60, 40)) < np.linspace(0.9, 0.2, 40))
    table = pl.DataFrame({"user": u, "item": i, "rating": rng.integers(1, 6, len(u))})
    part = pl.Series(rng.random(len(u)) < 0.7)
    parts = {"train": table.filter(part), "test": table.filter(~part)}
    some = [pair for pair in named_models((3,)) if pair[0] in ("GA", "MPOP", "BO", "WMF-3")]
    monkeypatch.setattr(study, "named_models", lambda sizes: some)
    monkeypatch.setattr(Context, "has", lambda self, name: name == "coat")
    found = study.reproduce_simpson(Context(quick=True, loaded={"coat": parts}))
    six = next(t for t in found.tables if t.title.startswith("Table 6"))
    assert len(six.rows) == len(study.MEASURES)
    assert all(cell.paper is not None for row in six.rows for cell in row[1:6])
    assert len(found.differences) == 5
    assert {c.state for c in found.claims} <= {"holds", "does not hold", "cannot be told here"}
    told = {c.sentence.partition(" (")[0]: c for c in found.claims}
    assert told["IPS is nowhere surely better than holdout"].ours.startswith("surely at")
    assert told["Gamma, its xmin and the number of head items are as printed."].state == (
        "does not hold"
    )  # these are not the paper's data
    tested = next(t for t in found.tables if t.title.startswith("Williams"))
    assert {frozenset(row[:2]) for row in tested.rows} >= {
        frozenset(pair) for pair in combinations(study.METHODS, 2)
    }
    single = next(t for t in found.tables if t.title.startswith("Single"))
    assert [row[0] for row in single.rows] == ["GA", "MPOP", "BO"]
    numbers = next(t for t in found.tables if t.title.startswith("Fig. 4"))
    assert [row[0] for row in numbers.rows] == [str(k) for k in range(1, 11)]
    assert "strata" in numbers.note
