"""Figures of the questions about measures: power, robustness, agreement, offline against online."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from counterrank.report import charts
from counterrank.report.charts import Figure, Row, group_rows

CURVE = 20  # largest p-values of a curve (Valcarce et al. 2020)


def power(document: Row) -> Iterator[Figure]:
    """The sum of p-values of each measure, and the curves of the largest."""
    yield Figure(
        "power",
        "Discriminative power (DP): the sum of p-values",
        "Further left is better: such a measure tells more pairs of systems apart.",
        sorted(document["power"], key=lambda r: r["value"]),
        charts.forest_plot("value", "measure", title="sum of p-values"),
    )
    points = [
        {"measure": c["measure"], "pair": place, "p": p}
        for c in document["curves"]
        for place, p in enumerate(sorted(c["p"], reverse=True)[:CURVE], 1)
    ]
    yield Figure(
        "p_curve",
        f"The {max((row['pair'] for row in points), default=0)} largest p-values of each measure",
        "A curve that falls early leaves few pairs of systems undecided.",
        points,
        charts.bands(
            "pair", "p", by="measure", x_title="pair, largest p first", title="p", band="no"
        ),
    )


def robustness(document: Row) -> Iterator[Figure]:
    """Tau by size for each kind of reduction, then the values themselves."""
    title = "agreement with the full order (tau)"
    kinds = group_rows(document["curves"], lambda row: str(row["reduction"]))
    for place, (kind, rows) in enumerate(kinds.items(), 1):
        yield Figure(
            f"robustness-{place}",
            f"Order of the systems when {_lost(document, kind)}",
            "Kendall's tau with the order on all judgments, by the share kept; the band holds"
            f" {rows[0].get('level', 0.95):.0%} of the samples. A line that stays high belongs to a"
            " measure that needs few judgments.",
            rows,
            charts.bands("size", "kendall", by="measure", x_title="share kept", title=title),
        )
    yield from _absolute(document)


def _lost(document: Row, kind: str) -> str:
    """What is missing, in words."""
    told = document.get("protocol", {}).get("reductions", {}).get(kind, {})
    return str(told.get("lost", f"{kind} are missing"))


def _absolute(document: Row) -> Iterator[Figure]:
    """Values by the share kept, mean of all systems (Valcarce et al. 2020, Fig. 4)."""
    kinds = group_rows(document["values"], lambda row: str(row["reduction"]))
    for place, (kind, own) in enumerate(kinds.items(), 1):
        rows = [
            {"measure": label, "size": size, "value": sum(at) / len(at)}
            for label, some in group_rows(own, lambda row: str(row["measure"])).items()
            for size, *at in zip(some[0]["size"], *(row["value"] for row in some), strict=True)
        ]
        yield Figure(
            f"values-{place}",
            f"Values when {_lost(document, kind)}",
            "Mean of all systems, by the share kept.",
            rows,
            charts.bands(
                "size", "value", by="measure", x_title="share kept", title="value", band="no"
            ),
        )


def taus(document: Row) -> Iterator[Figure]:
    """The matrix of taus between measures."""
    found = document.get("taus", [])
    if not found:
        return
    turned = [
        {"measure": r["other"], "other": r["measure"], "kendall": r["kendall"]} for r in found
    ]
    names = list(dict.fromkeys(r["measure"] for r in [*found, *turned]))
    yield Figure(
        "taus",
        "Do measures order the systems alike?",
        "Kendall's tau of two measures' orders. Dark cells are measures that say the same.",
        [*found, *turned],
        charts.grid("other", "measure", "kendall", order=names, title="tau"),
    )


def online(document: Row) -> Iterator[Figure]:
    """How closely each offline figure follows the online one, and every past case."""
    rows = document["correlations"]
    yield Figure(
        "correlation",
        "Correlation of offline figures with the online one",
        "Near 1 is an offline figure that foretells the online one; a bar across 0 may be chance.",
        [{**r, "name": _with_clip(r)} for r in rows if r["value"] is not None],
        charts.forest_plot("value", "name", title="Pearson's r"),
    )
    yield from _against_clip(rows)
    cases = group_rows(document.get("cases", []), lambda row: str(row["measure"]))
    for place, (label, own) in enumerate(list(cases.items())[:4], 1):
        yield Figure(
            f"cases-{place}",
            f"{label}: offline against online",
            "Each point is a system in an experiment. On a rising line, better offline is"
            " better online.",
            own,
            charts.scatter(
                "offline", "online", name="experiment", titles=(label, "online"), mark="system"
            ),
        )


CLIP = (
    ("sensitivity", "True effects called against the clip", "Higher is better: of the effects taken"
     " as true, the share that is called in the right direction."),
    ("mean_p", "Mean p against the clip", "Lower is better: the mean one-sided p of the effects"
     " taken as true."),
)  # fmt: skip


def _against_clip(rows: Sequence[Row]) -> Iterator[Figure]:
    """What a clip does to calls, where several were tried; of all rewards together if there are."""
    clipped = {_unclipped(r) for r in rows if r.get("clip") is not None}
    swept = [r for r in rows if _unclipped(r) in clipped]
    pooled = [r for r in swept if r["reward"] == "all"] or swept
    own = [
        {**r, "clip": "none" if not _clip(r) else f"{r['clip']:g}", "name": _unclipped(r)}
        for r in pooled
    ]
    if len({r["clip"] for r in own}) < 2:
        return
    for key, title, reading in CLIP:
        words = key.replace("_", " ")
        chart = charts.bands(
            "clip", key, by="name", x_title="clip", title=words, kind="N", band="no"
        )
        yield Figure(f"clip-{words.replace(' ', '-')}", title, reading, own, chart)


def _clip(row: Row) -> float | None:
    """Its clip; None where there is none, which a document says as null, a result as infinity."""
    clip = row.get("clip")
    return None if clip in (None, float("inf")) else float(clip)


def _unclipped(row: Row) -> str:
    """The estimator without its clip, and the reward."""
    label = re.sub(r",?clip=[^,)]+", "", str(row["measure"])).replace("(,", "(").replace("()", "")
    return ", ".join(str(part) for part in (label, row.get("reward")) if part)


def _with_clip(row: Row) -> str:
    clip = _clip(row)
    parts = (row["measure"], row.get("reward"), None if clip is None else f"clip {clip:g}")
    return ", ".join(str(part) for part in parts if part)


def accuracy(document: Row) -> Iterator[Figure]:
    """The error of each estimator."""
    yield Figure(
        "accuracy",
        "Error of each estimator against the truth",
        "Relative root mean squared error over all systems: further left is closer to the truth.",
        sorted(document["accuracy"], key=lambda r: r["value"]),
        charts.forest_plot("value", "measure", title="relative RMSE"),
    )
