"""The tables of ``counterrank assess``, question by question."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from counterrank.core.format import display_width, number, p_value, wrap_text
from counterrank.report.terminal.bars import tabulate

if TYPE_CHECKING:
    from counterrank.results.result import Result

LARGEST = 20  # p-values shown of each curve, as in the paper
SHOWN = 10  # rows of a long table
SHORT = {"popular_items": "popular", "large_users": "large"}  # kinds of loss, as headings


def power_lines(result: Result, wide: int) -> list[str]:
    """DP of each measure, the best first; then the top of each curve."""
    rows = sorted(result.tables["power"], key=lambda r: r.value)
    level = rows[0].level
    head = ("measure", "DP", f"{level:.0%} interval", f"p <= {1 - level:.2g}", "median p")
    cells = [
        (
            r.measure, f"{r.value:.4g}", f"[{r.low:.3g}, {r.high:.3g}]", f"{r.significant:.1%}",
            p_value(r.median_p),
        )
        for r in rows
    ]  # fmt: skip
    text = (
        f"DP: sum of the p-values of {rows[0].pairs} pairs (two-sided permutation test,"
        f" {result.protocol['draws']:,} flips); lower is better."
    )
    curves = {c.measure: c.p for c in result.tables["curves"]}
    shown = [c for c in range(LARGEST) if c < rows[0].pairs]
    out = [*wrap_text(text, wide), "", *tabulate([head, *cells], wide), ""]
    out.append(f"The {len(shown)} largest p-values")
    for r in rows:
        largest = (curves[r.measure][c] for c in shown)
        top = " ".join("1.0" if p > 0.995 else f"{p:.2f}"[1:] for p in largest)
        out += wrap_text(f"{r.measure}: {top}", wide, "  ")
    return out


def robustness_lines(result: Result, wide: int) -> list[str]:
    """The area of each measure over all kinds of loss and under each, the best first."""
    kinds = list(result.protocol["reductions"])
    each = {(row.measure, row.segment): row for row in result.estimates}
    whole = [row for row in result.estimates if row.segment is None]
    rows = sorted(whole, key=lambda row: -row.value)
    error = max(row.se for row in result.estimates if row.segment)
    text = (
        "Area under the curve of Kendall's tau with the order on all judgments, over the share of"
        " judgments left; 1: the order never changes. Monte Carlo error at most"
        f" {number(error, 4)}."
    )
    several = ([row, *(each[row.measure, kind] for kind in kinds)] for row in rows)
    cells = [[own[0].measure, *(number(r.value, 3) for r in own)] for own in several]
    table = tabulate([["measure", "all", *(SHORT.get(kind, kind) for kind in kinds)], *cells], wide)
    return [*wrap_text(text, wide), "", *table]


def agreement_lines(result: Result, wide: int) -> list[str]:
    """The matrix of taus, the pairs of measures, and the systems they put the other way round."""
    rows, level = list(result.tables["agreement"]), result.tables["agreement"][0].level
    text = (
        "Inverted: share of pairs of systems that two measures order differently. Opposed: pairs"
        f" that both call different at {level:.0%}, in opposite directions."
    )
    head = ("measures", "Pearson", "Kendall", "inverted", f"{level:.0%} interval", "opposed")
    shown = rows[:1] + sorted(rows[1:], key=lambda r: -r.value)[:SHOWN]
    cells = [
        (
            f"{r.measure} / {r.other}", _shown(r.pearson, ".3f"), _shown(r.kendall, ".3f"),
            f"{r.value:.1%}", f"[{r.low:.1%}, {r.high:.1%}]", f"{r.opposed}",
        )
        for r in shown
    ]  # fmt: skip
    more = len(rows) - len(shown)
    table = tabulate([head, *cells], wide)
    out = [*_matrix(result, wide), "", *wrap_text(text, wide), "", *table]
    out += [f"and {more} more pairs of measures that agree better"] if more else []
    found = result.tables["opposed"]
    if found:
        out += ["", "Opposed systems, differences and p by each measure"]
        for o in found[:SHOWN]:
            line = (
                f"{o.measure} / {o.other}: {o.system} - {o.baseline}: {o.difference:+.4g}"
                f" ({p_value(o.p)}), {o.other_difference:+.4g} ({p_value(o.other_p)})"
            )
            out += wrap_text(line, wide, "  ")
        out += [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return out


def _matrix(result: Result, wide: int) -> list[str]:
    """Kendall's tau of every two measures, as many columns as fit; last, with the own twin."""
    from counterrank.metrics.registry import geometric_twin

    tau = {(t.measure, t.other): t.kendall for t in result.tables["taus"]}
    tau |= {(b, a): value for (a, b), value in tau.items()}
    labels = list(dict.fromkeys(name for pair in tau for name in pair))
    twins = {a: geometric_twin(a) for a in labels if (a, geometric_twin(a)) in tau}
    labels = [a for a in labels if a not in twins.values()]
    numbered = [f"{n} {label}" for n, label in enumerate(labels, 1)]
    cells = [["" if a == b else _shown(tau[a, b], ".2f") for b in labels] for a in labels]
    head = [str(n) for n in range(1, len(labels) + 1)]
    if twins:
        head.append("geom.")
        for a, row in zip(labels, cells, strict=True):
            row.append(_shown(tau[a, twins[a]], ".2f") if a in twins else "")
    fit = max((wide - min(max(map(display_width, numbered)), 28)) // 6, 1)
    text = "Kendall's tau of the systems' orders"
    out = [text + ("; geom.: with its own geometric mean" if twins else "")]
    for begin in range(0, len(head), fit):
        part = slice(begin, begin + fit)
        rows = [(name, *row[part]) for name, row in zip(numbered, cells, strict=True)]
        out += ([""] if begin else []) + tabulate([("", *head[part]), *rows], wide)
    return out


def online_lines(result: Result, wide: int) -> list[str]:
    """A block per online metric: correlations, then errors against the effects taken as true."""
    out: list[str] = []
    for reward in dict.fromkeys(row.reward for row in result.tables["correlations"]):
        rows = [row for row in result.tables["correlations"] if row.reward == reward]
        r = rows[0]
        head = f"{reward or 'Online'}: {r.cases} cases"
        head += f", {r.effects} true effects, {r.nulls} others" if r.effects + r.nulls else ""
        out += [head]
        if any(math.isfinite(row.value) for row in rows):
            out += [*_correlations(rows, wide), ""]
        if any(math.isfinite(x) for row in rows for x in (row.sign_agreement, row.type_1)):
            out += [*_errors(rows, wide), ""]
    text = {
        "online": f"True effects are those the experiment calls at {result.estimates[0].level:.0%};"
        " type I is the share of the others that the measure calls.",
        "all": "All effects are taken as real.",
    }[result.protocol["truth"]]
    some = any(row.effects + row.nulls for row in result.tables["correlations"])
    return [*out, *wrap_text(text, wide)] if some else out


def _correlations(rows: list[Any], wide: int) -> list[str]:
    cells = [
        (
            row.measure, _shown(row.value, ".2f"),
            f"[{_shown(row.low, '.2f')}, {_shown(row.high, '.2f')}]", _shown(row.p, ".2g"),
            _shown(row.kendall, ".2f"),
        )
        for row in rows
    ]  # fmt: skip
    return tabulate([("measure", "r", f"{rows[0].level:.0%} interval", "p", "tau"), *cells], wide)


def _errors(rows: list[Any], wide: int) -> list[str]:
    cells = []
    for r in rows:
        shares = (r.sign_agreement, r.sensitivity, r.type_1, r.type_2, r.type_3)
        cells.append((r.measure, *(_shown(x, ".0%") for x in shares), _shown(r.mean_p, ".2g")))
    head = ("measure", "sign", "sensitive", "type I", "type II", "type III", "mean p")
    return tabulate([head, *cells], wide)


def accuracy_lines(result: Result, wide: int) -> list[str]:
    """A line per estimator, the smallest error first."""
    rows = sorted(result.tables["accuracy"], key=lambda r: r.value)
    first = rows[0]
    text = (
        f"{first.systems} system{'s' * (first.systems > 1)}, {first.repetitions} repetition"
        f"{'s' * (first.repetitions > 1)}; errors are shares of the truth. mean: RMSE of each"
        " repetition, ± its standard error over them."
    )
    interval = f"{first.level:.0%} interval"
    head = ("estimator", "RMSE", interval, "mean", "bias", "sd", "cover", "tau", "regret")
    cells = [
        (
            r.measure, f"{r.value:.3g}", f"[{r.low:.3g}, {r.high:.3g}]",
            f"{r.mean_rmse:.3g} ±{_shown(r.mean_rmse_se, '.1g')}", f"{r.bias:+.0%}",
            _shown(math.sqrt(r.variance), ".0%"), _shown(r.coverage, ".0%"),
            _shown(r.kendall, ".2f"), f"{r.regret:.1%}",
        )
        for r in rows
    ]  # fmt: skip
    return [*wrap_text(text, wide), "", *tabulate([head, *cells], wide)]


def _shown(x: float, form: str) -> str:
    return "n/a" if math.isnan(x) else format(x, form)
