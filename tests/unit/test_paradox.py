"""The paradox audit: planted paradoxes are found and named, p-values are those of the formulas."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_rel

from counterrank.errors import CounterrankError
from counterrank.stratified import Blend, Face, audited, paired, paradoxes


def faces(values, feedback, *, weight=None, there=None):
    """Holdout, strata and blend of per-user values (strata x systems x users).

    ``weight`` says how much of a user's overall value each stratum makes up; ``there`` which users
    count in each stratum (strata x users).
    """
    strata, _, users = values.shape
    weight = np.full(strata, 1 / strata) if weight is None else np.asarray(weight)
    there = np.ones((strata, users)) if there is None else there
    each = [Face(f"Q{q + 1}", values[q] * there[q], there[q].astype(float)) for q in range(strata)]
    blend = Blend("stratified", each, np.asarray(feedback, float))
    return Face("holdout", np.tensordot(weight, values, 1), np.ones(users)), each, blend


def planted(rng, users=400, feedback=(9, 1)):
    """head leads in the small stratum by much, tail in the large one by little; others dull."""
    quality = {"head": (0.30, 0.90), "tail": (0.40, 0.50), "low": (0.10, 0.10), "dim": (0.2, 0.2)}
    means = np.array(list(quality.values())).T[:, :, None]
    values = means + 0.1 * rng.normal(size=(2, 4, users))
    return list(quality), values, np.tile(np.array(feedback)[:, None], users)


def test_a_planted_paradox_is_found_and_named():
    names, values, feedback = planted(np.random.default_rng(0))
    audit = paradoxes([audited(names, "nDCG@10", *faces(values, feedback))])
    (found,) = audit.paradoxes
    assert (found.measure, found.ahead, found.behind) == ("nDCG@10", "head", "tail")
    assert found.p_corrected < 0.001
    assert found.share_reversed == pytest.approx(0.9)
    assert found.difference > 0 > found.strata[0].difference
    assert found.low < found.difference < found.high
    assert [(s.name, s.share) for s in found.strata] == [("Q1", 0.9), ("Q2", 0.1)]
    assert (audit.tested, audit.unproven) == (6, 0)
    for word in ("head", "tail", "nDCG@10", "Q1", "90 %"):
        assert word in found.sentence
    assert "Q2" not in found.sentence


def test_the_stratified_value_decides_what_is_lost():
    rng = np.random.default_rng(1)
    names, values, feedback = planted(rng, feedback=(19, 1))
    holdout, strata, blend = faces(values, feedback)
    (found,) = paradoxes([audited(names, "P@5", holdout, strata, blend)]).paradoxes
    assert found.stratified == "reversed"
    assert found.loss == pytest.approx(1 - blend.value[0] / blend.value[1])
    assert "reversed too" in found.sentence
    names, values, feedback = planted(rng, feedback=(6, 4))
    (found,) = paradoxes([audited(names, "P@5", *faces(values, feedback))]).paradoxes
    assert (found.stratified, found.loss) == ("confirmed", 0)
    assert "keeps the overall order" in found.sentence


def test_worst_decisions_first_and_measures_are_one_family():
    rng = np.random.default_rng(2)
    all_of_them = []
    for measure, feedback in (("mild", (8, 2)), ("grave", (99, 1))):
        names, values, weights = planted(rng, feedback=feedback)
        all_of_them.append(audited(names, measure, *faces(values, weights)))
    audit = paradoxes(all_of_them)
    assert [row.measure for row in audit.paradoxes] == ["grave", "mild"]
    assert audit.paradoxes[0].loss > audit.paradoxes[1].loss
    assert audit.tested == 12
    alone = paradoxes(all_of_them[:1]).paradoxes[0]
    assert audit.paradoxes[1].p_corrected >= alone.p_corrected


def test_p_values_are_those_of_paired_t_tests():
    rng = np.random.default_rng(3)
    systems, users = 5, 40
    values = rng.normal(size=(3, systems, 1)) * 0.2 + rng.normal(size=(3, systems, users))
    there = rng.random((3, users)) < 0.7
    holdout, strata, blend = faces(values, np.ones((3, users)), there=there)
    a, b = np.triu_indices(systems, 1)
    overall, each = paired(holdout, a, b), [paired(face, a, b) for face in strata]
    for j, (x, y) in enumerate(combinations(range(systems), 2)):
        expected = ttest_rel(holdout.top[x], holdout.top[y])
        assert overall.p[j] == pytest.approx(expected.pvalue, rel=1e-9)
        low, high = expected.confidence_interval(0.9)
        assert overall.difference[j] - overall.half(0.9)[j] == pytest.approx(low, rel=1e-9)
        assert overall.difference[j] + overall.half(0.9)[j] == pytest.approx(high, rel=1e-9)
        for q in range(3):
            d = (values[q, x] - values[q, y])[there[q]]
            assert each[q].p[j] == pytest.approx(ttest_1samp(d, 0).pvalue, rel=1e-9)
    stratified = paired(blend, a, b)
    psi = blend.influence[a] - blend.influence[b]
    se = psi.std(axis=1, ddof=1) / math.sqrt(users)
    assert stratified.se == pytest.approx(se, rel=1e-9)


def plain_p(overall, each, share):
    """The p of a paradox, one pair at a time, by going through all sets of strata."""
    if overall.statistic == 0:
        return 1.0
    p = [t.pvalue if t.statistic * overall.statistic < 0 else 1.0 for t in each]
    sets = [s for n in range(1, len(p) + 1) for s in combinations(range(len(p)), n)]
    large = [s for s in sets if sum(share[list(s)]) > 0.5 + 1e-9]
    reaching = [s for s in sets if sum(share[list(s)]) >= 0.5 - 1e-9]
    smallest = [s for s in reaching if not any(set(o) < set(s) for o in reaching)]
    tries = max(len(s) for s in smallest)
    return max(overall.pvalue, min(1, tries * min(max(p[q] for q in s) for s in large)))


@pytest.mark.parametrize("share", [(0.9, 0.1), (0.5, 0.5), (0.4, 0.35, 0.25), (0.25,) * 4])
def test_the_p_of_a_paradox_by_brute_force(share):
    rng = np.random.default_rng(4)
    share = np.array(share)
    strata, users = len(share), 25
    met = 0
    for _ in range(5):
        shift = rng.normal(size=(strata, 6, 1)) * 0.8
        values = shift + rng.normal(size=(strata, 6, users))
        feedback = np.tile(share[:, None], users)
        weight = rng.normal(0.3, 1, size=strata)  # any, so that all kinds of reversal occur
        holdout, each, blend = faces(values, feedback, weight=weight)
        got = audited(list("abcdef"), "m", holdout, each, blend)
        for j, (x, y) in enumerate(zip(got.ahead, got.behind, strict=True)):
            overall = ttest_rel(holdout.top[x], holdout.top[y])
            expected = plain_p(overall, [ttest_rel(f.top[x], f.top[y]) for f in each], share)
            assert got.p[j] == pytest.approx(expected, rel=1e-8)
            met += expected < 1
    assert met > 5


def test_lower_is_better():
    names, values, feedback = planted(np.random.default_rng(0))
    up = paradoxes([audited(names, "m", *faces(values, feedback))]).paradoxes
    down = paradoxes([audited(names, "m", *faces(1 - values, feedback), better="lower")]).paradoxes
    assert [(r.ahead, r.behind) for r in up] == [(r.ahead, r.behind) for r in down]
    assert down[0].p == pytest.approx(up[0].p)
    assert down[0].difference == pytest.approx(-up[0].difference)


def kidney_stones(worked, times):
    """Patients as users: who was not given a treatment has no outcome under it (weight 0)."""
    counts = worked["kidney_stones"]["counts"]
    outcome, given, size = [], [], []
    for treatment, rows in counts.items():
        for q, (cured, treated) in enumerate(rows.values()):
            outcome += ([1] * cured + [0] * (treated - cured)) * times
            given += [treatment] * treated * times
            size += [q] * treated * times
    outcome, given, size = np.array(outcome), np.array(given), np.array(size)

    def weighted(part):
        return np.stack(
            [outcome * part * (given == t) * part.sum() / (part & (given == t)).sum()
             for t in counts]
        )  # fmt: skip

    everyone, parts = np.ones(len(size), bool), [size == q for q in range(2)]
    strata = [
        Face(name, weighted(part), part.astype(float))
        for name, part in zip(("small", "large"), parts, strict=True)
    ]
    holdout = Face("holdout", weighted(everyone), everyone.astype(float))
    return holdout, strata, Blend("stratified", strata, np.array(parts, float))


def test_kidney_stones(golden):
    worked = json.loads((golden / "analytic.json").read_text())
    few = kidney_stones(worked, 1)
    assert few[0].value == pytest.approx([273 / 350, 289 / 350])
    assert few[2].value == pytest.approx([0.8325, 0.7789], abs=5e-5)
    silent = paradoxes([audited(["A", "B"], "cured", *few)])
    assert (silent.paradoxes, silent.unproven, silent.value_flips) == ([], 1, 1)
    (found,) = paradoxes([audited(["A", "B"], "cured", *kidney_stones(worked, 60))]).paradoxes
    assert (found.ahead, found.behind, found.share_reversed) == ("B", "A", 1)
    assert "small and large, which hold 100 % of the feedback" in found.sentence
    assert found.stratified == "reversed"


def test_equal_systems_rounding_and_empty_strata():
    rng = np.random.default_rng(5)
    names, values, feedback = planted(rng)
    values[:, 3] = values[:, 0] * (1 + 1e-15)  # the same system but for rounding
    holdout, strata, blend = faces(values, feedback)
    got = audited(names, "m", holdout, strata, blend)
    same = (np.minimum(got.ahead, got.behind) == 0) & (np.maximum(got.ahead, got.behind) == 3)
    assert got.p[same] == 1
    assert not got.flips[same].any()
    nobody = Face("Q3", np.zeros((4, 400)), np.zeros(400))
    wider = Blend("stratified", [*strata, nobody], np.vstack([feedback, np.ones(400)]))
    audit = paradoxes([audited(names, "m", holdout, wider.faces, wider)])
    assert {(r.ahead, r.behind) for r in audit.paradoxes} == {("head", "tail"), ("dim", "tail")}
    assert all(r.stratified == "not separated" for r in audit.paradoxes)


def test_one_user_proves_nothing():
    names, values, feedback = planted(np.random.default_rng(6), users=1)
    audit = paradoxes([audited(names, "m", *faces(values, feedback))])
    assert (audit.paradoxes, audit.unproven) == ([], 1)


def test_nothing_to_audit():
    assert paradoxes([]).paradoxes == []
    names, values, feedback = planted(np.random.default_rng(0))
    holdout, strata, blend = faces(values[:, :1], feedback)
    assert paradoxes([audited(names[:1], "m", holdout, strata, blend)]).tested == 0
    with pytest.raises(CounterrankError, match="needs its feedback"):
        audited(names[:1], "m", holdout, strata[:1], blend)
    with pytest.raises(CounterrankError, match="cannot be"):
        paradoxes([], correction="tukey")
    with pytest.raises(CounterrankError, match="cannot be"):
        audited(names[:1], "m", holdout, strata, blend, better="more")


def test_corrections_differ():
    rng = np.random.default_rng(8)
    names, values, feedback = planted(rng, users=9)
    tables = [audited(names, str(n), *faces(values, feedback)) for n in range(6)]
    p = {
        word: sum(row.p_corrected for row in paradoxes(tables, correction=word, level=0).paradoxes)
        for word in ("none", "bh", "holm")
    }
    assert p["none"] < p["bh"] < p["holm"]
