"""What the assessment of measures found, beside Valcarce et al. 2020: tables, claims, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from counterrank.api.check import check
from counterrank.assess.reduced_judgments import REDUCTIONS
from counterrank.assess.request import NINE
from counterrank.core.format import in_a_sentence
from counterrank.report.charts import Figure, bands, grid
from counterrank.report.figures.assess_charts import CURVE
from counterrank.studies.recommenders import FAMILIES
from counterrank.studies.study import (
    Cell,
    Claim,
    ComparedTable,
    Difference,
    Reproduction,
    State,
    holds,
)

ORIGINAL = "movielens-1m"
CUT, USERS, TOP = 100, 6040, 3  # the first three of nine are the foremost
GEOMETRIC = tuple(f"G{name}" for name in NINE)
TABLE2 = {
    "movielens-1m": ("6,040", "3,706", "1,000,209", "4.468%", "0.529", "0.634"),
    "librarything": ("7,279", "37,232", "749,401", "0.277%", "0.493", "0.581"),
    "beeradvocate": ("33,388", "66,055", "1,571,808", "0.071%", "0.868", "0.865"),
}
TABLE3 = {
    "movielens-1m": (3.774, 3.066, 6.316, 2.335, 1.044, 6.063, 4.603, 3.000, 2.984),
    "librarything": (2.783, 4.059, 1.879, 1.889, 0.001, 0.753, 0.411, 2.115, 0.493),
    "beeradvocate": (1.989, 2.909, 1.949, 7.009, 3.119, 4.940, 8.127, 6.310, 2.181),
}
TWINS = {"AP": "0.92", "F1": "0.42"}  # tau of the two means, as printed
SLIPS = ("F1", "RR")  # in their geometric means the authors' evaluator takes 0 for 1
FIGURES = {"ratings": (3, 10), "items": (5, 11), "popular_items": (6, 12), "users": (7, 13),
           "large_users": (8, 14)}  # fmt: skip


def at_size(power: Any, times: float) -> dict[str, float]:
    """DP if there were so many times the users: z of each pair grows by the square root."""
    return {name: float((2 * ndtr(ndtri(np.array(p) / 2) * np.sqrt(times))).sum())
            for name, p in power["curves"].items()}  # fmt: skip


@dataclass(frozen=True)
class Assessment:
    """All that was found on data of a name, of so many ``users``, with the settings ``chosen``.

    ``power``, ``losses`` by kind and ``taus`` by two measures are as `metric_assessment` finds
    them; ``listed`` is the share of all lists that is judged.
    """

    name: str
    chosen: Mapping[str, Mapping[str, Any]]
    power: Any
    taus: dict[tuple[str, str], float]
    losses: dict[str, Any]
    listed: float
    users: int

    @property
    def original(self) -> bool:
        """Whether the data are the paper's."""
        return self.name == ORIGINAL

    @property
    def sizes(self) -> list[float]:
        """Shares that are left, falling."""
        return list(dict.fromkeys(size for _, size, _ in self.losses["ratings"]["curves"]))

    def area(self, kind: str, name: str) -> float:
        """Mean tau over sizes."""
        return float(self.losses[kind]["areas"][name][0])

    def order(self, kind: str, names: Sequence[str] = NINE) -> list[str]:
        """The most robust first."""
        return sorted(names, key=lambda name: -self.area(kind, name))

    def apart(self, names: Sequence[str], but: Sequence[str] = ()) -> dict[str, float]:
        """The two measures with the lowest mean tau with the others (``but`` some)."""
        mean = {a: float(np.mean([self.taus[a, b] for b in names if b != a and b not in but]))
                for a in names}  # fmt: skip
        return {name: mean[name] for name in sorted(names, key=mean.__getitem__)[:2]}


def report_assessment(
    found: Assessment, ratings: Mapping[str, pl.DataFrame], protocol: str
) -> Reproduction:
    """Tables 2 and 3, what the figures show in numbers, claims and figures.

    ``ratings`` are those of data sets by name; ``protocol`` tells the size of the run.
    """
    statistics = {name: _statistics(own) for name, own in ratings.items()}
    tables = [_table_2(statistics), _table_3(found), _twins(found), _areas(found), _settings(found)]
    claims = _claims(found, statistics[ORIGINAL])
    figures = _figures(found)
    return Reproduction(tables, claims, _differences(found), _notes(found, protocol), figures)


def _statistics(ratings: pl.DataFrame) -> tuple[str, ...]:
    """As ``check`` tells them; without stars every pair is a rating of 1."""
    judged = ratings.select("user", "item").with_columns(rating=1)
    r = check({"ratings": judged}).tables["tables"][0]
    return (f"{r.users:,}", f"{r.items:,}", f"{r.rows:,}", f"{r.density:.3%}",
            f"{r.user_gini:.3f}", f"{r.item_gini:.3f}")  # fmt: skip


def _table_2(statistics: Mapping[str, Sequence[str]]) -> ComparedTable:
    rows = []
    for name in dict.fromkeys([*TABLE2, *statistics]):
        none = (None,) * 6
        pairs = zip(TABLE2.get(name, none), statistics.get(name, none), strict=True)
        rows.append((name, *(Cell(*pair) for pair in pairs)))
    heads = ("data", "users", "items", "ratings", "density", "user Gini", "item Gini")
    return ComparedTable(
        "Table 2: data sets",
        heads,
        rows,
        "Here: what `counterrank check` prints of the ratings as judgments.",
    )


def _table_3(found: Assessment) -> ComparedTable:
    times = USERS / found.users
    scaled, rows = at_size(found.power, times), found.power["rows"]
    heads = ("measure", "DP, MovieLens", "a user's mean over folds", f"at {USERS:,} users",
             "pairs with p <= 0.05", "DP, LibraryThing", "DP, BeerAdvocate")  # fmt: skip
    return ComparedTable(
        "Table 3: discriminative power, the sum of p-values of 210 pairs", heads,
        [(name, Cell(TABLE3[ORIGINAL][m], rows[name]["value"], rows[name]["se"]),
          rows[name]["by_user"], scaled[name], f"{rows[name]['significant']:.1%}",
          *(Cell(TABLE3[data][m], None) for data in list(TABLE3)[1:]))
         for m, name in enumerate(NINE)],
        f"Lower is better. Here on {found.name}; a standard error is over resampled users. The"
        " paper does not say how folds are merged: pooled here, then by each user's mean. At"
        f" {USERS:,} users, as MovieLens-1M has, each pair's z is multiplied by {times**0.5:.2f}.",
    )  # fmt: skip


def _twins(found: Assessment) -> ComparedTable:
    return ComparedTable(
        "Arithmetic against geometric mean: tau of the systems' orders",
        ("measure", "tau", "tau, zeros taken for 1"),
        [(name, Cell(TWINS.get(name), raised), zeros if name in SLIPS else None)
         for name, (raised, zeros) in found.power["twins"].items()],
        "The geometric mean raises values to at least 0.00001. The authors' evaluator takes the"
        " logarithm of a user's 0 for 0 in F1 and RR, as if the list were perfect: last column.",
    )  # fmt: skip


def _areas(found: Assessment) -> ComparedTable:
    return ComparedTable(
        "Figs. 3, 5 to 8 and 10 to 14 in numbers: area under the curve of tau",
        ("measure", *(kind.replace("_", " ") for kind in REDUCTIONS)),
        [(name, *(found.area(kind, name) for kind in REDUCTIONS)) for name in (*NINE, *GEOMETRIC)],
        "1 is an order of systems that never changes as judgments go missing. The paper prints"
        " curves only. G is the geometric mean. Monte Carlo error at most "
        f"{max(se for own in found.losses.values() for _, se in own['areas'].values()):.4f}.",
    )  # fmt: skip


def _settings(found: Assessment) -> ComparedTable:
    rows = [
        (name, ", ".join(f"{k}={x}" for k, x in own.items()) or "-", len(FAMILIES[name].settings))
        for name, own in found.chosen.items()
    ]
    note = (
        "The paper does not give its settings. Taken is the best nDCG@100 on a tenth of the first"
        " fold's training ratings; in the quick form, the first."
    )
    return ComparedTable("Recommenders", ("name", "setting", "settings tried"), rows, note)


def _claims(found: Assessment, statistics: Sequence[str]) -> list[Claim]:
    """The paper's sentences, each with the numbers that decide it."""
    right = sum(a == b for a, b in zip(TABLE2[ORIGINAL], statistics, strict=True))
    dp = {name: row["value"] for name, row in found.power["rows"].items()}
    first, pair, twin_pair = min(dp, key=dp.__getitem__), ("RR", "ERR"), ("GF1", "GRR")
    far, others = ([found.apart(names, but) for but in ((), two)]
                   for names, two in ((NINE, pair), (GEOMETRIC, twin_pair)))  # fmt: skip
    twins, half = found.power["twins"], _at_half(found)
    random = [kind for kind in REDUCTIONS if kind != "large_users"]
    best = [kind for kind in random if "P" in found.order(kind)[:TOP]]
    last = [kind for kind in random if {"RR", "ERR"} <= {*found.order(kind)[-TOP:]}]
    large, low = found.order("large_users"), ("P", "F1", "nDCG")
    gain = {name: found.area("large_users", f"G{name}") - found.area("large_users", name)
            for name in ("P", "nDCG")}  # fmt: skip
    mean = {kind: np.mean([found.area(kind, n) for n in NINE]) for kind in REDUCTIONS[:3]}
    worst = [k for k in REDUCTIONS if {"GF1", "GRR"} == {*found.order(k, GEOMETRIC)[-2:]}]
    slips = [name for name in SLIPS if twins[name][1] < twins[name][0] - 0.2]
    lost = _lost_at_half(found)
    return [
        Claim("Table 2: statistics of MovieLens-1M.", holds(right == 6),
              f"{right} of 6 to the digits printed.", "6 figures", f"{right} agree"),
        Claim("nDCG has the lowest DP, so the highest discriminative power (MovieLens).",
              _lowest(found.power["rows"]), " ".join(found.power["says"]).replace(f"@{CUT}", ""),
              "nDCG 1.04", f"{first} {dp[first]:.2f}"),
        Claim("nDCG has the lowest DP over all three data sets together.", "cannot be told here",
              "LibraryThing and BeerAdvocate are not at hand.", "4.16"),
        Claim("RR and ERR order the systems unlike the other measures (Fig. 1).",
              _both_ways(far, pair), _farthest(far, pair)),
        Claim("GF1 and GRR lie apart from the other geometric means (Fig. 9).",
              _both_ways(others, twin_pair), _farthest(others, twin_pair) +
              f" Tau of F1 and GF1 is {twins['F1'][0]:.2f}, of RR and GRR {twins['RR'][0]:.2f};"
              f" with zeros taken for 1, as the authors' evaluator does, {twins['F1'][1]:.2f} and"
              f" {twins['RR'][1]:.2f}. The paper puts it down to reciprocals; the slip"
              f" explains {in_a_sentence(slips) if slips else 'neither'} here.",
              "tau(F1, GF1) 0.42", f"{twins['F1'][0]:.2f}; {twins['F1'][1]:.2f} with the slip"),
        Claim("AP and its geometric mean order the systems nearly alike.",
              holds(twins["AP"][0] > 0.85), "", "tau 0.92", f"{twins['AP'][0]:.2f}"),
        Claim("With half of the ratings gone at random tau stays above 0.9 for all nine (Fig. 3).",
              holds(min(half.values()) > 0.9),
              f"Lowest: {min(half, key=half.__getitem__)}.", "> 0.9", f"{min(half.values()):.3f}"),
        Claim("P is among the most robust: ratings, items, users at random, popular items.",
              holds(len(best) == 4), f"P is {_places(found, random, 'P')} of nine.", "4 of 4",
              f"{len(best)} of 4"),
        Claim("RR and ERR are among the least robust in these four.", holds(len(last) == 4),
              f"RR is {_places(found, random, 'RR')}, ERR {_places(found, random, 'ERR')}.",
              "4 of 4",
              f"{len(last)} of 4"),
        Claim("Under the loss of large users RR and ERR are the most robust (Fig. 8).",
              holds({"RR", "ERR"} <= {*large[:TOP]}), f"Best first: {', '.join(large)}."),
        Claim("There P, F1 and nDCG are less robust than RR and ERR.",
              holds(max(map(large.index, ("RR", "ERR"))) < min(map(large.index, low))),
              ", ".join(f"{n} {found.area('large_users', n):.3f}" for n in large) + "."),
        Claim("There the geometric means of P and nDCG are more robust than the arithmetic ones.",
              holds(min(gain.values()) > 0),
              "Areas rise by " + in_a_sentence([f"{x:.3f} ({n})" for n, x in gain.items()]) + "."),
        Claim("Items lost at random cost more of the order than ratings, users least.",
              holds(mean["users"] > mean["ratings"] > mean["items"]),
              "Mean area of the nine: " + ", ".join(f"{k} {x:.3f}" for k, x in mean.items()) + "."),
        Claim("GF1 and GRR are the least robust geometric means under every loss.",
              holds(len(worst) == 5),
              "With 0 raised to 0.00001; the evaluator's slip was not followed here.", "5 of 5",
              f"{len(worst)} of 5"),
        Claim("As ratings go missing P falls least and in proportion (Fig. 4).",
              holds(min(lost, key=lambda n: lost[n][0]) == "P" and abs(lost["P"][1] - 0.5) < 0.05),
              "Loss at half the ratings, and the share left: " + ", ".join(
                  f"{n} {x:.3f} ({share:.0%})" for n, (x, share) in lost.items()) + "."),
        Claim("One in twenty of the first 100 items is judged (MovieLens).",
              _if_original(found, abs(found.listed - 0.05) < 0.005),
              f"On {found.name}; mean of all recommenders.", "5%", f"{found.listed:.1%}"),
    ]  # fmt: skip


def _lowest(rows: Mapping[str, Any], name: str = "nDCG") -> State:
    """Whether its DP lies surely below all others, or surely above one: intervals do not meet."""
    others = [row for other, row in rows.items() if other != name]
    if rows[name]["high"] < min(row["low"] for row in others):
        return "holds"
    above = rows[name]["low"] > min(row["high"] for row in others)
    return "does not hold" if above else "cannot be told here"


def _both_ways(far: Sequence[Mapping[str, float]], pair: Sequence[str]) -> State:
    """Whether two measures lie farthest from the rest, if their own likeness counts and if not."""
    ways = {set(pair) == set(own) for own in far}
    return holds(ways.pop()) if len(ways) == 1 else "cannot be told here"


def _farthest(far: Sequence[Mapping[str, float]], pair: Sequence[str]) -> str:
    said = [", ".join(f"{name} {x:.2f}" for name, x in own.items()) for own in far]
    return (
        f"Lowest mean tau with all others: {said[0]}; with all others but {pair[0]} and {pair[1]}:"
        f" {said[1]}."
    )


def _if_original(found: Assessment, truth: bool) -> State:
    return holds(truth) if found.original else "cannot be told here"


def _at_half(found: Assessment) -> dict[str, float]:
    return {name: tau for name, size, tau in found.losses["ratings"]["curves"]
            if size == 0.5 and name in NINE}  # fmt: skip


def _lost_at_half(found: Assessment) -> dict[str, tuple[float, float]]:
    """What the mean value over systems loses with half of the ratings, and what share is left."""
    values, half = found.losses["ratings"]["values"], found.sizes.index(0.5)
    pairs = {name: (values[name][0], values[name][half]) for name in NINE}
    return {name: (full - half, half / full) for name, (full, half) in pairs.items()}


def _places(found: Assessment, kinds: Sequence[str], name: str) -> str:
    places = [f"{found.order(kind).index(name) + 1} ({kind.replace('_', ' ')})" for kind in kinds]
    return "number " + in_a_sentence(places)


def _differences(found: Assessment) -> list[Difference]:
    """The five cells of Table 3 farthest off by ratio, and what the number of users explains."""
    scaled, rows = at_size(found.power, USERS / found.users), found.power["rows"]
    ratio = {n: rows[n]["value"] / TABLE3[ORIGINAL][m] for m, n in enumerate(NINE)}
    out = []
    for name in sorted(ratio, key=lambda n: -abs(np.log(ratio[n])))[:5]:
        printed, own = TABLE3[ORIGINAL][NINE.index(name)], rows[name]
        low, high = (own[end] * scaled[name] / own["value"] for end in ("low", "high"))
        why = "Settings of the 21 recommenders are not published; not traced further."
        if not found.original:
            toward = (printed - own["value"]) * (scaled[name] - own["value"]) > 0
            few = sum(found.power["curves"][name][:5]) / own["value"]
            tells = "which holds the printed value"
            if not low <= printed <= high:
                tells = "more than the way there" if toward else "farther off, so it is not that"
                tells += (
                    f". Five pairs of systems that are nearly alike make up {few:.0%} of the sum:"
                    " it hangs on settings, and those of the paper are not known"
                )
            why = (
                f"The number of users: with {USERS:,} instead of {found.users:,} and the same"
                f" differences it would be {scaled[name]:.2f} ({low:.2f} to {high:.2f} over"
                f" users), {tells}. Merging folds by each user's mean gives {own['by_user']:.2f}."
            )
        out.append(Difference(f"Table 3, {name}, MovieLens", printed, own["value"], why))
    return out


def _notes(found: Assessment, protocol: str) -> list[str]:
    absent = (
        "MovieLens-1M is at hand without stars, which relevance, nDCG and ERR need: Table 3 and the"
        " figures are made on MovieLens-100K. With `ratings.dat` under --data the study takes"
        " MovieLens-1M, for hours."
    )
    return [
        *[absent] * (not found.original),
        "LibraryThing and BeerAdvocate are not at hand.",
        "All 21 recommenders of the paper are here: LDA by scikit-learn, the others in NumPy and"
        " SciPy. SLIM learns each item from its 50 nearest (its authors' fsSLIM); UIR-Item has"
        " Bayes' smoothing. Few settings are tried, so that a full run ends in minutes.",
        protocol,
        "Whoever is in five folds counts five times, and tests take these for independent. The"
        " column of users' means in Table 3 does not.",
    ]


def _figures(found: Assessment) -> list[Figure]:
    """Figs. 1 to 14, in their order; bands are left out, as in the paper."""
    by_size: dict[str, Any] = {"x_title": "share kept", "by": "measure", "band": "no"}
    figures: dict[int, tuple[str, str, list[dict[str, Any]], dict[str, Any]]] = {}
    for number, names, mean in ((1, NINE, "arithmetic"), (9, GEOMETRIC, "geometric")):
        pairs = [(a, b) for a in names for b in names if a != b]
        figures[number] = (
            f"tau of every two measures, {mean} means",
            "Dark cells are measures that order the systems alike.",
            [{"measure": a, "other": b, "tau": found.taus[a, b]} for a, b in pairs],
            grid("other", "measure", "tau", order=list(names), title="tau"),
        )
    curves = found.power["curves"].items()
    figures[2] = (
        f"the {CURVE} largest p-values",
        "A curve that falls early leaves few pairs of systems undecided.",
        [{"measure": n, "pair": k, "p": p} for n, x in curves for k, p in enumerate(x[:CURVE], 1)],
        bands("pair", "p", by="measure", x_title="pair, largest p first", title="p", band="no"),
    )
    values, sizes = found.losses["ratings"]["values"], found.sizes
    figures[4] = (
        "values as ratings go missing at random",
        "Absolute values, mean of all systems.",
        [{"measure": name, "size": size, "value": value}
         for name in NINE for size, value in zip(sizes, values[name], strict=True)],
        bands("size", "value", title="value", **by_size),
    )  # fmt: skip
    for kind, numbers in FIGURES.items():
        for number, names in zip(numbers, (NINE, GEOMETRIC), strict=True):
            rows = found.losses[kind]["curves"]
            figures[number] = (
                f"tau with the full order, loss of {kind.replace('_', ' ')}",
                "Further up is more robust.",
                [{"measure": n, "size": size, "tau": tau} for n, size, tau in rows if n in names],
                bands("size", "tau", title="tau", **by_size),
            )
    return [
        Figure(f"fig{number}", f"Fig. {number}, {found.name}: {title}", reading, rows, chart)
        for number, (title, reading, rows, chart) in sorted(figures.items())
    ]
