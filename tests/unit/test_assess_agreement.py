"""Which measures put systems in the same order."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import scipy.stats

import counterrank as cr
from counterrank.assess.inputs import read_values
from counterrank.assess.metric_agreement import pair_directions
from counterrank.assess.request import ValueRequest
from counterrank.core.errors import UsageError
from counterrank.stats.correlation import inversion_rate, inversions
from making import judgments, run, world


def several(users, held_out, rating=1, systems=8, apart=0.1, seed=0):
    """Judgments with so many relevant items per user, and systems of rising skill."""
    rng = np.random.default_rng(seed)
    rated = {
        u: dict.fromkeys(rng.choice(40, held_out(rng), replace=False).tolist(), rating)
        for u in range(users)
    }
    runs = {}
    for s in range(systems):
        score = {
            u: {i: apart * s * (i in own) + rng.random() for i in range(40)}
            for u, own in rated.items()
        }
        lists = {u: sorted(x, key=x.get, reverse=True)[:10] for u, x in score.items()}
        runs[f"s{s}"] = run(lists)
    return judgments(rated), runs


@pytest.mark.parametrize("rating", [1, 3])
@pytest.mark.parametrize("held_out", [1, 2])
def test_as_many_items_for_every_user_leave_dcg_and_ndcg_no_disagreement(rating, held_out):
    """Jeunen et al. 2024: nDCG is then DCG on another scale.

    Every user has a mirror image, whose lists another system gets: so pairs of systems tie but for
    the order in which their values are added up.
    """
    users = 60
    truth, runs = several(users, lambda rng: held_out, rating)
    image = {"user": 2 * users - 1 - pl.col("user")}
    truth = pl.concat([truth, truth.with_columns(**image)])
    lists = {
        f"{a}{b}": pl.concat([runs[f"s{a}"], runs[f"s{b}"].with_columns(**image)])
        for a, b in itertools.product(range(4), range(4))
    }
    found = cr.assess_agreement(
        truth, lists, measure=["DCG@10", "nDCG@10"], draws=200, resamples=40
    ).tables["agreement"][0]
    assert (found.measure, found.other) == ("DCG@10", "nDCG@10")
    assert (found.value, found.se, found.low, found.high, found.opposed) == (0, 0, 0, 0, 0)
    assert found.kendall == pytest.approx(1)


def test_varying_numbers_of_items_let_them_disagree():
    truth, runs = several(60, lambda rng: int(rng.integers(1, 20)), apart=0.0, seed=1)
    found = cr.assess_agreement(truth, runs, measure=["nDCG@10"], draws=200, resamples=40)
    row = found.tables["agreement"][0]
    assert (row.measure, row.other) == ("DCG@10", "nDCG@10")
    assert found.estimates[0].measure == "DCG@10 / nDCG@10"
    assert found.estimates[0].value > 0
    assert found.estimates[0].se > 0


def test_every_figure_is_that_of_its_formula():
    truth, runs = several(50, lambda rng: int(rng.integers(1, 20)), seed=2)
    labels = ["P@5", "RR@5", "ARP@10", "DCG@10", "nDCG@10"]
    options = {"draws": 500, "resamples": 60, "seed": 5, "mean": "both"}
    found = cr.assess_agreement(truth, runs, measure=labels, **options)
    every = list(dict.fromkeys(n for t in found.tables["taus"] for n in (t.measure, t.other)))
    assert every[:5] == ["DCG@10", "nDCG@10", "P@5", "RR@5", "ARP@10"]
    assert "RR(mean=geometric)@5" in every
    theirs = cr.evaluate(truth, runs, measure=every, draws=500, seed=5, correct="none")
    value = {
        m: np.array([(-1 if m == "ARP@10" else 1) * theirs.estimate(s, m).value for s in runs])
        for m in every
    }
    for t in found.tables["taus"]:
        tau = scipy.stats.kendalltau(value[t.measure], value[t.other]).statistic
        assert t.kendall == pytest.approx(tau)
    for r in found.tables["agreement"]:
        assert r.value == pytest.approx(inversion_rate(value[r.measure], value[r.other]))
        assert r.value == pytest.approx((1 - r.kendall) / 2)
        sign = -1 if "ARP@10" in (r.measure, r.other) else 1
        pearson = scipy.stats.pearsonr(value[r.measure], value[r.other]).statistic
        assert r.pearson == pytest.approx(sign * pearson)
    p = {(c.measure, c.system, c.baseline): c for c in theirs.comparisons}
    rows = {(o.measure, o.other, o.system, o.baseline) for o in found.tables["opposed"]}
    for r in found.tables["agreement"]:
        own = 0
        for (m, s, b), c in p.items():
            if m != r.measure:
                continue
            other = p[r.other, s, b]
            turn = -1 if "ARP@10" in (r.measure, r.other) else 1
            if c.difference * other.difference * turn < 0 and max(c.p, other.p) <= 0.05:
                own += 1
                assert (r.measure, r.other, s, b) in rows
        assert r.opposed == own


def test_directions_and_inversions_follow_the_rule_for_ties():
    x, y = np.array([1, 2, 3, 3, 4, 4.0]), np.array([1, 3, 2, 5, 4, 4.0])
    share = inversions(pair_directions(x, 6), pair_directions(y, 6))
    assert share == pytest.approx(2 / 7)  # analytic.json
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 4, (2, 7)).astype(float)
        share = inversions(pair_directions(a, 7), pair_directions(b, 7))
        assert share == pytest.approx(inversion_rate(a, b))
    same = np.array([0.1 + 0.2, 0.3, 1.0])
    assert list(pair_directions(same, 3)) == [0, 1, 1]  # 0.1 + 0.2 is 0.3 but for rounding


def test_opposed_pairs_are_found_where_both_measures_are_sure():
    rng = np.random.default_rng(3)
    x = rng.random((200, 3))
    up, down = x + np.array([0, 0.3, 0.3]), x + np.array([0.3, 0, 0.31])
    rows = [
        (u, f"s{s}", m, table[u, s])
        for m, table in (("up", up), ("down", down))
        for u, s in itertools.product(range(200), range(3))
    ]
    frame = pl.DataFrame(rows, schema=["unit", "system", "measure", "value"], orient="row")
    found = cr.assess_agreement(frame, draws=500, resamples=50)
    assert [(o.system, o.baseline) for o in found.tables["opposed"]] == [("s1", "s0")]
    o = found.tables["opposed"][0]
    assert o.difference > 0 > o.other_difference
    assert max(o.p, o.other_p) < 0.01
    assert found.tables["agreement"][0].opposed == 1
    assert "decides 1 of these pairs" in found.recommendation[2]
    assert json.loads(found.to_json())["tables"]["opposed"][0]["system"] == "s1"


def test_equal_systems_have_no_order_to_agree_on():
    rows = [(u, s, m, 1.0) for u in range(20) for s in "abc" for m in ("P@5", "RR@5")]
    frame = pl.DataFrame(rows, schema=["unit", "system", "measure", "value"], orient="row")
    found = cr.assess_agreement(frame, draws=100, resamples=30)
    assert found.estimates[0].value == 0
    assert np.isnan(found.tables["agreement"][0].kendall)
    assert found.recommendation[0] == "By P@5 and RR@5 all systems are equal."


def constructed(**measures):
    """Per-unit values from units x systems."""
    rows = [
        (u, f"s{s}", m, float(v)) for m, x in measures.items() for (u, s), v in np.ndenumerate(x)
    ]
    return pl.DataFrame(rows, schema=["unit", "system", "measure", "value"], orient="row")


def test_a_measure_that_orders_nothing_spoils_no_sentence():
    rng = np.random.default_rng(0)
    x = rng.random((60, 4)) + np.arange(4)
    table = constructed(a=x, flat=np.ones((60, 4)), b=x + 0.01 * rng.random((60, 4)), c=-x)
    text = cr.assess_agreement(table, draws=100, resamples=30).recommendation
    assert text[0] == "a or flat sees no difference between any two systems."
    assert "nan" not in " ".join(text)
    assert "a and c (tau -1.00)" in text[1]
    assert "may be reported" not in text[2]


def test_what_is_not_settled_is_not_called_the_same():
    rng = np.random.default_rng(2)
    x = rng.random((12, 4))
    noise = constructed(a=x, b=x + 0.3 * rng.random((12, 4)))
    found = cr.assess_agreement(noise, draws=100, resamples=50)
    assert found.estimates[0].low == 0 < found.estimates[0].value
    assert found.tables["agreement"][0].opposed == 0
    assert "do not settle" in found.recommendation[2]
    assert found.recommendation[1].startswith("No third measure")
    x = rng.random((60, 3)) + np.arange(3)
    same = cr.assess_agreement(constructed(a=x, b=2 * x), draws=100, resamples=50)
    assert same.recommendation[2].startswith("Either of a and b may be reported")


def test_only_dcg_and_ndcg_are_told_apart_by_what_dcg_means():
    x = 0.05 * np.random.default_rng(0).random((200, 3)) + np.array([0.1, 0.2, 0.3])
    for first, says in (("P@10", False), ("DCG@10", True)):
        table = constructed(**{first: x, "nDCG@10": 0.8 - x})
        found = cr.assess_agreement(table, draws=100, resamples=30, mean="given")
        assert ("speaks for DCG" in found.recommendation[2]) == says


def test_options_matter_and_too_little_is_refused():
    truth, runs = world(users=30)
    labels = ["P@5", "RR@5"]
    both = cr.assess_agreement(truth, runs, measure=labels, mean="both", draws=100, resamples=30)
    given = cr.assess_agreement(truth, runs, measure=labels, draws=100, resamples=30)
    assert len(both.tables["taus"]) > len(given.tables["taus"])
    assert [(t.measure, t.other) for t in given.tables["taus"]] == [("P@5", "RR@5")]
    assert (
        "add little" not in given.recommendation[2] or "report both" not in given.recommendation[2]
    )
    assert len(both.recommendation) == len(given.recommendation) == 3
    frame = read_values(ValueRequest(truth, runs, ["P@5"])).frame()
    with pytest.raises(UsageError, match="at least two measures"):
        cr.assess_agreement(frame, mean="given")
    with pytest.raises(UsageError, match="mean cannot be"):
        cr.assess_agreement(frame, mean="harmonic")


def test_the_command_line_fits_80_columns_and_writes_whole_files(tmp_path):
    truth, runs = several(60, lambda rng: int(rng.integers(1, 20)), apart=0.02)
    truth.write_parquet(tmp_path / "truth.parquet")
    for name, table in runs.items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    words = ["truth.parquet", *(f"{name}.parquet" for name in runs), "--draws", "500"]
    words += ["--resamples", "50", "--out", "result", "-m", "P@5,RR@10,AP@10,Recall@10,ERR@10"]
    done = subprocess.run(
        [sys.executable, "-m", "counterrank", "assess", "agreement", *words], cwd=tmp_path,
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert sorted(p.name for p in (tmp_path / "result").iterdir()) == [
        "report.html", "result.json", "units.parquet",
    ]  # fmt: skip
    document = json.loads((tmp_path / "result" / "result.json").read_text())
    assert document["kind"] == "assess agreement"
    assert len(document["tables"]["recommendation"]) == 3
    again = cr.assess_agreement(tmp_path / "result", mean="given", draws=500, resamples=50)
    assert again.estimates[0].value == document["estimates"][0]["value"]
