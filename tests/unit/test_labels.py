"""The grammar of labels."""

from __future__ import annotations

import pytest

import counterrank as cr
from counterrank.metrics import AP, DCG, RBP, nDCG
from counterrank.position import Geometric, WeightTable


def test_python_and_text_are_the_same_value():
    assert nDCG(gain="exp") @ 10 == cr.measure("nDCG(gain=exp)@10")
    assert str(nDCG(gain="exp") @ 10) == "nDCG(gain=exp)@10"
    assert cr.measure("DCG(discount=geometric(p=0.9))@5") == DCG(discount=Geometric(0.9), k=5)
    assert cr.measure("DCG(discount=table(1,0.5))") == DCG(discount=WeightTable((1.0, 0.5)))
    assert str(DCG(discount=WeightTable((1.0, 0.5)))) == "DCG(discount=table(1,0.5))"


def test_defaults_are_left_out():
    assert str(cr.measure("AP(rel=1,over=all,mean=arithmetic)@10")) == "AP@10"
    assert str(RBP(p=0.5)) == "RBP(p=0.5)"
    assert str(cr.measure("nDCG(discount=power)")) == "nDCG(discount=power)"
    assert str(cr.measure("AP(rel=3.5)")) == "AP(rel=3.5)"


def test_aliases_and_case():
    assert cr.measure("MAP@5") == AP(k=5)
    assert cr.measure("ndcg@5") == nDCG(k=5)
    assert str(cr.measure("mrr")) == "RR"
    assert cr.measure(" nDCG( gain = exp ) @ 10 ") == nDCG(gain="exp", k=10)


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("nDGC@10", 'Did you mean "nDCG"?'),
        ("nDCG@", "whole number"),
        ("nDCG@0", "from 1"),
        ("nDCG@-3", "whole number"),
        ("nDCG@1.5", "whole number"),
        ("nDCG(", "at its end"),
        ("nDCG)", "character 5"),
        ("nDCG(gain=exp", "at its end"),
        ("nDCG(gain=cubic)", "linear, exp, binary"),
        ("nDCG(gian=exp)", 'Did you mean "gain"?'),
        ("nDCG(gain=2)", "takes a word"),
        ("AP(rel=high)", "takes a number"),
        ("AP(4)", "without its option"),
        ("AP(rel=1,rel=2)", "twice"),
        ("AP(mean=median)", "arithmetic, geometric"),
        ("AP(floor=0)", "between 0 and 1"),
        ("DCG(discount=log3)", "not a position model"),
        ("DCG(discount=geometric(p=1))", "between 0 and 1"),
        ("DCG(discount=jarvelin(base=1))", "more than 1"),
        ("DCG(discount=table(-1))", "0 or more"),
        ("RBP(p=2)", "between 0 and 1"),
        ("ERR(top=max)", "a number"),
        ("pnDCG(mean=geometric)", "no geometric form"),
        ("", "at its end"),
        ("10@nDCG", "character 1"),
        ("nDCG@10 P@5", "character"),
    ],
)
def test_bad_labels_say_why(label, hint):
    with pytest.raises(cr.UsageError) as caught:
        cr.measure(label)
    assert hint in str(caught.value)


def test_rating_above_the_given_top_is_refused():
    from making import judgments, run, value

    with pytest.raises(cr.UsageError, match="greatest is 5"):
        value(judgments({"u": {"a": 5}}), run({"u": ["a"]}), "ERR(top=4)")
