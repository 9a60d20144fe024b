"""Values, differences from the baseline, all pairs, and curves: clips, weights, ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from counterrank.documents.requirements import Criterion, leading
from counterrank.report import charts
from counterrank.report.charts import BLUE, Figure, group_rows

Row = Mapping[str, Any]
CONTRAST = " For contrast only: this ignores who clicked. Do not decide by it."
GROUPS = ("measure", "reward", "estimator", "segment")
FEWEST = 3  # systems that make a matrix worth drawing


def lifts(document: Row) -> list[Figure]:
    """One figure for each measure (and reward) with a baseline."""
    base = document.get("protocol", {}).get("baseline")
    if not base:
        return []
    groups = group_rows(
        document.get("comparisons", []),
        lambda row: tuple(str(row[k]) for k in GROUPS if row[k] and row[k] != "mean"),
    )
    lower, contrast = (document["protocol"].get(key, ()) for key in ("lower_is_better", "contrast"))
    made = []
    first = leading(document)  # what the decision reads stands on top
    ordered = sorted(groups.items(), key=lambda pair: _turn(pair[1][0], first, contrast))
    for place, (group, rows) in enumerate(ordered):
        up = -1 if rows[0]["measure"] in lower else 1
        marked = [
            {**r, "low": r["family_low"], "high": r["family_high"], "reading": READINGS[r["claim"]]}
            for r in rows
        ]
        order = [str(r["system"]) for r in sorted(rows, key=lambda r: -up * (r["difference"] or 0))]
        made.append(
            Figure(
                f"lifts-{place + 1}",
                f"{', '.join(group)}: difference from {base}",
                f"Right of the dashed line is more than {base}. Bars hold for all candidates of the"
                " figure at once; those that miss the line differ beyond chance."
                + CONTRAST
                * (rows[0]["estimator"] in contrast),
                marked,
                charts.forest_plot(
                    "difference",
                    "system",
                    order=order,
                    title=f"difference from {base}"[:60],
                    zero="yes",
                    mark="reading",
                ),
            )
        )
    return made


def _turn(row: Row, first: Criterion, contrast: Sequence[str]) -> int:
    """What the decision reads on top, what must not decide at the bottom."""
    return 0 if first.of(row) else 2 if row["estimator"] in contrast else 1


READINGS = {"better": "better", "worse": "worse", "cannot_tell": "not separated"}


def estimates(document: Row) -> list[Figure]:
    """Value and interval of each system; rows that belong to another figure are left to it."""
    groups = group_rows(document.get("estimates", []), lambda row: _group(document, row))
    made = []
    for place, (group, rows) in enumerate(groups.items()):
        what = ", ".join(group)
        named = [{**r, "name": _name(r)} for r in rows]
        y, order = "name", [r["name"] for r in named]
        if document["kind"] == "evaluate":
            y = "system"
            order = [str(r["system"]) for r in sorted(rows, key=lambda r: -(r["value"] or 0))]
        level = rows[0]["level"]
        made.append(
            Figure(
                f"estimates-{place + 1}",
                what,
                f"Each point is a value, each bar its {level:.0%} interval. Bars that do not touch"
                " differ beyond chance; overlapping ones may still differ, see the comparisons.",
                named,
                charts.forest_plot("value", y, order=order, title=what),
            )
        )
    return made


def _group(document: Row, row: Row) -> tuple[str, ...]:
    """What is drawn together: estimators of one reward share a scale, measures do not."""
    own = row["estimator"] in document["protocol"].get("scales", ())  # not the reward's
    keys = [key for key in GROUPS if row[key] and (key != "estimator" or own)]
    return tuple(str(row[key]) for key in keys)


def _name(row: Row) -> str:
    return f"{row['system']} · {row['estimator']}"


def truth(document: Row) -> list[Figure]:
    """One figure for each reward: every interval, and a diamond where the truth is."""
    named = [{**row, "name": _name(row)} for row in document.get("truth", [])]
    groups = group_rows(named, lambda row: str(row["measure"]))
    return [
        Figure(
            f"truth-{place}",
            f"{reward}: the truth, revealed",
            "Diamonds are what each system truly earns, computed from the simulated world after"
            " the estimates were made. Where a diamond lies on its bar, the interval holds it.",
            rows,
            charts.forest_plot(
                "estimate",
                "name",
                order=[str(row["name"]) for row in rows],
                title=reward,
                diamond="truth",
            ),
        )
        for place, (reward, rows) in enumerate(groups.items(), 1)
    ]


def matrix(document: Row) -> list[Figure]:
    """Every pair of systems under the leading measure."""
    if document.get("protocol", {}).get("baseline"):
        return []
    label = leading(document)
    rows = [r for r in document["comparisons"] if label.of(r) and r["p_corrected"] is not None]
    names = list(dict.fromkeys(str(r[k]) for r in rows for k in ("baseline", "system")))
    if len(names) < FEWEST:
        return []
    both = [
        {
            "system": a,
            "other": b,
            "p_corrected": r["p_corrected"],
            "difference": up * r["difference"],
        }
        for r in rows
        for a, b, up in ((r["system"], r["baseline"], 1), (r["baseline"], r["system"], -1))
    ]
    return [
        Figure(
            "p-values",
            f"{label}: corrected p-values of all pairs",
            "Dark cells are pairs that differ beyond chance; pale ones the data cannot tell apart.",
            both,
            charts.grid(
                "other",
                "system",
                "p_corrected",
                order=names,
                title="p",
                colours=(BLUE, "#ffffff"),
                ends=(0, 0.2),
            ),
        )
    ]


def dcg_and_ndcg(document: Row) -> list[Figure]:
    """The first DCG and nDCG of the same form that were evaluated."""
    values: dict[str, dict[str, float]] = {}
    for row in document["estimates"]:
        values.setdefault(str(row["measure"]), {})[str(row["system"])] = row["value"]
    pair = next(((m, f"n{m}") for m in values if m.startswith("DCG") and f"n{m}" in values), None)
    if pair is None or len(values[pair[0]]) < 2:
        return []
    total, share = values[pair[0]], values[pair[1]]
    swapped = {
        name
        for a, b in combinations(total, 2)
        if (total[a] - total[b]) * (share[a] - share[b]) < 0
        for name in (a, b)
    }
    rows = [
        {
            "system": name,
            "x": total[name],
            "y": share[name],
            "order": "in another order" if name in swapped else "in the same order",
        }
        for name in total
    ]
    return [
        Figure(
            "dcg-ndcg",
            f"{pair[0]} against {pair[1]}",
            f"{len(swapped)} of {len(rows)} systems belong to pairs that the two order differently."
            " DCG estimates what is earned; nDCG, a mean of ratios, does not.",
            rows,
            charts.scatter("x", "y", name="system", titles=pair, mark="order"),
        )
    ]


def sweeps(document: Row) -> list[Figure]:
    """Two figures for each system and reward: value by clip, effective sample size by clip."""
    groups = group_rows(
        document.get("sweep", []), lambda row: (str(row["system"]), str(row["measure"]))
    )
    made = []
    for place, ((system, reward), rows) in enumerate(groups.items()):
        shown = [{**row, "clip": _clip(row["clip"])} for row in rows]
        made += [
            Figure(
                f"sweep-{place + 1}",
                f"{reward}, {system}: value by clip",
                "Small clips are steady but biased, large ones unbiased but wide. Where the line is"
                " flat, clipping does not matter.",
                shown,
                charts.bands(
                    "clip", "value", by="estimator", x_title="clip", title=reward, kind="N"
                ),
            ),
            Figure(
                f"effective-{place + 1}",
                f"{reward}, {system}: effective sample size by clip",
                "How many equally weighted rows the weighted ones are worth. A fall to the right"
                " means that few rows decide.",
                shown,
                charts.bands(
                    "clip", "effective", by="estimator", x_title="clip",
                    title="effective sample size", kind="N", band="no",
                ),
            ),
        ]  # fmt: skip
    return made


def _clip(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def weight_charts(document: Row) -> list[Figure]:
    """One figure for each system: the share of rows, and of all weight, by size of the weight."""
    groups = group_rows(document.get("weights", []), lambda row: str(row["system"]))
    return [
        Figure(
            f"weights-{place}",
            f"{system}: how weights are spread",
            "Weights near 1 mean that the log shows much the same. Where few rows on the right"
            " hold much of the weight, few rows decide.",
            [
                {"system": system, "size": _size(r), "of": what, "share": r[key]}
                for r in rows
                for what, key in (("all rows", "rows"), ("all weight", "weight"))
            ],
            charts.bars("size", "share", by="of", x_title="weight", title="share"),
        )
        for place, (system, rows) in enumerate(groups.items(), 1)
    ]


def _size(row: Row) -> str:
    if row["high"] is None or row["high"] == float("inf"):
        return f"{row['low']:g} and more"
    return f"{row['low']:.3g} to {row['high']:.3g}"


def curve(document: Row) -> list[Figure]:
    """How likely each rank is seen, as learned."""
    rows = [{**r, "context": r["context"] or "all"} for r in document["ranks"]]
    return [
        Figure(
            "position-bias",
            "Chance of being seen, by rank",
            "A steep curve means that low ranks are hardly seen, and that clicks there count for"
            " more. The band is the interval of what was learned.",
            rows,
            charts.bands(
                "rank",
                "value",
                by="context",
                x_title="rank",
                title="chance of being seen",
                kind="O",
            ),
        )
    ]
