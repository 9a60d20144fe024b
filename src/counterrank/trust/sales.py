"""What the numbers of each run rest on, where they come from clicks and conversions."""

from __future__ import annotations

from collections.abc import Mapping

from counterrank.conversions import Key, Valued, VarianceRatio, Work
from counterrank.estimates import Estimate
from counterrank.logged import Clipped, MeanWeight
from counterrank.trust import funnels as about
from counterrank.trust.diagnosis import Diagnosis


def sales(
    done: Mapping[str, Valued], found: Mapping[Key, Estimate], work: Work, level: float
) -> list[Diagnosis]:
    """By the first measure and reward, except clipping and the contest of DR and IPS."""
    reward = next(iter(work.ledger.reward))
    first = str(work.measures[0])
    out = [about.idle_users(work.ledger)]
    for system, part in done.items():
        out.append(about.lists(system, part.coverage))
        out.append(about.conversions(system, reward, part))
        out.append(about.support(system, part.weights, work.pairs))
        weight = found.get((system, first, str(MeanWeight()), reward))
        if weight is not None:
            out += [
                about.overlap(system, part.ctr),
                about.mean_weight(system, weight),
                about.effective_size(system, part.weights),
                about.heaviest(system, part.weights, weight),
                about.tail(system, part.weights),
            ]
        for e in work.estimators:
            if isinstance(e, Clipped) and not isinstance(e, MeanWeight) and e.clip < float("inf"):
                kept = found[system, first, str(MeanWeight(clip=e.clip)), reward]
                out.append(about.clipping(system, str(e), kept))
        for m in work.measures:
            ratio = found.get((system, str(m), str(VarianceRatio()), reward))
            if ratio is not None and m.form == "total":
                out.append(about.doubly_robust(system, str(m), ratio, level))
    return out
