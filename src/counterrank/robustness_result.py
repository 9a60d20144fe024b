"""The result of ``assess robustness``: curves of tau, their areas, and the values behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from counterrank.documents import as_json, document
from counterrank.evaluation import Evaluation, Row
from counterrank.meta.areas import areas, one
from counterrank.meta.reductions import SAYS, Reductions
from counterrank.meta.robust_advice import advice
from counterrank.meta.robustness import Track
from counterrank.once import once
from counterrank.trust import Diagnosis


@dataclass(frozen=True)
class TauRow:
    """Mean tau of one measure at one size; ``low`` to ``high`` holds the share ``level`` of them.

    ``se`` is the Monte Carlo error of the mean; ``users`` and ``judgments`` are those left.
    """

    reduction: str
    measure: str
    size: float
    tau: float
    se: float
    low: float
    high: float
    level: float
    samples: int


@dataclass(frozen=True)
class AreaRow:
    """The area under one measure's curve; ``all`` is the mean over the kinds of loss."""

    reduction: str
    measure: str
    area: float
    se: float


@dataclass(frozen=True, eq=False, repr=False)
class Robustness:
    """``tracks`` hold every value and every tau; ``evaluation`` is that on all judgments."""

    evaluation: Evaluation
    tracks: tuple[Track, ...]
    samples: int
    seed: int

    @property
    def labels(self) -> list[str]:
        """The measures."""
        return [str(m) for m in self.evaluation.measures]

    @once
    def curves(self) -> list[TauRow]:
        """Tau at every size, with the band over samples."""
        level = self.evaluation.plan.level
        rows = []
        for track in self.tracks:
            for place, label in enumerate(self.labels):
                for size, tau in zip(track.sizes, track.tau, strict=True):
                    x = tau[place]
                    low, high = _band(x, level)
                    se = float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else 0.0
                    rows.append(
                        TauRow(
                            track.kind, label, size, float(x.mean()), se, low, high, level, len(x)
                        )
                    )
        return rows

    @once
    def areas(self) -> list[AreaRow]:
        """One number per measure and kind of loss, and over all kinds."""
        rows = []
        for kind, tracks in [("all", self.tracks), *((t.kind, (t,)) for t in self.tracks)]:
            for place, label in enumerate(self.labels):
                found = areas(tracks, one(place, len(self.labels)))
                rows.append(AreaRow(kind, label, found.value, found.se))
        return rows

    @once
    def values(self) -> list[dict[str, Any]]:
        """What each system scores as judgments go missing: means and bands, by size."""
        level = self.evaluation.plan.level
        rows = []
        for track in self.tracks:
            for place, label in enumerate(self.labels):
                for s, system in enumerate(self.evaluation.systems):
                    each = [x[place, :, s] for x in track.values]
                    bands = [_band(x, level) for x in each]
                    rows.append(
                        {
                            "reduction": track.kind,
                            "measure": label,
                            "system": system,
                            "size": list(track.sizes),
                            "value": [float(x.mean()) for x in each],
                            "low": [low for low, _ in bands],
                            "high": [high for _, high in bands],
                        }
                    )
        return rows

    @once
    def recommendation(self) -> list[str]:
        """Three sentences."""
        return advice(self.tracks, self.labels)

    @property
    def estimates(self) -> list[Row]:
        """Every system on all judgments."""
        return self.evaluation.estimates

    @property
    def comparisons(self) -> Sequence[Any]:
        """None: robustness compares measures, not systems."""
        return []

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """Those of the evaluation on all judgments."""
        return self.evaluation.diagnoses

    @property
    def verdict(self) -> str:
        """The gravest verdict of all diagnoses."""
        return self.evaluation.verdict

    @property
    def protocol(self) -> dict[str, Any]:
        """All choices behind the numbers."""
        kept = ("unit", "measures", "policies", "ranked_by", "largest_rating", "level", "engine")
        given = self.evaluation.protocol
        reductions = Reductions(self.evaluation.pool)
        return {
            **{key: given[key] for key in kept},
            "reductions": {
                t.kind: {"lost": SAYS[t.kind], "of": reductions.total(t.kind)} for t in self.tracks
            },
            "sizes": list(self.tracks[0].sizes),
            "samples": self.samples,
            "seed": self.seed,
            "correlation": "Kendall tau-b with the order on all judgments; 0 where all systems tie",
            "area": "trapezoid rule over sizes, divided by their range",
            "equally_many": "of items or users with equally many judgments the smaller id goes",
            "left_without_judgments": "not counted, as if they had never been in the table",
        }

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, in the shape every verb shares."""
        return document(
            "assess robustness",
            self.protocol,
            self.evaluation.inputs,
            estimates=self.estimates,
            diagnoses=self.diagnoses,
            further={
                "areas": [asdict(row) for row in self.areas],
                "curves": [asdict(row) for row in self.curves],
                "values": self.values,
                "recommendation": self.recommendation,
            },
        )

    def to_json(self) -> str:
        """The whole result as one JSON document, a row a line."""
        return as_json(self.to_dict())

    def to_frame(self) -> pl.DataFrame:
        """The curves as a Polars frame."""
        return pl.DataFrame([asdict(row) for row in self.curves])

    def by_unit(self) -> pl.DataFrame:
        """Per-unit values on all judgments: unit, system, measure, value."""
        return self.evaluation.by_unit()

    def __repr__(self) -> str:
        """The areas, best first, and the recommendation."""
        rows = sorted((r for r in self.areas if r.reduction == "all"), key=lambda r: -r.area)
        lines = [f"{r.measure:<36} {r.area:7.4f}  +- {r.se:.4f}" for r in rows]
        return "\n".join([*lines, *self.recommendation])


def _band(x: np.ndarray[Any, np.dtype[np.float64]], level: float) -> tuple[float, float]:
    if np.isnan(x).any():
        return float("nan"), float("nan")
    low, high = np.quantile(x, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
