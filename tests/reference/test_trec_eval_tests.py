"""trec_eval's own self-test: its inputs, its printed outputs (four decimals)."""

from __future__ import annotations

import re

import pytest

import counterrank as cr

WHOLE = {
    "map": "AP", "Rprec": "Rprec", "bpref": "Bpref", "recip_rank": "RR", "ndcg": "nDCG(ideal=all)",
    "set_P": "P(over=listed)", "set_recall": "Recall", "set_F": "F1(over=listed)",
    "infAP": "InfAP(variant=trec)", "gm_map": "AP(mean=geometric)",
    "gm_bpref": "Bpref(mean=geometric)",
}  # fmt: skip
CUT = {"P": "P", "recall": "Recall", "map_cut": "AP", "ndcg_cut": "nDCG", "success": "Success"}

RUNS = [
    # output, judgments, run, level, keep only the first k, policy for missing topics
    ("out.test", "qrels.test", "results.test", 1, None, "skip"),
    ("out.test", "qrels.test.with-comments", "results.test", 1, None, "skip"),
    ("out.comment.test", "qrels.comment.test", "results.comment.test", 1, None, "skip"),
    ("out.test.a", "qrels.test", "results.test", 1, None, "skip"),
    ("out.test.aq", "qrels.test", "results.test", 1, None, "skip"),
    ("out.test.aqc", "qrels.test", "results.trunc", 1, None, "zero"),
    ("out.test.aqcM", "qrels.test", "results.trunc", 1, 100, "zero"),
    ("out.test.aql", "qrels.rel_level", "results.test", 2, None, "skip"),
]


def label(name: str, level: int, most: int | None) -> str | None:
    """Our label for a line of theirs, cut at ``most`` where they keep only that many."""
    cut = most
    if name in WHOLE:
        text = WHOLE[name]
    elif name.rpartition("_")[0] in CUT and name.rpartition("_")[2].isdigit():
        text, cut = CUT[name.rpartition("_")[0]], int(name.rpartition("_")[2])
        if most is not None and cut > most:
            return None  # divides by the larger cut-off, looks at the smaller
    else:
        return None
    if level != 1 and not text.startswith("nDCG"):
        text = text[:-1] + f",rel={level})" if "(" in text else f"{text}(rel={level})"
    return text + (f"@{cut}" if cut else "")


def lines(path):
    for line in path.read_text().splitlines():
        name, topic, number = line.split("\t")[:3]
        if re.fullmatch(r"-?\d+(\.\d+)?", number):
            yield name.strip(), topic, float(number)


@pytest.mark.parametrize("version", [".", "expected-9.0.8"])
@pytest.mark.parametrize("case", RUNS, ids=lambda c: f"{c[0]}-{c[1]}")
def test_printed_values(data, case, version):
    output, judgments, run, level, most, missing = case
    folder = data / "trec-eval-tests"
    path = folder / version / output
    if not path.exists():
        assert output == "out.comment.test"  # new in version 10
        path = folder / output
    expected = [(label(n, level, most), t, v) for n, t, v in lines(path) if label(n, level, most)]
    wanted = sorted({name for name, _, _ in expected})
    result = cr.evaluate(
        str(folder / judgments), {"run": str(folder / run)}, measure=wanted, test="none",
        missing=missing,
    )  # fmt: skip
    means = {e.measure: e.value for e in result.estimates}
    frame = result.by_unit()
    units = {
        (u, m): x for u, m, x in zip(frame["unit"], frame["measure"], frame["value"], strict=True)
    }
    assert len(expected) >= 14
    for name, topic, number in expected:
        got = (
            means[str(cr.measure(name))] if topic == "all" else units[topic, str(cr.measure(name))]
        )
        assert got == pytest.approx(number, abs=5.001e-5), (name, topic)
