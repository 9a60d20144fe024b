"""Every measure equals trec_eval 9.0.8 and rec_eval, user by user, on the golden cases."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import counterrank as cr

WHOLE = {
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "recip_rank": "RR",
    "ndcg": "nDCG(ideal=all{})",
    "set_P": "P(over=listed{})",
    "set_recall": "Recall",
    "set_F": "F1(over=listed{})",
    "err": "ERR(top=user)",
    "infAP": "InfAP(variant=trec{})",
    "infAP2": "InfAP",
}
CUT = {"P": "P", "recall": "Recall", "map_cut": "AP", "ndcg_cut": "nDCG", "success": "Success"}
GRADED = ("nDCG", "ERR")


def label(measure: str, level: int) -> str | None:
    """Our label for a name of theirs; the level is ours as rel."""
    name, _, cut = measure.partition("@")
    mean = ""
    if name == "gm_infAP":
        return None  # rec_eval prints trec_eval's infAP, an arithmetic mean, under this name
    if name.startswith("gm_"):
        name, mean = name.removeprefix("gm_"), "mean=geometric"
    if name in WHOLE:
        text = WHOLE[name]
    elif name.rpartition("_")[0] in CUT and name.rpartition("_")[2].isdigit():
        text, cut = CUT[name.rpartition("_")[0]], name.rpartition("_")[2]
    else:
        return None
    options = [] if text.startswith(GRADED) else [f"rel={level}"]
    options += [mean] if mean else []
    if "{}" in text:
        text = text.format("".join("," + o for o in options))
    elif "(" in text:
        text = text[:-1] + "".join("," + o for o in options) + ")"
    elif options:
        text += f"({','.join(options)})"
    return str(cr.measure(text + (f"@{cut}" if cut else "")))


def cases(folder: Path) -> list[Path]:
    return sorted(p.parent for p in folder.glob("*/qrels.txt"))


def test_every_case_and_column(golden):
    checked = 0
    for case in cases(golden):
        rows = list(
            csv.DictReader((case / "expected.tsv").read_text().splitlines(), delimiter="\t")
        )
        for level in sorted({int(row["level"]) for row in rows}):
            mine = [r for r in rows if int(r["level"]) == level and label(r["measure"], level)]
            checked += compare(case, level, mine)
    assert checked > 1000


def compare(case: Path, level: int, rows: list[dict[str, str]]) -> int:
    """All columns of one case at one level; returns how many numbers were compared."""
    columns = {
        "trec9": ("skip", "id"), "trec9_c": ("zero", "id"), "trec10_c": ("zero", "id"),
        "rec": ("skip", "id32"), "rec_c": ("zero", "id32"),
        "gm_floor": ("skip", "id32"), "gm_floor_c": ("zero", "id32"),
    }  # fmt: skip
    labels = sorted({label(row["measure"], level) for row in rows})
    checked = 0
    for column, (missing, ties) in columns.items():
        result = cr.evaluate(
            str(case / "qrels.txt"), {"run": str(case / "run.txt")}, measure=labels, test="none",
            missing=missing, ties=ties,
        )  # fmt: skip
        means = {e.measure: e.value for e in result.estimates}
        frame = result.by_unit()
        units = {
            (u, m): x
            for u, m, x in zip(frame["unit"], frame["measure"], frame["value"], strict=True)
        }
        for row in rows:
            geometric = row["measure"].startswith("gm_")
            if row[column] == "NA" or (column.startswith("rec") and geometric):
                continue  # rec_eval's geometric means are defective; gm_floor has the right ones
            name = label(row["measure"], level)
            got = means[name] if row["user"] == "all" else units.get((row["user"], name), 0.0)
            assert got == pytest.approx(float(row[column]), abs=1e-9), (case.name, column, row)
            checked += 1
    return checked


def test_label_of_their_names():
    assert label("ndcg@5", 1) == "nDCG(ideal=all)@5"
    assert label("set_F@10", 4) == "F1(rel=4,over=listed)@10"
    assert label("map_cut_10", 4) == "AP(rel=4)@10"
    assert label("gm_recip_rank@5", 1) == "RR(mean=geometric)@5"
    assert label("num_ret", 1) is None
