"""Random runs against the C code of trec_eval: ties, negatives, missing users, odd ids."""

from __future__ import annotations

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import counterrank as cr
from making import judgments, scored

NAMES = {
    "map": "AP(rel={l})", "Rprec": "Rprec(rel={l})", "bpref": "Bpref(rel={l})",
    "recip_rank": "RR(rel={l})", "ndcg": "nDCG(ideal=all)", "set_P": "P(over=listed,rel={l})",
    "set_recall": "Recall(rel={l})", "set_F": "F1(over=listed,rel={l})",
    "infAP": "InfAP(variant=trec,rel={l})", "P_3": "P(rel={l})@3", "recall_3": "Recall(rel={l})@3",
    "map_cut_3": "AP(rel={l})@3", "ndcg_cut_3": "nDCG@3", "success_3": "Success(rel={l})@3",
}  # fmt: skip
ASKED = {
    "map", "Rprec", "bpref", "recip_rank", "ndcg", "set_P", "set_recall", "set_F", "infAP", "P.3",
    "recall.3", "map_cut.3", "ndcg_cut.3", "success.3",
}  # fmt: skip

ids = st.sampled_from(
    ["a", "B", "é", "z", "Z", "10", "9", "日本", "ß", "a#b", "aa", "à", "𝄞", "item-1", "item-10"]
)
users = st.sampled_from(["u1", "u2", "ü3", "4"])
# pytrec_eval 0.5.11 crashes on a user whose judgments are all 0; the plain formulas cover that.
rated = st.dictionaries(ids, st.integers(-2, 4), min_size=1).filter(lambda r: max(r.values()) > 0)
truths = st.dictionaries(users, rated, min_size=1)
scores = st.sampled_from([0.0, -0.0, 1.0, 0.5, 0.1 + 0.2, 0.3, -3.0, 1e-12, 7.0])
lists = st.dictionaries(users, st.dictionaries(ids, scores, min_size=1), min_size=1)


@settings(max_examples=100, deadline=None)
@given(truth=truths, run=lists, level=st.integers(1, 3))
def test_equal_per_user(truth, run, level):
    shared = truth.keys() & run.keys()
    if not shared:
        return
    theirs = pytrec_eval.RelevanceEvaluator(truth, ASKED, relevance_level=level).evaluate(run)
    table = scored({u: list(items.items()) for u, items in run.items()})
    labels = {n: str(cr.measure(text.format(l=level))) for n, text in NAMES.items()}
    result = cr.evaluate(
        judgments(truth), {"run": table}, measure=list(labels.values()), test="none", ties="id32",
        missing="skip",
    )  # fmt: skip
    frame = result.by_unit()
    ours = {
        (u, m): x for u, m, x in zip(frame["unit"], frame["measure"], frame["value"], strict=True)
    }
    assert {u for u, _ in ours} == shared
    for user in shared:
        for name, text in labels.items():
            assert ours[user, text] == pytest.approx(theirs[user][name], abs=1e-9), (user, name)
