"""The paradox audit: planted paradoxes are found and named, p-values are those of the formulas."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import ttest_1samp, ttest_rel

from counterrank.core.errors import CounterrankError
from counterrank.stats.inference import Differences, differences
from counterrank.stratified.paradox import Candidates, audit_pairs, paradoxes
from making import ratios, stratified


def methods(values, feedback, *, weight=None, there=None):
    """Holdout, strata, stratified and shares of per-user values (strata x systems x users).

    ``weight`` says how much of a user's overall value each stratum makes up; ``there`` which users
    count in each stratum (strata x users).
    """
    strata, _, users = values.shape
    weight = np.full(strata, 1 / strata) if weight is None else np.asarray(weight)
    there = np.ones((strata, users)) if there is None else there
    each = {f"Q{q + 1}": ratios(values[q], there[q]) for q in range(strata)}
    feedback = np.asarray(feedback, float)
    whole = ratios(np.tensordot(weight, values, 1))
    share = feedback.sum(axis=1) / feedback.sum()
    return whole, each, stratified(values, there, feedback), share


def audited(names, measure, holdout, strata, value, share, **options):
    return audit_pairs(names, measure, holdout, strata, value, share=share, **options)


def planted(rng, users=400, feedback=(9, 1)):
    """head leads in the small stratum by much, tail in the large one by little; others dull."""
    quality = {"head": (0.30, 0.90), "tail": (0.40, 0.50), "low": (0.10, 0.10), "dim": (0.2, 0.2)}
    means = np.array(list(quality.values())).T[:, :, None]
    values = means + 0.1 * rng.normal(size=(2, 4, users))
    return list(quality), values, np.tile(np.array(feedback)[:, None], users)


def test_a_planted_paradox_is_found_and_named():
    names, values, feedback = planted(np.random.default_rng(0))
    audit = paradoxes([audited(names, "nDCG@10", *methods(values, feedback))])
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
    own = methods(values, feedback)
    (found,) = paradoxes([audited(names, "P@5", *own)]).paradoxes
    assert found.stratified == "reversed"
    assert found.loss == pytest.approx(1 - own[2][0].value / own[2][1].value)
    assert "reversed too" in found.sentence
    names, values, feedback = planted(rng, feedback=(6, 4))
    (found,) = paradoxes([audited(names, "P@5", *methods(values, feedback))]).paradoxes
    assert (found.stratified, found.loss) == ("confirmed", 0)
    assert "keeps the overall order" in found.sentence


def test_worst_decisions_first_and_measures_are_one_family():
    rng = np.random.default_rng(2)
    all_of_them = []
    for measure, feedback in (("mild", (8, 2)), ("grave", (99, 1))):
        names, values, weights = planted(rng, feedback=feedback)
        all_of_them.append(audited(names, measure, *methods(values, weights)))
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
    holdout, strata, value, _ = methods(values, np.ones((3, users)), there=there)
    a, b = np.triu_indices(systems, 1)
    overall, each = differences(holdout, a, b), [differences(x, a, b) for x in strata.values()]
    whole = values.mean(axis=0)
    for j, (x, y) in enumerate(combinations(range(systems), 2)):
        expected = ttest_rel(whole[x], whole[y])
        assert overall.p[j] == pytest.approx(expected.pvalue, rel=1e-9)
        low, high = expected.confidence_interval(0.9)
        assert overall.value[j] - overall.half(0.9)[j] == pytest.approx(low, rel=1e-9)
        assert overall.value[j] + overall.half(0.9)[j] == pytest.approx(high, rel=1e-9)
        for q in range(3):
            d = (values[q, x] - values[q, y])[there[q]]
            assert each[q].p[j] == pytest.approx(ttest_1samp(d, 0).pvalue, rel=1e-9)
    influence = np.stack([e.influence for e in value])
    se = (influence[a] - influence[b]).std(axis=1, ddof=1) / math.sqrt(users)
    assert differences(value, a, b).se == pytest.approx(se, rel=1e-9)


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
        whole = np.tensordot(weight, values, 1)
        got = audited(list("abcdef"), "m", *methods(values, feedback, weight=weight))
        for j, (x, y) in enumerate(zip(got.ahead, got.behind, strict=True)):
            overall = ttest_rel(whole[x], whole[y])
            expected = plain_p(overall, [ttest_rel(own[x], own[y]) for own in values], share)
            assert got.p[j] == pytest.approx(expected, rel=1e-8)
            met += expected < 1
    assert met > 5


def test_the_p_of_a_paradox_by_hand():
    def one(sign, p):
        """A difference with this p."""
        return Differences(np.array([-sign * stdtrit(99, p / 2)]), np.ones(1), 99.0)

    got = Candidates(
        measure="m",
        systems=["a", "b"],
        share=np.array([0.5, 0.3, 0.2]),
        sign=1,
        ahead=np.array([0]),
        behind=np.array([1]),
        overall=one(1, 0.004),
        strata={"Q1": one(-1, 0.01), "Q2": one(-1, 0.2), "Q3": one(-1, 0.001)},
        stratified=one(-1, 0.03),
        values=(np.zeros(2), np.zeros(2)),
    )
    assert got.p == pytest.approx(0.02)
    assert got.p_value == pytest.approx(0.03)


def test_lower_is_better():
    names, values, feedback = planted(np.random.default_rng(0))
    up = paradoxes([audited(names, "m", *methods(values, feedback))]).paradoxes
    down = paradoxes(
        [audited(names, "m", *methods(1 - values, feedback), better="lower")]
    ).paradoxes
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

    parts = np.array([size == q for q in range(2)])
    values = np.stack([weighted(part) for part in parts])
    strata = {name: ratios(values[q], parts[q]) for q, name in enumerate(("small", "large"))}
    holdout = ratios(weighted(np.ones(len(size), bool)))
    return holdout, strata, stratified(values, parts, parts), parts.sum(axis=1) / len(size)


def test_kidney_stones(golden):
    worked = json.loads((golden / "analytic.json").read_text())
    few = kidney_stones(worked, 1)
    assert [e.value for e in few[0]] == pytest.approx([273 / 350, 289 / 350])
    assert [e.value for e in few[2]] == pytest.approx([0.8325, 0.7789], abs=5e-5)
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
    got = audited(names, "m", *methods(values, feedback))
    same = (np.minimum(got.ahead, got.behind) == 0) & (np.maximum(got.ahead, got.behind) == 3)
    assert got.p[same] == 1
    assert not got.flips[same].any()


def test_nobody_in_a_stratum_proves_nothing_there():
    names, values, feedback = planted(np.random.default_rng(5))
    holdout, strata, value, _ = methods(values, feedback)
    wider = strata | {"Q3": ratios(np.zeros((4, 400)), np.zeros(400))}
    share = np.array([9, 1, 1]) / 11
    audit = paradoxes([audited(names, "m", holdout, wider, value, share)])
    assert {(r.ahead, r.behind) for r in audit.paradoxes} == {("head", "tail")}
    assert math.isnan(audit.paradoxes[0].strata[2].difference)


def test_feedback_without_a_value_counts_as_not_reversed():
    names, values, feedback = planted(np.random.default_rng(7))
    *own, _ = methods(values, feedback)
    for share, many in (((0.6, 0.1), 1), ((0.45, 0.05), 0)):
        audit = paradoxes([audited(names, "m", *own, np.array(share))])
        assert (len(audit.paradoxes), audit.unproven) == (many, 0)
    with pytest.raises(CounterrankError, match="needs its feedback"):
        audited(names, "m", *own, np.ones(1))


def test_few_users_who_all_differ_alike_prove_little():
    top = np.array([[0.5, 0.25, 0.75], [0.25, 0.0, 0.5]])
    got = differences(ratios(top), np.array([0]), np.array([1]))
    assert (got.value, got.se, got.p) == (0.25, 0, 0.25)


def test_one_user_proves_nothing():
    names, values, feedback = planted(np.random.default_rng(6), users=1)
    audit = paradoxes([audited(names, "m", *methods(values, feedback))])
    assert (audit.paradoxes, audit.unproven) == ([], 1)


def test_nothing_to_audit():
    assert paradoxes([]).paradoxes == []
    names, values, feedback = planted(np.random.default_rng(0))
    own = methods(values[:, :1], feedback)
    assert paradoxes([audited(names[:1], "m", *own)]).tested == 0
    with pytest.raises(CounterrankError, match="cannot be"):
        paradoxes([], correction="tukey")
    with pytest.raises(CounterrankError, match="cannot be"):
        audited(names[:1], "m", *own, better="more")


def test_corrections_differ():
    rng = np.random.default_rng(8)
    names, values, feedback = planted(rng, users=9)
    tables = [audited(names, str(n), *methods(values, feedback)) for n in range(6)]
    p = {
        word: sum(row.p_corrected for row in paradoxes(tables, correction=word, level=0).paradoxes)
        for word in ("none", "bh", "holm")
    }
    assert p["none"] < p["bh"] < p["holm"]
