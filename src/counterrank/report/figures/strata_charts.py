"""Strata side by side, the pairs that flip, and who agrees with the open loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from counterrank.documents.requirements import leading
from counterrank.report import charts
from counterrank.report.charts import Figure, Row

MOST = 8  # systems that colours tell apart


def strata_values_chart(document: Row) -> Iterator[Figure]:
    """Every method's value of each system under the leading measure."""
    label = leading(document).measure
    own = [r for r in document["estimates"] if r["measure"] == label and r["estimator"] != "IPS"]
    shown = _chosen(document, own)
    share = {s["name"]: s["share"] for s in document["strata"]}
    rows = [{**r, "part": _part(r, share)} for r in own]
    order = list(dict.fromkeys(r["part"] for r in rows))
    yield Figure(
        "strata",
        f"{label}: overall, weighted, stratified, and in each stratum",
        "Follow one colour down: a system that leads overall but not in the strata owes its lead to"
        " how the feedback was collected. IPS, which has a scale of its own, is in the table.",
        [r for r in rows if r["system"] in shown],
        charts.dots("value", "part", order=order, by="system", title=label),
    )


def flips(document: Row) -> Iterator[Figure]:
    """The worst proven paradoxes: the difference overall, stratified, and in each stratum."""
    for place, found in enumerate(document.get("paradoxes", [])[:5], 1):
        title = f"{found['ahead']} less {found['behind']}"[:60]
        yield Figure(
            f"flip-{place}",
            f"{found['measure']}: {found['ahead']} against {found['behind']}",
            str(found["sentence"]),
            list(_parts(found)),
            charts.forest_plot("difference", "part", title=title, zero=True),
        )


def agreement_charts(document: Row) -> Iterator[Figure]:
    """How each method's order of the systems agrees with the open loop's."""
    rows = document.get("agreement", [])
    if not rows:
        return
    label = rows[0]["measure"]
    yield Figure(
        "agreement",
        f"{label}: agreement with the open loop",
        "Kendall's tau between a method's order of the systems and that of feedback on items shown"
        " at random: 1 is the same order, 0 no relation.",
        [{**r, "value": r["kendall"]} for r in rows if r["measure"] == label],
        charts.forest_plot("value", "estimator", title="Kendall's tau"),
    )


def _chosen(document: Row, rows: list[Row]) -> set[str]:
    """The systems drawn: those that flip, then the best by the stratified value."""
    flipped = [p[key] for p in document.get("paradoxes", []) for key in ("ahead", "behind")]
    best = sorted(
        (r for r in rows if r["estimator"] == "stratified" and not r["segment"]),
        key=lambda r: -(r["value"] or 0),
    )
    return set(list(dict.fromkeys([*flipped, *(r["system"] for r in best)]))[:MOST])


def _part(row: Row, share: Mapping[str, float]) -> str:
    stratum = row["segment"]
    return f"{stratum} ({share[stratum]:.0%} of feedback)" if stratum else str(row["estimator"])


def _parts(found: Row) -> Iterator[dict[str, Any]]:
    keys = ("difference", "low", "high")
    yield {"part": "overall", **{key: found[key] for key in keys}}
    for s in found["strata"]:
        spread = 1.96 * (s["se"] or 0)
        middle = s["difference"]
        part = f"{s['name']} ({s['share']:.0%} of feedback)"
        yield {"part": part, "difference": middle, "low": middle - spread, "high": middle + spread}
    yield {"part": "stratified", **{key: found[f"stratified_{key}"] for key in keys}}
