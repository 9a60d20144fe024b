"""Differences from the baseline, values, all pairs, and curves: clips, weights, tipping points."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from counterrank.documents.requirements import Criterion, leading
from counterrank.report import charts
from counterrank.report.charts import Figure, Row, group_rows
from counterrank.report.gaps import gaps

FEWEST = 3  # systems that make a matrix worth drawing
PANELS = 8  # systems whose weights are drawn


def lifts(document: Row) -> list[Figure]:
    """Differences from the baseline by what decides: lifts, where all have one."""
    base, lead = document["protocol"].get("baseline"), leading(document)
    key = (lead.measure, lead.reward, lead.estimator, None)
    own = gaps(document, str(base)).get(key, {}) if base else {}
    if not own:
        return []
    up = -1 if lead.measure in (document["protocol"].get("lower_is_better") or ()) else 1
    share = all(gap.lift for gap in own.values())
    rows: list[dict[str, Any]] = []
    for name, gap in sorted(own.items(), key=lambda pair: -up * pair[1].difference.value):
        span = gap.lift if share and gap.lift else gap.difference
        of = {"lift": span.value} if share else {"difference": span.value}
        wings = {"wide_low": span.wide_low, "wide_high": span.wide_high}
        rows.append(
            {"system": name, **of, "low": span.low, "high": span.high, **wings,
             "claim": span.claim, "clear": span.clear}
        )  # fmt: skip
    what = "lift over" if share else "difference from"
    return [
        Figure(
            "lifts",
            f"{lead}: {what} {base}",
            "Solid: the interval if the assumptions hold. Faint: allowing for what these data"
            f" cannot rule out. Coloured parts clear the line of {base}, grey ones do not.",
            rows,
            charts.forest_plot(
                "lift" if share else "difference", "system", title=f"{what} {base}"[:60],
                wide=("wide_low", "wide_high"), claim="claim", zero=True, percent=share,
            ),
        )
    ]  # fmt: skip


def leading_values(document: Row) -> list[Figure]:
    """The value of each system by what decides, or of each row where nothing decides."""
    lead = leading(document)
    own = [r for r in document["estimates"] if r["segment"] is None and _of(lead, r)]
    if not own:
        return []
    lower = document["protocol"].get("lower_is_better") or ()
    up = -1 if lead.measure in lower else 1
    rows = sorted(own, key=lambda r: -up * (r["value"] or 0))
    return [
        Figure(
            "values",
            str(lead),
            f"Each value with its {rows[0]['level']:.0%} interval. Intervals of two values say"
            " nothing about their difference: see the comparisons.",
            rows,
            charts.forest_plot("value", "system", title=str(lead)[:60]),
        )
    ]


def _of(lead: Criterion, row: Row) -> bool:
    """Rows of the criterion, and the logged ranker's own."""
    same = (row["measure"], row["reward"]) == (lead.measure, lead.reward)
    return same and row["estimator"] in (lead.estimator, "OnPolicy")


def truth(document: Row) -> list[Figure]:
    """One figure for each reward: every interval, and a diamond where the truth is."""
    named = [
        {**row, "name": f"{row['system']} · {row['estimator']}"}
        for row in document.get("truth", [])
    ]
    groups = group_rows(named, lambda row: str(row["measure"]))
    return [
        Figure(
            f"truth-{place}",
            f"{reward}: the truth, revealed",
            "Values, not differences. Diamonds are what each system truly earns, computed from the"
            " simulated world after the estimates were made. Where a diamond lies on its bar, the"
            " interval holds it.",
            rows,
            charts.forest_plot("estimate", "name", title=reward, diamond="truth"),
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
            "pairs",
            f"{label}: corrected p-values of all pairs",
            "Dark cells are pairs that differ beyond chance; pale ones the data cannot tell apart.",
            both,
            charts.grid("other", "system", "p_corrected", order=names, title="p", dark=0.0),
        )
    ]


def dcg_and_ndcg(document: Row) -> list[Figure]:
    """The first DCG and nDCG of the same form that were evaluated."""
    values_: dict[str, dict[str, float]] = {}
    for row in document["estimates"]:
        values_.setdefault(str(row["measure"]), {})[str(row["system"])] = row["value"]
    pair = next(((m, f"n{m}") for m in values_ if m.startswith("DCG") and f"n{m}" in values_), None)
    if pair is None or len(values_[pair[0]]) < 2:
        return []
    total, share = values_[pair[0]], values_[pair[1]]
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
    """The share of rows, and of all weight, by size of the weight: systems on one scale."""
    found = document.get("weights", [])
    systems = list(dict.fromkeys(str(row["system"]) for row in found))[:PANELS]
    own = [row for row in found if str(row["system"]) in systems]
    if not own:
        return []
    bins = sorted({float(row["low"]) for row in own})
    rows = [
        {"system": s, "about": _about(low), "rows": r["rows"], "weight": r["weight"]}
        for s in systems
        for low in bins
        for r in [next((r for r in own if (r["system"], r["low"]) == (s, low)), NONE)]
    ]
    first = f" Of {len(found)} rows those of {PANELS} systems." if len(own) < len(found) else ""
    return [
        Figure(
            "weights",
            "How weights are spread",
            "Bars: share of all rows. Line: share of all weight. Weights near 1 mean that the log"
            " shows much the same; where few rows on the right hold much of the weight, few rows"
            f" decide. One scale for all.{first}",
            rows,
            charts.histograms("about", bars="rows", steps="weight", by="system", title="weight"),
        )
    ]


NONE: Row = {"rows": 0.0, "weight": 0.0}


def _about(low: float) -> str:
    """The middle of a bin that reaches from ``low`` to twice as much."""
    middle = low * 2**0.5
    return f"{middle:.2g}" if middle >= 0.1 else f"{middle:.1g}"


def tipping(document: Row) -> list[Figure]:
    """How strong hidden causes would have to be to turn each claim."""
    lead = leading(document)
    found = document.get("tipping", [])
    own = [
        {"claim": f"{r['system']}: {r['claim']}".replace("_", " "), "turns at": r["gamma"]}
        for r in found
        if r["claim"] in ("better", "worse") and r["benchmark"] is None and r["baseline"]
        and lead.of({**r, "segment": None})
    ]  # fmt: skip
    if not own:
        return []
    at = max([float(r["at"]) for r in found if r["at"] is not None], default=1.1)
    known = [
        {"claim": f"forgetting {r['benchmark']}", "turns at": r["gamma"]}
        for r in found
        if r["benchmark"]
    ]
    return [
        Figure(
            "tipping",
            "Tipping point: how strong a hidden cause would have to be",
            "By what factor odds would have to be off, always to our disadvantage, to turn the"
            f" claim. Left of the line it turns within the {at:g} that is taken where nothing is"
            " known; causes that are known stand below.",
            [*own, *known],
            charts.reach_plot("turns at", "claim", title="odds factor", start=1.0, line=at),
        )
    ]


def curve(document: Row) -> list[Figure]:
    """How likely each rank is seen, as learned."""
    rows = [{**r, "context": r["context"] or "all"} for r in document["ranks"]]
    return [
        Figure(
            "positions",
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
