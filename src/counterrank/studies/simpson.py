"""Jadidinejad et al. 2021: Simpson's paradox, and what orders models as random feedback does.

Closed loop: a random 80/20 split of what users chose to rate. Open loop: the same models trained on
all of it, judged by ratings of items drawn at random. Propensities, strata and nDCG are those of
the paper's code (``propensity="published"``, ``cut="width"``), training items stay in the lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from counterrank.api.evaluate import evaluate
from counterrank.api.strata import strata
from counterrank.core.arrays import Floats
from counterrank.propensity.popularity import popularity
from counterrank.report.charts import Figure, bands, scatter
from counterrank.stratified.propensity_strata import equal_width
from counterrank.studies.closed_loop import (
    Model,
    liked,
    named_models,
    score_tables,
    shape_of,
    split_ratings,
)
from counterrank.studies.paradox_tables import pair_tables, worked_tables
from counterrank.studies.study import (
    SURE,
    Cell,
    Claim,
    ComparedTable,
    Context,
    Difference,
    Reproduction,
    State,
    Study,
    holds,
    spread,
)

CUTS = (5, 10, 20, 30, 100)
MEASURES = (*(f"nDCG@{k}" for k in CUTS), "nDCG")
METHODS = ("holdout", "IPS", "stratified", "Q1", "Q2")
WRONG, EQ3 = "IPS of other items' propensities", "IPS of Eq. 3"
TABLE6 = {
    "nDCG@5": ("-0.040", "0.051", "0.116", "0.362", "-0.288"),
    "nDCG@10": ("0.121", "0.165", "0.219", "0.418", "-0.240"),
    "nDCG@20": ("0.126", "0.118", "0.172", "0.450", "-0.195"),
    "nDCG@30": ("0.165", "0.159", "0.213", "0.467", "-0.207"),
    "nDCG@100": ("0.327", "0.360", "0.393", "0.547", "-0.186"),
    "nDCG": ("0.202", "0.225", "0.283", "0.509", "-0.208"),
}
MARKS = {  # superscripts: the methods, numbered from 1, that differ
    "nDCG@5": ("345", "345", "1245", "1235", "1234"),
    "nDCG@10": ("345", "345", "1245", "1235", "1234"),
    "nDCG@20": ("45", "45", "45", "1235", "1234"),
    "nDCG@30": ("45", "45", "45", "1235", "1234"),
    "nDCG@100": ("345", "345", "1245", "1235", "1234"),
    "nDCG": ("345", "345", "1245", "1235", "1234"),
}
SINGLE = {  # nDCG in the authors' notebook: open loop, then the methods
    "GA": (".233", ".178", ".161", ".175", ".176", ".160"),
    "MPOP": (".242", ".246", ".234", ".227", ".195", ".666"),
    "BO": (".261", ".222", ".212", ".216", ".217", ".206"),
    "MLP": (".249", ".243", ".232", ".229", ".205", ".550"),
}
MOST_POPULAR = ("0.0256", "0.0354", "0.0560", "0.0672", "0.1248", "0.2420")
LAWS = {"coat": ("4.014793", "28", "5"), "movielens-1m": (None, None, "4")}
TIES = 20  # random orders of equally popular items
Taus = Mapping[tuple[str, str], tuple[float, float | None]]
Bar = Callable[[Sequence[tuple[str, Model]], str], Iterable[tuple[str, Model]]]


def one_split(parts: Mapping[str, pl.DataFrame], seed: int, sizes: Sequence[int], bar: Bar) -> Any:
    """Taus with the open loop, tests, taus by number of strata, and the values of all models."""
    closed, chosen = parts["train"].select("user", "item", "rating"), list(named_models(sizes))
    train, test = split_ratings(closed, seed)
    runs = {loop: score_tables(own, shape_of(closed), bar(chosen, f"models, {loop} loop"))
            for loop, own in (("closed", train), ("open", closed))}  # fmt: skip
    ask = partial(
        strata, liked(test), runs["closed"], open_loop=liked(parts["test"]), open_run=runs["open"],
        propensity="published", cut="width", no_relevant="skip", test="none",
    )  # fmt: skip
    found = ask(measure=MEASURES, feedback=closed)
    # the published code looks propensities up under numbers in the order of first appearance
    place = train["item"].unique(maintain_order=True)
    other = pl.DataFrame({"item": np.arange(len(place)), "of": place})
    wrong = closed.join(other, left_on="item", right_on="of").select("user", item="item_right")
    slipped = ask(measure=MEASURES, feedback=wrong)
    several = ask(measure="nDCG", feedback=closed, strata=list(range(1, 11)))
    names = {"holdout": "holdout", "IPS": EQ3, "IPS-published": "IPS"}
    taus = {(a.measure, names.get(a.estimator, a.estimator)): a.kendall for a in found.agreement}
    taus |= {(a.measure, WRONG): a.kendall for a in slipped.agreement
             if a.estimator == "IPS-published"}  # fmt: skip
    pairs = [[p.measure, names.get(p.estimator, p.estimator), names.get(p.other, p.other), p.t,
              p.t_one_sided] for p in found.tables["agreement_pairs"]]  # fmt: skip
    return {
        "taus": [[*key, tau] for key, tau in taus.items()],
        "pairs": pairs,
        "users": [[a.measure, names.get(a.estimator, a.estimator), a.difference_low,
                   a.difference_high] for a in found.agreement],
        "numbers": [[n.strata, n.kendall, n.t_one_sided] for n in several.tables["numbers"]],
        "take": several.tables["recommendation"],
        "values": [[r.system, r.method, r.value] for r in found.estimates if r.measure == "nDCG"],
        "strata": [[s.name, s.ratings, s.items] for s in found.strata],
        "paradoxes": [len(found.paradoxes), found.audit.tested],
    }  # fmt: skip


def most_popular(parts: Mapping[str, pl.DataFrame]) -> list[tuple[float, float, float]]:
    """nDCG of the most popular items in the open loop: by id, lowest and highest of tie orders."""
    count = np.bincount(parts["train"]["item"].to_numpy(), minlength=shape_of(parts["train"])[1])
    users, rng = parts["test"]["user"].unique(), np.random.default_rng(0)
    runs = {}
    for order in range(TIES):
        score = count + rng.random(len(count)) / 2 * bool(order)
        one = pl.DataFrame({"item": np.arange(len(count)), "score": score})
        runs[str(order)] = users.to_frame().join(one, how="cross")
    found = evaluate(liked(parts["test"]), runs, measure=(*MEASURES,), no_relevant="skip",
                     test="none")  # fmt: skip
    each = {m: [r.value for r in found.estimates if r.measure == m] for m in MEASURES}
    return [(each[m][0], min(each[m]), max(each[m])) for m in MEASURES]


def law_rows(context: Context) -> list[tuple[Any, ...]]:
    """Gamma, xmin and the number of head items of a random 80/20 split."""
    rows = []
    for name, printed in LAWS.items():
        if not context.has(name):
            continue
        data = context.data(name)
        ratings = data["train"] if isinstance(data, dict) else data
        items, count = np.unique(ratings["item"].to_numpy(), return_counts=True)
        found = popularity(count, rule="published")
        test = np.random.default_rng(context.seed).random(len(ratings)) < 0.2
        own = found.value[np.searchsorted(items, ratings["item"].to_numpy()[test])]
        head = len(np.unique(own[equal_width(own, 2)[0] == 1]))
        ours = (f"{found.alpha:.6f}", str(found.xmin), str(head))
        rows.append((name, *(Cell(a, b) for a, b in zip(printed, ours, strict=True))))
    return rows


def over_splits(found: Sequence[Any]) -> dict[tuple[str, str], tuple[float, float | None]]:
    """Mean tau and its standard error over splits, by measure and method."""
    each: dict[tuple[str, str], list[float]] = {}
    for one in found:
        for measure, method, tau in one["taus"]:
            each.setdefault((measure, method), []).append(tau)
    return {key: spread(x) for key, x in each.items()}


def sure_leads(pairs: Sequence[Any], a: str, b: str) -> tuple[int, int]:
    """At how many cut-offs ``a`` surely agrees better than ``b``, and worse.

    ``pairs`` are those of all splits; sure is Williams' one-sided p below 5 %, as published, in the
    median split.
    """
    each: dict[str, list[float]] = {m: [] for m in MEASURES}
    for measure, one, other, t, p in pairs:
        if {one, other} == {a, b}:
            sign = np.sign(t or 0.0) * (1 if one == a else -1)
            each[measure].append(sign * max(SURE - (1.0 if p is None else p), 0.0))
    middle = [float(np.median(x)) for x in each.values() if x]
    return sum(x > 0 for x in middle), sum(x < 0 for x in middle)


def compare_taus(found: Sequence[Any], taus: Taus, a: str, b: str) -> Claim:
    """Whether method ``a`` agrees better with the open loop than ``b``, at how many cut-offs."""
    more, less = sure_leads([row for one in found for row in one["pairs"]], a, b)
    state: State = "holds" if more >= 4 and not less else "cannot be told here"
    state = "does not hold" if less >= 4 and not more else state
    own, other = str(METHODS.index(a) + 1), METHODS.index(b)
    printed = sum(
        own in MARKS[m][other] and float(TABLE6[m][int(own) - 1]) > float(TABLE6[m][other])
        for m in MEASURES
    )
    higher = sum(taus[m, a][0] > taus[m, b][0] for m in MEASURES)
    apart = [row for one in found for row in one["users"] if b == "holdout" and row[1] == a]
    users = (
        f" The 95 % interval over users lies above 0 in {sum(row[2] > 0 for row in apart)} of"
        f" {len(apart)} cut-offs and splits, below in {sum(row[3] < 0 for row in apart)}."
    ) * bool(apart)
    return Claim(f"{a} agrees better with the open loop than {b} (Coat).", state,
                 f"Higher at {higher} of 6 cut-offs on the mean of the splits; surely higher at"
                 f" {more}, surely lower at {less} (Williams, median split). nDCG:"
                 f" {taus['nDCG', a][0]:.3f} and {taus['nDCG', b][0]:.3f}.{users}",
                 f"surely at {printed} of 6", f"surely at {more} of 6")  # fmt: skip


def marks(pairs: Sequence[Any], measure: str, method: str) -> str:
    """The methods, numbered from 1, from which one differs: Williams' test, one-sided, 5 %."""
    sure = [row for row in pairs if row[0] == measure and row[4] is not None and row[4] < SURE]
    differ = {frozenset(row[1:3]) for row in sure}
    return "".join(str(n) for n, other in enumerate(METHODS, 1)
                   if frozenset((method, other)) in differ) or "none"  # fmt: skip


def single_models(found: Sequence[Any]) -> ComparedTable:
    """nDCG of the four models without a size in the open loop and under each method."""
    names = {"IPS-published": "IPS", "IPS": EQ3}
    rows = []
    for model, printed in SINGLE.items():
        each: dict[str, list[float]] = {}
        for system, method, value in (row for one in found for row in one["values"]):
            if system == model:
                each.setdefault(names.get(method, method), []).append(value)
        columns = ("open loop", *METHODS)
        cells = (Cell(p, *spread(each[m])) for p, m in zip(printed, columns, strict=True)
                 if m in each)  # fmt: skip
        if each:
            rows.append((model, *cells))
    return ComparedTable("Single models, Coat: nDCG", ("model", "open loop", *METHODS), rows,
                         "Paper: the authors' notebook, one split.")  # fmt: skip


def reproduce_simpson(context: Context) -> Reproduction:
    """Tables 1 to 6, Figs. 3 and 4, gamma and head items, the most popular items."""
    sizes, splits, pairs = ((10,), 1, 1) if context.quick else (tuple(range(10, 101, 10)), 3, 10)
    parts, seeds = context.data("coat"), range(context.seed, context.seed + splits)
    found = [
        context.step(f"split-{seed}", partial(one_split, parts, seed, sizes, context.progress))
        for seed in seeds
    ]
    taus, popular, laws = over_splits(found), most_popular(parts), law_rows(context)
    two_models, instances = pair_tables(context, pairs)
    numbers = np.array([[row[1] for row in one["numbers"]] for one in found]).mean(axis=0)
    systems = len({row[0] for row in found[0]["values"]})
    tables = [
        worked_tables(),
        *two_models,
        ComparedTable("Table 6, Coat: Kendall's tau with the open loop",
                      ("measure", *METHODS, WRONG, EQ3),
                      [(m, *(Cell(p, *taus[m, method]) for method, p in
                             zip(METHODS, TABLE6[m], strict=True)),
                        *(Cell(None, *taus[m, method]) for method in (WRONG, EQ3)))
                       for m in MEASURES],
                      f"{systems} models, mean of {splits} splits ± standard error over them. IPS"
                      " divides labels by propensities as published, of the right items."),
        ComparedTable("Table 6, Coat: methods that differ", ("measure", *METHODS),
                      [(m, *(Cell(p, marks(found[0]["pairs"], m, method))
                             for p, method in zip(MARKS[m], METHODS, strict=True)))
                       for m in MEASURES],
                      "1 holdout, 2 IPS, 3 stratified, 4 Q1, 5 Q2; Williams' test of every pair,"
                      " one-sided 5 % as published, first split."),
        ComparedTable("Williams' test of every pair of methods, nDCG, first split",
                      ("method", "against", "t", "one-sided p"),
                      [row[1:] for row in found[0]["pairs"] if row[0] == "nDCG"]),
        single_models(found),
        ComparedTable("Most popular items, Coat, open loop", ("measure", "nDCG", "tie orders"),
                      [(m, Cell(p, f"{x[0]:.4f}"), f"{x[1]:.4f} to {x[2]:.4f}")
                       for m, p, x in zip(MEASURES, MOST_POPULAR, popular, strict=True)],
                      f"Equally popular items by id, then lowest and highest of {TIES} orders."),
        ComparedTable("Power law of popularity and head items",
                      ("data", "gamma", "xmin", "items in Q2"),
                      laws, "The paper prints head items, its notebook Coat's gamma."),
        ComparedTable("Fig. 4: tau of nDCG by number of strata", ("strata", "tau", "one-sided p"),
                      [(str(k), Cell({1: "0.202", 2: "0.283"}.get(k), float(x)), row[2])
                       for k, (x, row) in enumerate(zip(numbers, found[0]["numbers"], strict=True),
                                                    1)],
                      "Paper: mean 0.266 for 2 to 10, 5 of 9 surely above one stratum. p is"
                      " Williams' against holdout, first split. " + " ".join(found[0]["take"])),
    ]  # fmt: skip
    told = [*claims_of(found, taus, popular, laws, numbers), *instances]
    figures = _figures(found[0], taus, numbers)
    return Reproduction(tables, told, _differences(taus, splits), _notes(context, systems), figures)


def claims_of(
    found: Sequence[Any], taus: Taus, popular: Sequence[tuple[float, float, float]],
    laws: Sequence[tuple[Any, ...]], numbers: Floats,
) -> list[Claim]:  # fmt: skip
    """The paper's sentences about Coat."""
    higher, flips = int(np.sum(numbers[1:] > numbers[0])), [one["paradoxes"] for one in found]
    inside = [
        x[1] - 5e-5 <= float(p) <= x[2] + 5e-5 for p, x in zip(MOST_POPULAR, popular, strict=True)
    ]
    printed = [cell for row in laws for cell in row[1:] if cell.paper is not None]
    same = sum(cell.paper == cell.ours for cell in printed)
    pairs = [row for one in found for row in one["pairs"]]
    better, worse = sure_leads(pairs, "IPS", "holdout")
    apart = sum(sum(sure_leads(pairs, m, "holdout")) for m in ("stratified", "Q1", "Q2"))
    ips: State = "does not hold" if better else "holds" if apart else "cannot be told here"
    sure = int(np.median([sum(row[2] < SURE for row in one["numbers"][1:]) for one in found]))
    several: State = "holds" if higher == 9 and sure >= 5 else "cannot be told here"
    return [
        Claim("The most popular items score as printed in Coat's open loop, up to tie order.",
              holds(all(inside)),
              f"{sum(inside)} of 6 printed values lie within those of {TIES} tie orders, which are"
              f" {max(x[2] - x[1] for x in popular):.4f} wide at most.",
              "6 values", f"{sum(inside)} agree"),
        Claim("Gamma, its xmin and the number of head items are as printed.",
              holds(same == len(printed)), "The head items are of a random split, as in the paper.",
              f"{len(printed)} figures", f"{same} agree"),
        *(compare_taus(found, taus, a, b) for a, b in (
            ("stratified", "holdout"), ("Q1", "stratified"), ("holdout", "Q2"),
            ("stratified", "IPS"))),
        Claim("IPS is nowhere surely better than holdout (Coat).", ips,
              f"The test tells other methods from holdout {apart} times of 18. Surely higher at"
              f" {better} of 6 cut-offs, surely lower at {worse} (Williams, median split). nDCG:"
              f" IPS {taus['nDCG', 'IPS'][0]:.3f} with the right items' propensities,"
              f" {taus['nDCG', WRONG][0]:.3f} with others' as the code looks them up, holdout"
              f" {taus['nDCG', 'holdout'][0]:.3f}.",
              "surely at 0 of 6", f"surely at {better} of 6"),
        Claim("Any number of strata from 2 to 10 agrees better than one (Coat, Fig. 4).",
              "does not hold" if higher < 5 else several,
              f"{higher} of 9 are above one stratum, {sure} surely (Williams, median split).",
              "9 of 9, 5 surely", f"{higher} of 9, {sure} surely"),
        Claim("Holdout evaluation of these models shows Simpson's paradox beyond chance (Coat).",
              "holds" if all(x for x, _ in flips) else "cannot be told here",
              "; ".join(f"{x} of {n:,} pairs and measures proven" for x, n in flips) + ".",
              "Table 5", ", ".join(str(x) for x, _ in flips)),
    ]  # fmt: skip


def _differences(taus: Taus, splits: int) -> list[Difference]:
    """The five cells of Table 6 farthest off, and what the spread over splits says of them."""
    cells = [(abs(taus[m, method][0] - float(TABLE6[m][k])), m, method, TABLE6[m][k])
             for m in MEASURES for k, method in enumerate(METHODS)]  # fmt: skip
    out = []
    for apart, m, method, printed in sorted(cells, reverse=True)[:5]:
        ours, se = taus[m, method]
        why = "Not traced: one split was made here."
        if se is not None:
            sd = se * splits**0.5
            why = f"The paper has one split, and splits differ by {sd:.3f} (standard deviation)"
            enough = apart < 3 * sd * (1 + 1 / splits) ** 0.5
            why += ": enough." if enough else "; what is beyond that was not traced."
        if method == "IPS":
            other = taus[m, WRONG][0]
            near = abs(other - float(printed)) < apart
            why += f" Looked up under other items, as published, IPS has {other:.3f}: that is "
            why += "part of it." if near else "not why."
        out.append(Difference(f"Table 6, {method}, {m}", printed, ours, why))
    return out


def _figures(one: Any, taus: Taus, numbers: Floats) -> list[Figure]:
    """Open against closed loop under three methods, and tau by the number of strata."""
    value = {(system, method): x for system, method, x in one["values"]}
    lines = [
        {"strata": k, "tau": float(x), "method": "stratified"} for k, x in enumerate(numbers, 1)
    ]
    loops = [
        Figure(f"loops-{name}", f"Fig. 3b: {name} against the open loop",
               f"One point per model, first split; mean tau of the splits"
               f" {taus['nDCG', name][0]:.2f}.",
               [{"model": s, "open loop": value[s, "open loop"], name: x, "kind": s.split("-")[0]}
                for (s, m), x in value.items() if m == name],
               scatter("open loop", name, name="model", mark="kind",
                       titles=("nDCG in the open loop", f"nDCG, {name}")))
        for name in ("Q1", "Q2", "holdout")
    ]  # fmt: skip
    return [
        *loops,
        Figure("strata", "Fig. 4b: agreement by number of strata", "Mean over splits.", lines,
               bands("strata", "tau", by="method", x_title="strata", title="tau", band="no")),
    ]  # fmt: skip


def _notes(context: Context, systems: int) -> list[str]:
    absent = [name for name in ("yahoo-r3", "netflix") if not context.has(name)]
    stars = context.has("movielens-1m") and "rating" in context.data("movielens-1m").columns
    return [
        f"{systems} models{' of the 104' * (systems < 104)}, in NumPy with the published settings;"
        " WMF by alternating least squares. NMF is listed in the paper and not in its 104.",
        "Models of one kind differ from the library used in the paper in how steps are batched. Two"
        " of its habits matter: its networks see 256 rated pairs and 1,024 others in a step, and"
        " where an item drawn as not preferred is rated, nothing is learned. Without the latter"
        " WBPR avoids popular items, and tau of Q2 rises from about -0.26 to -0.06 (34 models).",
        "Models whose scores are all alike (GA) are ordered by item id here, arbitrarily there.",
        "The published split has no seed, so its exact values cannot be made again.",
        *["MovieLens-1M is at hand without stars: Table 2 is of MovieLens-100K, and only the head"
          " items are of MovieLens-1M."] * (not stars),
        "Table 5 prints the counts of its closed loop in the row of the open loop, which has 4,640"
        " ratings of 300 items.",
        *[f"Not at hand: {', '.join(absent)} (Tables 3 and 4; with yahoo-r3, Table 4 is made)."]
        * bool(absent),
        "Yahoo!'s half of Table 6 is not made: 104 lists of 15,400 users are more than fits into"
        " memory.",
    ]  # fmt: skip


STUDY = Study(
    "simpson", "Simpson's paradox in offline evaluation",
    "Jadidinejad, Macdonald and Ounis 2021: The Simpson's Paradox in the Offline Evaluation of"
    " Recommendation Systems, ACM TOIS",
    ("coat",), 12, reproduce_simpson,
)  # fmt: skip
