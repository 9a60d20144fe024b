"""Valcarce et al. 2020 on MovieLens-100K: which findings hold for 27 recommenders? As Markdown.

    pip install 'counterrank[models]'
    python studies/assess_movielens.py --data ../shared/data/movielens-100k --work /tmp/ml100k-runs

Five folds of ratings at random. Each fold is assessed by itself; what is said of all is the mean
over folds, and its spread shows how much another split would change. Work that is stopped goes on
where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from movielens import write

import counterrank as cr
from counterrank.assess.reduced_judgments import REDUCTIONS
from counterrank.core.parallel import bar

NINE = ("P", "Recall", "F1", "AP", "nDCG", "RR", "ERR", "Bpref", "InfAP")
GRADED = ("nDCG", "ERR")
LABELS = tuple(f"{n}@100" if n in GRADED else f"{n}(rel=4)@100" for n in NINE)
GEOMETRIC = tuple(
    f"{n}(mean=geometric)@100" if n in GRADED else f"{n}(mean=geometric,rel=4)@100" for n in NINE
)
TOP = 3  # "among the most" is among the first three of nine

Areas = dict[tuple[str, str], np.ndarray]  # (reduction, measure) -> one area for each fold


def main() -> None:
    """Make the runs, assess every fold, print the tables and the findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/movielens-100k"))
    parser.add_argument("--work", type=Path, default=Path("ml100k-runs"))
    parser.add_argument("--samples", type=int, default=50)
    given = parser.parse_args()
    folds = write(given.data, given.work)
    robust = [robustness(fold, given.samples) for fold in folds]
    dp = np.array([powers(fold) for fold in folds])
    areas = over_folds(robust)
    print(table(areas, dp.mean(axis=0)))
    print()
    print("\n".join(findings(areas, dp, robust)))


def inputs(fold: Path) -> tuple[str, list[str]]:
    """Judgments and runs of one fold."""
    return str(fold / "judgments.parquet"), sorted(map(str, (fold / "runs").glob("*.parquet")))


def robustness(fold: Path, samples: int) -> cr.Result:
    """The nine measures under both means and all five kinds of loss."""
    return cr.assess_robustness(
        *inputs(fold), rel=4, samples=samples, resume=fold / "robustness", progress=bar
    )


def powers(fold: Path) -> list[float]:
    """Sum of the p-values of all pairs, for each of the nine."""
    found = cr.assess_power(
        *inputs(fold), measure=LABELS, resamples=200, resume=fold / "power", progress=bar
    )
    value = {row.measure: row.value for row in found.estimates}
    return [value[label] for label in LABELS]


def over_folds(results: list[cr.Result]) -> Areas:
    """The areas of every fold, by kind of loss and measure."""
    found: dict[tuple[str, str], list[float]] = {}
    for result in results:
        for row in (*result.estimates, *result.tables["areas"]):
            found.setdefault((row.reduction, row.measure), []).append(row.value)
    return {key: np.array(x) for key, x in found.items()}


def table(areas: Areas, dp: np.ndarray) -> str:
    """One line per measure: areas, then DP; geometric means below."""
    lines = [
        "| measure | all | " + " | ".join(REDUCTIONS) + " | DP |",
        "|---|---|" + "---|" * (len(REDUCTIONS) + 1),
    ]
    for labels in (LABELS, GEOMETRIC):
        for label in sorted(labels, key=lambda m: -areas["all", m].mean()):
            cells = [f"{areas[kind, label].mean():.3f}" for kind in ("all", *REDUCTIONS)]
            power = f"{dp[LABELS.index(label)]:.2f}" if label in LABELS else ""
            lines.append(f"| `{label}` | " + " | ".join(cells) + f" | {power} |")
    spread = max(float(x.std(ddof=1)) for x in areas.values())
    return "\n".join([*lines, "", f"Largest standard deviation over folds: {spread:.3f}."])


def findings(areas: Areas, dp: np.ndarray, results: list[cr.Result]) -> list[str]:
    """The paper's findings one by one: on the mean of the folds, and in how many folds."""
    out = [_ranked("nDCG is among the most discriminative", -dp, lambda o: "nDCG" in o[:TOP])]
    for kind in REDUCTIONS:
        area = np.stack([areas[kind, label] for label in LABELS], axis=1)
        if kind == "large_users":
            text = "RR and ERR are not among the least robust"
            out.append(_ranked(f"{kind}: {text}", area, lambda o: not {"RR", "ERR"} & {*o[-TOP:]}))
            continue
        out.append(_ranked(f"{kind}: P is among the most robust", area, lambda o: "P" in o[:TOP]))
        text = f"{kind}: RR and ERR are among the least robust"
        out.append(_ranked(text, area, lambda o: {"RR", "ERR"} <= {*o[-TOP:]}))
    for name in ("P", "nDCG"):
        gain = difference(areas, name)
        text = f"large_users: geometric {name} is more robust than arithmetic"
        out.append(_said(text, gain.mean() > 0, gain > 0, f"{gain.mean():+.3f}"))
    half = np.array([at_half(result) for result in results])
    shown = ", ".join(f"{n} {x:.3f}" for n, x in zip(NINE, half.mean(axis=0), strict=True))
    text = "ratings: tau is above 0.9 with half of them removed"
    out.append(
        _said(text, bool(np.all(half.mean(axis=0) > 0.9)), np.all(half > 0.9, axis=1), shown)
    )
    return out


def _ranked(finding: str, x: np.ndarray, holds: Callable[[list[str]], bool]) -> str:
    """A finding about the order of the nine, the best first; ``x`` is folds x measures."""
    orders = [[NINE[m] for m in np.argsort(-row)] for row in (x.mean(axis=0), *x)]
    verdicts = np.array([holds(order) for order in orders])
    return _said(finding, bool(verdicts[0]), verdicts[1:], f"best first: {', '.join(orders[0])}")


def difference(areas: Areas, name: str) -> np.ndarray:
    """Geometric less arithmetic, fold by fold, where large users are lost."""
    place = NINE.index(name)
    return areas["large_users", GEOMETRIC[place]] - areas["large_users", LABELS[place]]


def at_half(result: cr.Result) -> list[float]:
    """Tau of each of the nine with half of the ratings."""
    found = {
        row.measure: row.tau
        for row in result.tables["curves"]
        if row.reduction == "ratings" and row.size == 0.5
    }
    return [found[label] for label in LABELS]


def _said(finding: str, holds: bool, folds: np.ndarray, numbers: str) -> str:
    verdict = "holds" if holds else "does not hold"
    return f"- {verdict} (in {folds.sum()} of {len(folds)} folds): {finding}; {numbers}."


if __name__ == "__main__":
    main()
