r"""The error of a learned position model in every estimate.

An estimate is a function of column means that move with the parameters :math:`\theta` of the model:
:math:`V = f(\bar m(\hat\theta))`. A pass over some sessions takes :math:`\partial \bar m /
\partial\theta` by central differences: the same columns, with one parameter a little higher and a
little lower. Where :math:`\hat\theta` came from this very log, each session's influence on it
:math:`\psi_\theta` stands beside its columns; where it came from another, its covariance is added
(`counterrank.stats.functions_of_means.PlugIn`; derived in ``docs/definitions/positions.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from counterrank.core.arrays import Floats, Ints, divide, sum_by
from counterrank.core.merge import merge
from counterrank.core.parallel import map_threads, workers
from counterrank.data.ids import as_categories, positions
from counterrank.diagnostics.diagnostic import Diagnostic, advise, graded
from counterrank.ope.estimators.ips import OnPolicy
from counterrank.ope.log import LogTotals, Sessions
from counterrank.ope.match import LoggedRows, Meeting, Target, on_policy_rows
from counterrank.ope.request import LIVE, LOGGED
from counterrank.ope.setting import Basis, Setting, Slopes
from counterrank.position.models import PositionBias, PositionModel
from counterrank.stats.units import Columns, Key

if TYPE_CHECKING:
    from counterrank.ope.reward_model import Models
    from counterrank.position.learn.learned import Learned

STEP = 1e-4  # of a curve, as a share of it
WORST = 0.3  # relative error of a curve from which a slope tells it no longer
MOST = 1 << 22  # rows times parameters that slopes are taken from; more would not change a digit


@dataclass(frozen=True)
class CurveParameters:
    r"""The learned parameters :math:`\theta` of the position model's curves, curve after curve.

    ``curve`` is the number of each context's curve, ``slopes`` (parameters of a curve x contexts x
    ranks) how it moves with each, ``step`` (parameters x curves) how far each is moved. ``root`` is
    that of the covariance, where the log is another one than that of ``learned``, whose curves are
    at ``places``.
    """

    curve: Ints
    slopes: Floats
    step: Floats
    sizes: tuple[int, ...]
    root: Floats | None
    learned: Learned | None
    places: tuple[int, ...]

    @classmethod
    def of(cls, basis: Basis, totals: LogTotals, learned: Learned | None) -> CurveParameters | None:
        """Those of the curves that this log's contexts have; None if their error is not known."""
        model, curves = basis.model, basis.curves
        if model is None or model.error is None or model.error.covariance is None:
            return None
        models, curve = _models(model, totals.combinations)
        rank = np.arange(1, curves.shape[1] + 1)
        own = [one.slopes(rank) for one in models.values()]
        sizes = tuple(map(len, own))
        slopes = np.zeros((max(sizes), len(curves), len(rank)))
        step = np.zeros((max(sizes), len(models)))
        for number, moves in enumerate(own):
            slopes[: len(moves), curve == number] = moves[:, None]
            seen = curves[np.argmax(curve == number)]
            share = divide(np.abs(moves), seen, 0.0)
            top = share.max(axis=1, initial=0)
            step[: len(moves), number] = divide(STEP, top, 0.0)
        keep = 1 + int(np.max(np.nonzero(slopes.any(axis=(0, 1)))[0], initial=-1))
        slopes = slopes[:, :, : keep + 1]  # the last rank stands for all below it
        if learned is None:
            return cls(curve, slopes, step, sizes, covariance_root(models.values()), None, ())
        names = [value for value, _ in learned.curves()]
        return cls(curve, slopes, step, sizes, None, learned, tuple(map(names.index, models)))

    @property
    def count(self) -> int:
        """How many parameters there are."""
        return sum(self.sizes)

    def moved(self, basis: Basis, number: int, way: int) -> Basis:
        """The basis with one parameter of every curve higher (1) or lower (-1) by a step."""
        curves = basis.curves.copy()
        wide = self.slopes.shape[2]
        curves[:, :wide] += way * self.step[number][self.curve][:, None] * self.slopes[number]
        if wide < curves.shape[1]:
            below = way * self.step[number][self.curve] * self.slopes[number][:, -1]
            curves[:, wide:] += below[:, None]
        return replace(basis, curves=curves)

    def by_parameter(self, sums: Floats) -> Floats:
        """What was added up by number within a curve, and curve, one after the other."""
        rise = divide(sums, 2 * self.step, 0.0)
        return np.concatenate([rise[:size, c] for c, size in enumerate(self.sizes)])

    def influences(self, sessions: Sessions, total: int) -> Columns:
        r""":math:`n \psi_\theta` of each session, a column for each parameter learned from it."""
        if self.learned is None:
            return ()
        from counterrank.position.learn.pipeline import session_influences

        place = np.repeat(np.arange(sessions.n), sessions.blocks.length)
        own = session_influences(self.learned, sessions.blocks.frame, place, sessions.n)
        return tuple(total * x for place in self.places for x in own[place])


def _models(model: PositionBias, contexts: pl.DataFrame) -> tuple[dict[str, PositionModel], Ints]:
    """The models in use by the value that has them, and the number of each context's."""
    if isinstance(model, PositionModel):
        return {"": model}, np.zeros(1, np.int64)
    values = contexts[model.column].cast(pl.String).to_list()
    named = [value if value in model.models else "" for value in values]
    models = {value: one for value in dict.fromkeys(named) if (one := model.of(value)) is not None}
    return models, np.array([list(models).index(value) for value in named])


def covariance_root(models: Iterable[PositionModel]) -> Floats:
    r""":math:`R` with :math:`R^\top R = \Sigma`: curves learned apart are independent."""
    roots = []
    for one in models:
        assert one.error is not None
        assert one.error.covariance is not None
        values, vectors = np.linalg.eigh(one.error.covariance)
        roots.append(np.sqrt(np.maximum(values, 0))[:, None] * vectors.T)
    out = np.zeros((sum(map(len, roots)),) * 2)
    place = 0
    for root in roots:
        out[place : place + len(root), place : place + len(root)] = root
        place += len(root)
    return out


# a pass over some sessions


def curve_slopes(
    setting: Setting,
    curve: CurveParameters,
    models: Models,
    sessions: Sessions,
    targets: Mapping[str, Target],
) -> Slopes | None:
    """How every column moves with every parameter, by a fixed sample of sessions."""
    share = MOST / max(setting.totals.rows * len(curve.slopes), 1)
    if share < 1:
        frame = as_categories(sessions.sample(share, by="session"))
        if not frame.height:
            return None
        few = Sessions.of(replace(sessions.log, frame=frame), gaps="allow")
        place = positions(few.units, sessions.units)
        targets = {name: replace(t, place=t.place[place]) for name, t in targets.items()}
        sessions = setting.totals.number_sessions(few)
    work = partial(_block_slopes, setting, curve, models, sessions, targets)
    return merge(map_threads(work, sessions.cuts(), workers()))


def _block_slopes(
    setting: Setting,
    curve: CurveParameters,
    models: Models,
    sessions: Sessions,
    targets: Mapping[str, Target],
    cut: tuple[int, int],
) -> Slopes:
    """The columns of a block with each parameter higher, less those with it lower, added up."""
    request, basis = setting.request, setting.basis
    logged = LoggedRows.of(sessions, basis, *cut)
    paid = {reward: sessions.column(reward, *cut) for reward in request.rewards}
    meetings = {}
    for name, target in targets.items():
        met = Meeting.of(sessions, basis, logged, target, missing=request.missing)
        for reward in request.rewards:
            meetings[name, reward] = met.with_prediction(models.rewards.get(reward))

    def columns(moved: Basis) -> dict[Key, list[Floats]]:
        own = logged.under(sessions, moved)
        out = {
            Key(LOGGED, reward, LIVE): OnPolicy().sums(
                on_policy_rows(own.start, x, own.seen), request.per
            )
            for reward, x in paid.items()
        }
        for (name, reward), met in meetings.items():
            met = met.under(sessions, moved, targets[name], request.missing)
            rows = met.with_reward(paid[reward], models.rewards.get(reward))
            for e in request.computed_for(reward):
                out[Key(name, reward, str(e))] = e.sums(rows, request.per)
        return out

    there = {LOGGED: np.ones(logged.n)}
    for name, target in targets.items():
        listed = target.place[slice(*cut)] >= 0
        there[name] = (listed | (request.missing != "skip")).astype(float)
    count = curve.step.shape[1]
    group = curve.curve[logged.context] if count > 1 else np.zeros(logged.n, np.int64)
    found: dict[Key, list[Floats]] = {}
    for number in range(len(curve.slopes)):
        up, down = (columns(curve.moved(basis, number, way)) for way in (1, -1))
        for key, high in up.items():
            rise = zip(high, down[key], strict=True)
            each = [sum_by(group, (a - b) * there[key.system], count) for a, b in rise]
            found.setdefault(key, []).append(np.array(each))
    sums = {
        key: np.stack([curve.by_parameter(x) for x in np.stack(parts, axis=1)])
        for key, parts in found.items()
    }
    return Slopes(sums, {key: int(there[key.system].sum()) for key in sums})


# what is said of it


def curve_error(setting: Setting) -> Diagnostic:
    """How sure the learned position model is at its worst rank, and whether intervals know that.

    What a weight :math:`1/c` does is told by its slope only where c is known to a third or so.
    """
    model, curve = setting.basis.model, setting.curve
    assert model is not None
    assert model.error is not None
    if curve is not None and setting.shares:
        what = "What the loggers' lists expose hangs on the learned position model as well"
        return _left_out("log", what, "log exposures instead")
    used = list(_models(model, setting.totals.combinations)[0].values())
    source = "another" if curve is None or curve.learned is None else "this"
    return known_curve("log", used, setting.totals.ranks, source)


def _left_out(subject: str, what: str, todo: str) -> Diagnostic:
    text = f"{what}: intervals leave that out and are too narrow by an unknown amount; {todo}."
    return Diagnostic("curve error", subject, float("nan"), WORST, "untested", text)


def known_curve(subject: str, used: Sequence[PositionModel], ranks: int, source: str) -> Diagnostic:
    """The same of models ``used`` at so many ranks; ``source`` is this log, or another."""
    errors = [one.error for one in used if one.error is not None]
    if any(error.covariance is None for error in errors):
        what = "The file of the position model does not say how sure it is"
        return _left_out(subject, what, "learn it anew with this version (counterrank exposure)")
    rank, users = np.arange(1, ranks + 1), errors[0].clusters
    worst = max(float(_relative_error(one, rank).max(initial=0)) for one in used)
    text = (
        f"The position model was learned from {users:,} users or sessions of {source} log and is"
        f" known to {worst:.0%} or better at every rank; its error is in every interval."
    )
    todo = " That is too rough for intervals to be right: learn it from more, or fit a family."
    state = graded(-worst, -WORST, -1.0)
    return advise("curve error", subject, worst, WORST, state, text, todo)


def _relative_error(model: PositionModel, rank: Ints) -> Floats:
    """The standard error of each rank's weight, as a share of it."""
    assert model.error is not None
    assert model.error.covariance is not None
    slopes, c = model.slopes(rank), model.at(rank)
    se = np.sqrt(np.maximum(np.sum(slopes * (model.error.covariance @ slopes), axis=0), 0))
    return divide(se, c, 0.0)
