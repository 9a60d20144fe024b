"""The error of a learned position model in estimates: influences, slopes, files, partitions."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

import counterrank as cr
from counterrank.engine.engines import Local
from counterrank.position.learn.pipeline import session_influences
from counterrank.position.model_file import position_bias
from making import shown

SEEN = np.array([0.9, 0.6, 0.4, 0.3])
ESTIMATORS = ["IPS", "SNIPS", "DR", "IPS(clip=2)", "nDCG(label=debiased)"]


def made(sessions=600, seed=0, per_user=3):
    """A log, and two rankers: lists upside down, and with the first two ranks swapped."""
    log = shown(seen=SEEN, sessions=sessions, seed=seed, per_user=per_user, jitter=0.3)
    other = pl.col("rank").replace_strict({1: 2, 2: 1, 3: 3, 4: 4})
    far = log.select("session", "item", rank=5 - pl.col("rank"))
    return log, {"far": far, "near": log.select("session", "item", rank=other)}


def of(method, log):
    return log if method == "views" else log.drop("viewed")


def rows(result, system="far"):
    return {e.estimator: e for e in result.estimates if e.system == system}


def ask(log, runs, bias, **options):
    asked = {"reward": "click", "context": ["query"], "estimator": ESTIMATORS, **options}
    return cr.estimate(log, runs, position_bias=bias, **asked)


def influence(learned, log):
    n = log["session"].n_unique()
    return session_influences(learned, log, log["session"].to_numpy(), n)[0].T


def test_a_view_moves_its_rank_by_its_share():
    log, _ = made()
    learned = cr.exposure(log, method="views").learned
    viewed = log["viewed"].to_numpy().reshape(-1, 4)
    by_hand = (viewed - viewed.mean(axis=0)) / len(viewed)
    assert influence(learned, log) == pytest.approx(by_hand, abs=1e-15)
    users = log["user"].unique().sort()
    psi = np.add.reduceat(by_hand, np.arange(0, 600, 3))
    many = len(users)
    expected = many / (many - 1) * psi.T @ psi
    assert learned.model.error.covariance == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("method", "family"),  # depths of views that skip ranks follow no family
    [*((m, "table") for m in ("views", "depth", "harvest", "em", "swap")),
     *((m, "power") for m in ("views", "harvest", "em"))],
)  # fmt: skip
def test_influences_are_what_a_jackknife_by_user_finds(method, family):
    log, _ = made(sessions=900, per_user=15)
    log = log if method in ("views", "depth") else log.drop("viewed")
    options = {"method": method, "model": family, "context": ["query"]}
    learned = cr.exposure(log, **options).learned
    psi = np.add.reduceat(influence(learned, log), np.arange(0, 900, 15))

    def theta(model):
        return np.array(model.weights if family == "table" else [model.eta])

    whole = theta(learned.model)
    again = [
        theta(cr.exposure(log.filter(pl.col("user") != u), **options).model) for u in range(60)
    ]
    moved = (whole - np.array(again)) * 59 / 60
    for place in range(len(whole)):
        if psi[:, place].any():
            assert np.corrcoef(psi[:, place], moved[:, place])[0, 1] > 0.98
            ratio = np.linalg.norm(psi[:, place]) / np.linalg.norm(moved[:, place])
            assert ratio == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("method", ["views", "harvest", "em"])
def test_estimates_from_a_curve_of_their_own_log_agree_with_a_jackknife(method):
    """Lists are estimated and the curve is learned without one user at a time."""
    log, runs = made(sessions=900, per_user=15)
    log = of(method, log)
    whole = ask(log, runs, method)
    values, lifts = [], []
    for user in range(60):
        left = log.filter(pl.col("user") != user)
        lists = {name: run.join(left, on="session", how="semi") for name, run in runs.items()}
        found = ask(left, lists, method)
        values.append([e.value for e in found.estimates])
        lifts.append([c.lift for c in found.comparisons])
    plain = [n for n, c in enumerate(whole.comparisons) if "clip" not in c.estimator]
    half = t.ppf(0.975, 59)  # clipped ones have what clipping may lose in their ends
    for again, told in (
        (values, [e.se for e in whole.estimates]),
        (
            np.array(lifts)[:, plain],
            [(c.lift_high - c.lift_low) / 2 / half for c in np.array(whole.comparisons)[plain]],
        ),
    ):
        spread = np.sqrt(59 / 60 * np.sum((again - np.mean(again, axis=0)) ** 2, axis=0))
        # the reward model and how clipping falls move, too; the curve would be a half and more
        assert np.array(told) / spread == pytest.approx(1, abs=0.12)


def test_a_curve_of_another_log_adds_its_covariance():
    r"""se^2 = plain se^2 + g' S g, with slopes g by moving one rank of the table at a time."""
    log, runs = made()
    model = cr.exposure(made(seed=1)[0], method="views").model
    found = ask(log, runs, model)
    table = str(model)
    plain = ask(log, runs, table)
    step, slopes = 1e-5, {}
    for k in range(4):
        ends = []
        for way in (1, -1):
            moved = np.array(model.weights)
            moved[k] += way * step
            label = f"table({','.join(map(repr, moved.tolist()))})"
            ends.append({n: e.value for n, e in rows(ask(log, runs, label)).items()})
        for name in ends[0]:
            slopes.setdefault(name, []).append((ends[0][name] - ends[1][name]) / (2 * step))
    covariance = model.error.covariance
    for name, row in rows(found).items():
        g = np.array(slopes[name])
        expected = np.sqrt(rows(plain)[name].se ** 2 + g @ covariance @ g)
        # the test refits the reward model, which the slopes leave as it is
        assert row.se == pytest.approx(expected, rel=1e-3 if name == "DR" else 1e-6)
        assert row.value == rows(plain)[name].value
    again = ask(log, runs, model, interval="bootstrap", resamples=2000)
    for name, row in rows(again).items():
        if "clip" in name:  # what clipping may lose is in its ends
            continue
        width = (row.high - row.low) / (2 * 1.96 * rows(found)[name].se)
        assert width == pytest.approx(1, abs=0.12)


def test_what_two_rankers_share_of_the_error_goes_out_of_their_difference():
    log, runs = made()
    model = cr.exposure(made(seed=1)[0], method="views").model
    same = {"a": runs["far"], "b": runs["far"]}
    for bias in (model, "views"):
        found = ask(log, same, bias, baseline="a", estimator="SNIPS")
        assert found.comparisons[0].se == 0


@pytest.mark.parametrize("bias", ["views", "harvest", "em"])
def test_moments_and_partitions_agree_with_memory(bias, tmp_path):
    log, runs = made()
    log = of(bias, log)
    whole = ask(log, runs, bias)
    engine = Local(partitions=5, scratch=str(tmp_path))
    for found in (ask(log, runs, bias, inference="moments"), ask(log, runs, bias, engine=engine)):
        for a, b in zip(found.estimates, whole.estimates, strict=True):
            assert (a.value, a.se) == pytest.approx((b.value, b.se), rel=1e-9)
        for a, b in zip(found.comparisons, whole.comparisons, strict=True):
            assert (a.lift_low, a.se) == pytest.approx((b.lift_low, b.se), rel=1e-9)


def test_sessions_sampled_for_slopes_stand_for_all(monkeypatch):
    from counterrank.ope import curve_error

    log, runs = made(sessions=3000)
    whole = rows(ask(log, runs, "views"))
    monkeypatch.setattr(curve_error, "MOST", 12_000 * 4 // 2)
    for name, row in rows(ask(log, runs, "views")).items():
        assert row.value == whole[name].value
        assert row.se == pytest.approx(whole[name].se, rel=0.05)
        assert row.se != whole[name].se


def state(result):
    return next(d for d in result.diagnostics if d.name == "curve error")


@pytest.mark.parametrize("method", ["views", "harvest"])
@pytest.mark.parametrize("model", ["table", "power"])
def test_a_file_of_this_log_is_learned_once_more(method, model, tmp_path):
    log, runs = made()
    log = of(method, log)
    log.write_parquet(tmp_path / "log.parquet")
    options = {"method": method, "model": model, "context": ["query"], "reward": "click"}
    for table in (tmp_path / "log.parquet", log):
        found = cr.exposure(table, **options)
        (tmp_path / "curve.json").write_text(found.to_json())
        saved = position_bias(tmp_path / "curve.json")
        assert str(saved) == str(found.model)
        assert np.array_equal(saved.error.covariance, found.model.error.covariance)
        same = ask(log, runs, tmp_path / "curve.json")
        assert "this log" in state(same).meaning
        if model == "table":
            word = ask(log, runs, method)
            assert [e.se for e in same.estimates] == [e.se for e in word.estimates]
        assert [e.se for e in ask(log, runs, found.model).estimates] == [
            e.se for e in same.estimates
        ]
    other, lists = made(seed=4)
    assert "another log" in state(ask(of(method, other), lists, found.model)).meaning


def test_what_files_do_not_say_is_untested(tmp_path):
    log, runs = made()
    found = cr.exposure(log, method="views")
    path = tmp_path / "curve.json"
    path.write_text(found.to_json())
    document = json.loads(path.read_text())
    del document["tables"]["covariance"]
    path.write_text(json.dumps(document))
    old = ask(log, runs, path)
    assert state(old).state == "untested"
    assert "too narrow" in state(old).meaning
    plain = ask(log, runs, str(found.model))
    assert [e.se for e in old.estimates] == [e.se for e in plain.estimates]
    assert not [d for d in plain.diagnostics if d.name == "curve error"]
    for broken, hint in (
        ({"version": 9}, "version 1"),
        ({"version": 1, "curves": [{"context": "", "parameters": ["weights"], "clusters": 3,
                                    "matrix": [[1.0]]}]}, "not that of its parameters"),
    ):  # fmt: skip
        document["tables"]["covariance"] = broken
        path.write_text(json.dumps(document))
        with pytest.raises(cr.InputError, match=hint):
            ask(log, runs, path)


def test_a_rough_curve_is_said_to_be_rough():
    log, runs = made()
    assert state(ask(log, runs, "views")).state == "pass"
    few = cr.exposure(made(sessions=40, seed=3)[0], method="views").model
    rough = state(ask(log, runs, few))
    assert rough.state in ("pass", "caution")
    thin = position_bias("table(0.9,0.6,0.4,0.3)").with_error(few.error)
    object.__setattr__(thin.error, "covariance", np.eye(4) * 0.04)
    assert state(ask(log, runs, thin)).state == "caution"


def test_curves_by_context_each_have_their_error():
    log, runs = made(sessions=1200)
    log = log.with_columns(device=pl.when(pl.col("session") % 3 == 0).then(pl.lit("tv"))
                           .otherwise(pl.lit("phone")))  # fmt: skip
    model = cr.exposure(log, method="views", by="device").model
    plain = rows(ask(log, runs, str(model)))
    same = rows(ask(log, runs, model))
    shifted = log.with_columns(session=pl.col("session") + 1200)
    lists = {n: r.with_columns(session=pl.col("session") + 1200) for n, r in runs.items()}
    other = rows(ask(shifted, lists, model))
    assert other["SNIPS"].se > plain["SNIPS"].se
    assert same["IPS"].se < plain["IPS"].se  # views and clicks go together
    assert same["IPS"].value == plain["IPS"].value
