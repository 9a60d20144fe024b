"""Worked numbers to the digits printed: the primer on nDCG, and Table 1 of Jeunen et al. 2024."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from counterrank.api.evaluate import evaluate
from counterrank.studies.study import (
    Cell,
    Claim,
    ComparedTable,
    Context,
    Difference,
    Reproduction,
    Study,
    holds,
)

GRADED = (3, 2, 0, 0, 1)
# what is worked out, of which list, what is printed, to how many decimals
WORKED: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("CG@5", (1, 1, 1, 0, 0), "3"),
    ("CG@5", (5, 5, 5, 5, 5), "25"),
    ("DCG@3", (1, 0, 1, 1, 0), "1.5"),
    ("DCG@3", (1, 1, 0, 1, 0), "1.63"),
    ("CG@5", GRADED, "6"),
    ("DCG@5", GRADED, "4.67"),
    ("IDCG(ideal=list)@5", GRADED, "4.76"),
    ("nDCG(ideal=list)@5", GRADED, "0.98"),
)
# Table 1 of Jeunen et al.: what two rankers show, of items with these qualities in two contexts
QUALITY = {"x1": {"a1": 1.0, "a2": 0.0}, "x2": {"a1": 1.0, "a2": 2.5}}
SHOWS = {"R": "a1", "R'": "a2"}
TABLE_1 = {  # DCG and nDCG in x1, in x2, and their means
    "R": (("1.00", "1.00", "1.00"), ("1.00", "0.29", "0.64")),
    "R'": (("0.00", "2.50", "1.25"), ("0.00", "0.71", "0.36")),
}
CELLS = ("x1", "x2", "mean")
SLIP = "a slip of addition: the terms it prints, 3 + 1.26 + 0.3868, add up to 4.6468"


def list_value(label: str, ratings: Sequence[float]) -> float:
    """A measure of one list, whose items have these ratings in this order."""
    items = range(len(ratings))
    judgments = pl.DataFrame({"user": 0, "item": items, "rating": ratings})
    run = pl.DataFrame({"user": 0, "item": items, "rank": range(1, len(ratings) + 1)})
    found = evaluate(judgments, {"list": run}, measure=label, test="none")
    return float(found.estimates[0].value)


def agrees(printed: str, value: float) -> bool:
    """Whether a value rounds to what is printed."""
    return f"{value:.{len(printed.partition('.')[2])}f}" == printed


def table_1() -> dict[str, dict[str, list[float]]]:
    """DCG@1, nDCG@1 and IDCG (of one item and of all) in each context, and means, by ranker."""
    judgments = pl.DataFrame(
        [(x, item, q) for x, own in QUALITY.items() for item, q in own.items()],
        schema=["user", "item", "rating"], orient="row",
    )  # fmt: skip
    runs = {
        name: pl.DataFrame({"user": list(QUALITY), "item": item, "rank": 1})
        for name, item in SHOWS.items()
    }
    labels = ["DCG@1", "nDCG@1", "pnDCG@1", "CG"]
    both = {
        **runs,
        "all": judgments.select("user", "item", rank=pl.col("item").str.slice(1, 1).cast(pl.Int64)),
    }
    found = evaluate(judgments, both, measure=labels, test="none")
    units = found.by_unit()
    return {
        name: {
            label: [
                *units.filter(system=name, measure=label).sort("unit")["value"].to_list(),
                found.estimate(name, label).value,
            ]
            for label in labels
        }
        for name in both
    }


def primer(context: Context) -> Reproduction:
    """Every worked number, and which of them are not what their own terms add up to."""
    worked = [(label, " ".join(map(str, ratings)), printed, list_value(label, ratings))
              for label, ratings, printed in WORKED]  # fmt: skip
    rows = [
        (label, ratings, Cell(printed, value), "yes" if agrees(printed, value) else "no")
        for label, ratings, printed, value in worked
    ]
    values = table_1()
    total = values["all"]["CG"]  # what the printed table divides by
    compared: list[tuple[Any, ...]] = []
    by_text: list[tuple[Any, ...]] = []
    for name, (dcg, ndcg) in TABLE_1.items():
        ours = values[name]["DCG@1"]
        divided = [ours[0] / total[0], ours[1] / total[1]]
        divided.append(sum(divided) / 2)
        for label, printed, got in (("DCG", dcg, ours), ("nDCG", ndcg, divided)):
            compared.append((name, label, *map(Cell, printed, got)))
        by_text.append((name, *values[name]["nDCG@1"], values[name]["pnDCG@1"][-1]))
    same = sum(row[-1] == "yes" for row in rows)
    cells = [cell for row in compared for cell in row[2:]]
    exact = sum(agrees(str(c.paper), float(c.ours or 0)) for c in cells)
    order = by_text[0][3] > by_text[1][3] and values["R"]["DCG@1"][2] < values["R'"]["DCG@1"][2]
    return Reproduction(
        tables=[
            ComparedTable("The primer", ("measure", "ratings", "value", "agrees"), rows),
            ComparedTable("Table 1 of Jeunen et al.", ("ranker", "measure", *CELLS), compared,
                          "nDCG as printed: divided by the sum of both qualities."),
            ComparedTable("nDCG by its definition", ("ranker", *CELLS, "pnDCG"), by_text,
                          "Divided by the value of the best single item, as the text defines it."),
        ],
        claims=[
            Claim("The primer's worked numbers follow from its formulas.",
                  holds(same == len(rows)),
                  f"{same} of {len(rows)} do; 4.67 is {SLIP}. nDCG, 0.98, is right all the same.",
                  f"{len(rows)} numbers", f"{same} agree"),
            Claim("Table 1: every printed value.", holds(exact == len(cells)),
                  "nDCG in x2 is printed as 0.29 and 0.71: divided by the sum of both qualities,"
                  " 3.5, not by the best item, 2.5, as the text says.",
                  f"{len(cells)} values", f"{exact} agree"),
            Claim("Mean nDCG prefers R where mean DCG prefers R'.", holds(order),
                  "With either divisor; pnDCG, the ratio of means, keeps the order of DCG.",
                  "inverted", "inverted" if order else "not inverted"),
        ],
        differences=[
            Difference(f"{label} of {ratings}", printed, value, SLIP)
            for label, ratings, printed, value in worked if not agrees(printed, value)
        ] + [
            Difference(f"Table 1, nDCG of {row[0]} in x2", TABLE_1[row[0]][1][1], row[2],
                       "the printed one divides by the sum of both qualities: 1/3.5 and 2.5/3.5")
            for row in by_text
        ],
        notes=["The primer's two slips: 4.67 should be 4.65; and its sums run over k while their"
               " terms are numbered by i. Neither changes what it teaches.",
               "The primer takes its ideal from the list itself, nDCG(ideal=list); everything else"
               " here takes it from all judged items."],
    )  # fmt: skip


STUDY = Study(
    "primer",
    "Worked numbers: the primer, and DCG against nDCG in two contexts",
    "Primer on nDCG: gains, discounts and ideals by hand; and Table 1 of Jeunen et al. 2024, On"
    " (Normalised) Discounted Cumulative Gain as an Off-Policy Evaluation Metric.",
    (),
    0.1,
    primer,
)
