"""Errors of the estimators on a platform whose truth is known, as Markdown.

    python studies/estimator_errors.py

Root mean squared error of every estimator over replications of one world, by size of the log and by
distance between the logged and the target ranker; and how well the clip sweep chooses.
"""

from __future__ import annotations

import argparse

import numpy as np

import counterrank as cr
from counterrank.simulate import World, platform

LABELS = ("IPS", "SNIPS", "DM", "DR", "SNDR", "DCG", "DCG(discount=learnt)")
TARGETS = ("near", "far", "random", "ideal")


def errors(examination: str, sessions: int, replications: int) -> dict[tuple[str, str], float]:
    """Relative root mean squared error by target and estimator, the sweep's choice among them."""
    world = World(examination=examination)
    truth = world.truth()
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(replications):
        sample = platform(world, sessions=sessions, seed=seed, runs=list(TARGETS))
        result = cr.estimate(
            sample.log,
            sample.runs,
            reward="click",
            position_bias=f"{examination}@10",
            context="context",
            estimator=LABELS,
            sweep="clip",
            test="none",
        )
        for row in result.estimates:
            found.setdefault((row.system, row.measure), []).append(row.value)
        for row in result.sweep:
            found.setdefault((row.system, f"{row.measure} {row.clip:g}"), []).append(row.value)
        for kind in ("IPS", "DR"):
            for name in TARGETS:
                rows = [r for r in result.sweep if (r.system, r.measure) == (name, kind)]
                best = min(rows, key=lambda r: (round(r.error, 12), -r.clip))
                found.setdefault((name, f"{kind} chosen"), []).append(best.value)
    return {
        key: float(np.sqrt(np.mean((np.array(x) / truth[key[0]]["click"].value - 1) ** 2)))
        for key, x in found.items()
        if key[0] != "logged"
    }


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 1000, 4000, 16000])
    given = parser.parse_args()
    by_size = {n: errors("power(eta=1)", n, given.replications) for n in given.sizes}
    print("| target | sessions | " + " | ".join(f"`{label}`" for label in LABELS) + " |")
    print("|---|---|" + "---|" * len(LABELS))
    for name in TARGETS:
        for n, found in by_size.items():
            cells = [f"{found[name, label]:.1%}" for label in LABELS]
            print(f"| {name} | {n:,} | " + " | ".join(cells) + " |")
    by_size = {n: errors("geometric(p=0.5)", n, given.replications) for n in given.sizes}
    print()
    print("| target | sessions | best fixed clip of IPS | its error | chosen | ratio |")
    print("|---|---|---|---|---|---|")
    ratios = []
    for name in TARGETS:
        for n, found in by_size.items():
            swept = {k[1]: v for k, v in found.items() if k[0] == name}
            fixed = {k[4:]: v for k, v in swept.items() if k[:4] == "IPS " and "chosen" not in k}
            best = min(fixed, key=lambda clip: fixed[clip])
            chosen = found[name, "IPS chosen"]
            ratios.append(chosen / fixed[best])
            cells = (f"{fixed[best]:.1%}", f"{chosen:.1%}", f"{ratios[-1]:.2f}")
            print(f"| {name} | {n:,} | {best} | " + " | ".join(cells) + " |")
    print(f"\nMean ratio {np.mean(ratios):.3f}.")


if __name__ == "__main__":
    main()
