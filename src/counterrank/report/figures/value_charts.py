"""Differences from the baseline, values, all pairs, and curves: clips, weights, tipping points."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from counterrank.documents.decision import level_of
from counterrank.documents.requirements import Criterion, direction, leading
from counterrank.report import charts
from counterrank.report.charts import Figure, Row, group_rows
from counterrank.report.gaps import gaps

FEWEST = 3  # systems that make a matrix worth drawing
PANELS = 8  # systems whose weights are drawn
NO_ENDS = (None, None)


def lifts(document: Row) -> Iterator[Figure]:
    """Differences from the baseline by what decides: lifts, where all have one."""
    base, lead = document["protocol"].get("baseline"), leading(document)
    own = gaps(document, str(base)).get(lead.key, {}) if base else {}
    if not own:
        return
    up = direction(document, lead.measure)
    share = all(gap.lift for gap in own.values())
    value, what = ("lift", "lift over") if share else ("difference", "difference from")
    rows = []
    for name, gap in sorted(own.items(), key=lambda pair: -up * pair[1].difference.value):
        span = gap.shown if share else gap.difference
        (low, high), (wide_low, wide_high) = (e or NO_ENDS for e in (span.core, span.wings))
        rows.append(
            {"system": name, value: span.value, "low": low, "high": high, "wide_low": wide_low,
             "wide_high": wide_high, "claim": span.claim, "clear": span.clear}
        )  # fmt: skip
    solid = f"Each with its {level_of(document):.0%} interval, for all candidates at once."
    if any(row["wide_low"] is not None for row in rows):
        solid = (
            "Solid: the interval if the assumptions hold. Faint: allowing for what these data"
            " cannot rule out."
        )
    yield Figure(
        "lifts",
        f"{lead}: {what} {base}",
        f"{solid} Coloured parts clear the line of {base}, grey ones do not.",
        rows,
        charts.forest_plot(
            value, "system", title=f"{what} {base}"[:60], wide=("wide_low", "wide_high"),
            claim="claim", zero=True, percent=share,
        ),
    )  # fmt: skip


def leading_values(document: Row) -> Iterator[Figure]:
    """The value of each system by what decides, or of each row where nothing decides."""
    lead = leading(document)
    own = [r for r in document["estimates"] if r["segment"] is None and _of(lead, r)]
    if not own:
        return
    up = direction(document, lead.measure)
    rows = sorted(own, key=lambda r: -up * (r["value"] or 0))
    yield Figure(
        "values",
        str(lead),
        f"Each value with its {rows[0]['level']:.0%} interval. Intervals of two values say nothing"
        " about their difference: see the comparisons.",
        rows,
        charts.forest_plot("value", "system", title=str(lead)[:60]),
    )


def _of(lead: Criterion, row: Row) -> bool:
    """Rows of the criterion, and the logged ranker's own."""
    same = (row["measure"], row["reward"]) == (lead.measure, lead.reward)
    return same and row["estimator"] in (lead.estimator, "OnPolicy")


def truth(document: Row) -> Iterator[Figure]:
    """One figure for each reward: every interval, and a diamond where the truth is."""
    named = [
        {**row, "name": f"{row['system']} · {row['estimator']}"}
        for row in document.get("truth", [])
    ]
    groups = group_rows(named, lambda row: str(row["measure"]))
    for place, (reward, rows) in enumerate(groups.items(), 1):
        yield Figure(
            f"truth-{place}",
            f"{reward}: the truth, revealed",
            "Values, not differences. Diamonds are what each system truly earns, computed from the"
            " simulated world after the estimates were made. Where a diamond lies on its bar, the"
            " interval holds it.",
            rows,
            charts.forest_plot("estimate", "name", title=reward, diamond="truth"),
        )


def matrix(document: Row) -> Iterator[Figure]:
    """Every pair of systems under the leading measure."""
    if document.get("protocol", {}).get("baseline"):
        return
    label = leading(document)
    rows = [r for r in document["comparisons"] if label.of(r) and r["p_corrected"] is not None]
    names = list(dict.fromkeys(str(r[k]) for r in rows for k in ("baseline", "system")))
    if len(names) < FEWEST:
        return
    both = [
        {"system": a, "other": b, "p_corrected": r["p_corrected"], "difference": d}
        for r in rows
        for a, b, d in (
            (r["system"], r["baseline"], r["difference"]),
            (r["baseline"], r["system"], -r["difference"]),
        )
    ]
    yield Figure(
        "pairs",
        f"{label}: corrected p-values of all pairs",
        "Dark cells are pairs that differ beyond chance; pale ones the data cannot tell apart.",
        both,
        charts.grid("other", "system", "p_corrected", order=names, title="p", dark=0.0),
    )


def dcg_and_ndcg(document: Row) -> Iterator[Figure]:
    """The first DCG and nDCG of the same form that were evaluated."""
    values: dict[str, dict[str, float]] = {}
    for row in document["estimates"]:
        values.setdefault(str(row["measure"]), {})[str(row["system"])] = row["value"]
    pair = next(((m, f"n{m}") for m in values if m.startswith("DCG") and f"n{m}" in values), None)
    if pair is None or len(values[pair[0]]) < 2:
        return
    total, share = values[pair[0]], values[pair[1]]
    swapped = {
        name
        for a, b in combinations(total, 2)
        if (total[a] - total[b]) * (share[a] - share[b]) < 0
        for name in (a, b)
    }
    rows = [
        {"system": name, pair[0]: total[name], pair[1]: share[name],
         "order": f"in {'another' if name in swapped else 'the same'} order"}
        for name in total
    ]  # fmt: skip
    yield Figure(
        "dcg-ndcg",
        f"{pair[0]} against {pair[1]}",
        f"{len(swapped)} of {len(rows)} systems belong to pairs that the two order differently."
        " DCG estimates what is earned; nDCG, a mean of ratios, does not.",
        rows,
        charts.scatter(*pair, name="system", titles=pair, mark="order"),
    )


def sweeps(document: Row) -> Iterator[Figure]:
    """Two figures for each system and reward: value by clip, effective sample size by clip."""
    groups = group_rows(
        document.get("sweep", []), lambda row: (str(row["system"]), str(row["measure"]))
    )
    for place, ((system, reward), rows) in enumerate(groups.items(), 1):
        clips = ("none" if row["clip"] is None else f"{row['clip']:g}" for row in rows)
        shown = [{**row, "clip": clip} for row, clip in zip(rows, clips, strict=True)]
        yield Figure(
            f"sweep-{place}",
            f"{reward}, {system}: value by clip",
            "Small clips are steady but biased, large ones unbiased but wide. Where the line is"
            " flat, clipping does not matter.",
            shown,
            charts.bands("clip", "value", by="estimator", x_title="clip", title=reward, kind="N"),
        )
        yield Figure(
            f"effective-{place}",
            f"{reward}, {system}: effective sample size by clip",
            "How many equally weighted rows the weighted ones are worth. A fall to the right means"
            " that few rows decide.",
            shown,
            charts.bands(
                "clip", "effective", by="estimator", x_title="clip", title="effective sample size",
                kind="N", band="no", least=0.0,
            ),
        )  # fmt: skip


def weight_charts(document: Row) -> Iterator[Figure]:
    """The share of rows, and of all weight, by size of the weight: systems on one scale."""
    found = document.get("weights", [])
    systems = list(dict.fromkeys(str(row["system"]) for row in found))[:PANELS]
    own = {
        (str(r["system"]), float(r["low"])): r for r in found[::-1] if str(r["system"]) in systems
    }
    if not own:
        return
    bins = sorted({low for _, low in own})
    rows = [
        {"system": s, "about": _about(low), "rows": r["rows"], "weight": r["weight"]}
        for s in systems
        for low in bins
        for r in [own.get((s, low), NONE)]
    ]
    more = len({str(row["system"]) for row in found}) > PANELS
    first = f" Of {len(found)} rows those of {PANELS} systems." if more else ""
    yield Figure(
        "weights",
        "How weights are spread",
        "The weight of a row: how often the new lists need it, over how often the log has it. Bars:"
        " share of all rows. Line: share of all weight. Near 1 the log shows much the same; where"
        " few rows on the right hold much of the weight, few rows decide. One scale for all."
        f"{first}",
        rows,
        charts.histograms("about", bars="rows", steps="weight", by="system", title="weight"),
    )


NONE: Row = {"rows": 0.0, "weight": 0.0}


def _about(low: float) -> str:
    """The middle of a bin that reaches from ``low`` to twice as much."""
    middle = low * 2**0.5
    return f"{middle:.2g}" if middle >= 0.1 else f"{middle:.1g}"


def tipping(document: Row) -> Iterator[Figure]:
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
        return
    at = max([float(r["at"]) for r in found if r["at"] is not None], default=1.1)
    known = [
        {"claim": f"forgetting {r['benchmark']}", "turns at": r["gamma"]}
        for r in found
        if r["benchmark"]
    ]
    yield Figure(
        "tipping",
        "Tipping point: how strong a hidden cause would have to be",
        "By what factor odds would have to be off, always to our disadvantage, to turn the claim."
        f" Left of the line it turns within the {at:g} that is taken where nothing is known."
        + " Forgetting a known cause is shown beside them."
        * bool(known),
        [*own, *known],
        charts.reach_plot("turns at", "claim", title="odds factor", start=1.0, line=at),
    )


def curve(document: Row) -> Iterator[Figure]:
    """How likely each rank is seen, as learned."""
    yield Figure(
        "positions",
        "Chance of being seen, by rank",
        "A steep curve means that low ranks are hardly seen, and that clicks there count for more."
        " The band is the interval of what was learned.",
        [{**r, "context": r["context"] or "all"} for r in document["ranks"]],
        charts.bands(
            "rank", "value", by="context", x_title="rank", title="chance of being seen", kind="O"
        ),
    )
