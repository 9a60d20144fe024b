"""Diagnoses of one run's lists against the judgments."""

from __future__ import annotations

from counterrank.coverage import Coverage
from counterrank.diagnostics.diagnosis import Diagnosis, graded
from counterrank.judged import Lists


def coverage(system: str, seen: Coverage, missing: str) -> Diagnosis:
    """Judged users who have a list; below 99 % caution, below half fail."""
    share = seen.covered_users / seen.judged_users
    fate = {"zero": "count as 0", "skip": "are left out"}.get(missing, "are refused")
    text = f"{seen.covered_users:,} of {seen.judged_users:,} judged users have a list"
    if seen.missing_users:
        text += f"; the other {seen.missing_users:,} {fate}"
    return Diagnosis("coverage", system, share, 0.99, graded(share, 0.99, 0.5), text + ".")


def unjudged_users(system: str, seen: Coverage) -> Diagnosis:
    """Users of the run without judgments: ignored, but more than half hints at a wrong join."""
    total = seen.covered_users + seen.unjudged_users
    share = seen.unjudged_users / total
    verdict = "caution" if share > 0.5 else "pass"
    text = f"{seen.unjudged_users:,} of {total:,} listed users have no judgment and are ignored."
    return Diagnosis("unjudged users", system, share, 0.5, verdict, text)


def short_lists(system: str, lists: Lists, k: int | None) -> Diagnosis | None:
    """Lists shorter than the largest cut-off: their empty places count as misses."""
    if k is None or not lists.coverage.covered_users:
        return None
    share = lists.short / lists.coverage.covered_users
    verdict = "caution" if share > 0.05 else "pass"
    text = f"{share:.1%} of the lists have fewer than {k} items; empty places count as misses."
    return Diagnosis("short lists", system, share, 0.05, verdict, text)


def duplicates(system: str, seen: Coverage) -> Diagnosis:
    """Rows dropped because their item stood in the list already (policy first)."""
    verdict = "caution" if seen.duplicates else "pass"
    text = f"{seen.duplicates:,} of {seen.rows:,} rows repeat an item of their list."
    if seen.duplicates:
        text += " Only its best place was kept."
    return Diagnosis("duplicates", system, float(seen.duplicates), 0.0, verdict, text)


def judged_share(system: str, share: float, k: int | None) -> Diagnosis:
    """Share of listed items that are judged, mean over lists: all else counts as worthless."""
    top = "the lists" if k is None else f"the first {k}"
    text = f"{share:.1%} of {top} is judged; all else counts as not relevant."
    return Diagnosis("judged share", system, share, 0.01, graded(share, 0.01, 0.0), text)
