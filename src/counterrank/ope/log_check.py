"""``check`` of a log: audits, what the tables alone show, and what estimates would rest on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import polars as pl

from counterrank.assumptions import support
from counterrank.core.errors import CounterrankError
from counterrank.core.format import in_a_sentence
from counterrank.data import logs
from counterrank.data.ids import distinct_ids, positions
from counterrank.data.logs import OPTIONAL, USUAL, Log
from counterrank.data.schema import Schema
from counterrank.data.sources import open_source
from counterrank.diagnostics.diagnostic import Diagnostic, Findings, advise, graded
from counterrank.engine import Engine, Partition, Partitions, Tables
from counterrank.engine.partitions import on_some
from counterrank.ope.log import LOG, LogTotals, log_table, sessions_of
from counterrank.ope.log_diagnostics import audit_log
from counterrank.ope.setting import Basis
from counterrank.position.models import PositionBias

RUN = "run"
PAID = re.compile(
    r"(^|_)(reward|click|like|conversion|convert|dwell|revenue|purchase|order|sale|buy|bought|spend"
    r"|spent|gmv|watch|play|listen|share|save|follow|comment|booking|signup|subscription)s?(ed)?($|_)",
    re.IGNORECASE,
)


def check_log(
    table: object,
    targets: Mapping[int, tuple[str, object]],
    weigh: Callable[..., Any],
    *,
    rewards: Sequence[str],
    model: PositionBias | None,
    contexts: Sequence[str],
    views: str,
    columns: Mapping[str, str] | None,
    users: int,
    engine: Engine,
) -> Findings:
    """Audit a log of so many ``users``, and weigh the rankers at their places in ``targets``.

    ``weigh`` estimates what rankers would have earned by this log.
    """
    there = open_source(table, trec=(), name="").columns()
    known = list(contexts) or [name for name in ("context",) if name in there]
    by = [] if model is None or model.column is None else [model.column]
    gaps = "allow" if views == "rows" else "error"
    try:
        schema = logs.log_schema(table, rewards=rewards, contexts=[*known, *by], columns=columns)
        with engine.open(Tables({LOG: schema}, "session", ("session", "item"))) as read:
            log, totals = log_table(read.heads[LOG]), LogTotals.read(read, gaps)
            logged = "propensity" if model is None and log.has("propensity") else "rank"
            logged = "exposure" if model is not None and log.has("exposure") else logged
            basis = Basis(logged, views, model).with_totals(totals)
            count = users if log.has("user") else None
            numbered = partial(on_some, partial(sessions_of, gaps), totals.number_sessions)
            diagnostics = audit_log(read, totals, basis, log.rewards[0], users=count, read=numbered)
            diagnostics += session_times(read)
    except CounterrankError as error:
        return Findings(fault=str(error))
    diagnostics += unread_rewards(log, there, rewards)
    diagnostics += unread_propensity(log, by_rank=model is not None)
    faults: dict[int, str] = {}
    if model is None and not log.has("propensity"):
        text = (
            "No position model was given and no propensity logged, so no ranker can be weighed."
            " Give one, as in --position-bias log2, or learn it: counterrank exposure LOG --out"
            " pbm.json."
        )
        diagnostics.append(Diagnostic("position model", "log", 0.0, 1.0, "caution", text))
        targets = {}
    for place, target in targets.items():
        try:
            result = weigh(
                [target], reward=log.rewards, position_bias=model, views=views, context=known
            )
            diagnostics += [d for d in result.diagnostics if d.subject not in ("log", "sessions")]
            run = logs.target_schema(target[1], name=target[0], columns=columns)
            name = in_a_sentence(list(result.systems[1:]))
            diagnostics += check_lists(name, schema, run, engine, totals.ranks)
        except CounterrankError as error:
            faults[place] = str(error)
    return Findings(diagnostics, support.to_log(log, basis.views, diagnostics), "", faults)


def unread_rewards(log: Log, there: Sequence[str], given: Sequence[str]) -> list[Diagnostic]:
    """Columns with the name of a reward that nobody asked for; none if rewards were named."""
    read = {*log.rewards, *log.contexts, *log.frame.columns, *OPTIONAL}
    unread = [] if given else [name for name in there if name not in read and PAID.search(name)]
    if not unread:
        return []
    text = (
        f"{in_a_sentence(unread)} may be what came back, and {'is' if len(unread) == 1 else 'are'}"
        f" not read: without --reward only {', '.join(USUAL)} are. If it is a reward, name it:"
        f" --reward {unread[0]}."
    )
    return [Diagnostic("unread rewards", "log", float(len(unread)), 0.0, "caution", text)]


def unread_propensity(log: Log, by_rank: bool) -> list[Diagnostic]:
    """A logged propensity that no weight is made of."""
    if not (log.has("propensity") and by_rank) or log.has("exposure"):
        return []
    text = (
        "A propensity was logged and is not read, because the position model weighs rows by their"
        " rank. Estimate both ways (--logged rank, --logged propensity): they should agree."
    )
    return [Diagnostic("unread propensity", "log", 0.0, 1.0, "untested", text)]


@dataclass(frozen=True)
class SessionTimes:
    """How many ``sessions`` there are, and those with ``several`` times."""

    sessions: int
    several: int

    @classmethod
    def of(cls, column: str, part: Partition) -> SessionTimes:
        """Those of a partition."""
        times = part[LOG].frame.group_by("session").agg(pl.col(column).n_unique())[column]
        return cls(len(times), int((times > 1).sum()))


def session_times(log: Partitions) -> list[Diagnostic]:
    """Rows of one session at several times: a session is one list, shown once."""
    column = next((c for c in ("timestamp", "day") if c in log.heads[LOG].frame.columns), None)
    if column is None:
        return []
    found = log.reduce(partial(SessionTimes.of, column), "reading times")
    share = found.several / found.sessions
    text = f"{found.several:,} of {found.sessions:,} sessions have rows of more than one {column}."
    todo = (
        " A session is one list that was shown once: give every request an id of its own, and"
        " every row the time of its request."
    )
    return [advise("session times", "log", share, 0.0, graded(-share, 0.0, -2.0), text, todo)]


@dataclass(frozen=True)
class ListsBesideLog:
    """Sessions and rows of a run, and those of them that the log lacks; its ``longest`` list.

    ``unlogged`` sessions are not in the log, ``unknown`` rows have an item that is nowhere in it.
    """

    sessions: int
    unlogged: int
    rows: int
    unknown: int
    longest: Annotated[int, max]

    @classmethod
    def of(cls, items: pl.Series, part: Partition) -> ListsBesideLog:
        """Those of a partition; a list is a session's, of one system."""
        run, log = part[RUN].frame, part[LOG].frame
        sessions = run["session"].unique()
        known = log["session"].unique()
        by = ["session", *(c for c in ("system",) if c in run.columns)]
        depth = run["rank"] if "rank" in run.columns else run.group_by(by).len()["len"]
        return cls(
            sessions=len(sessions),
            unlogged=int((positions(sessions, known) < 0).sum()),
            rows=run.height,
            unknown=int((positions(run["item"], items) < 0).sum()),
            longest=int(depth.max() or 0),  # type: ignore[arg-type]
        )


def check_lists(
    name: str, log: Schema, run: Schema, engine: Engine, ranks: int
) -> list[Diagnostic]:
    """One run beside the log, whose longest page has so many ``ranks``."""
    with engine.open(Tables({LOG: log, RUN: run}, "session", ("session", "item"))) as both:
        items = both.reduce(_items, "reading items").ids
        found = both.reduce(partial(ListsBesideLog.of, items), "reading lists")
        columns = both.heads[RUN].frame.columns
    text = (
        f"{found.unlogged:,} of the {found.sessions:,} sessions it has lists for were not logged."
    )
    todo = (
        " Their lists count for nothing: make log and run by the same filters, and see that"
        " both have the same session ids."
    )
    out = [_few("sessions not logged", name, found.unlogged / found.sessions, text, todo)]
    share = found.unknown / found.rows
    text = f"{share:.1%} of its rows have an item that is nowhere in the log."
    todo = (
        " Nothing tells what such items earn: list only candidates that were available, and see"
        " that both tables have the same item ids."
    )
    out.append(_few("items not logged", name, share, text, todo))
    if not {"draw", "exposure", "propensity"} & set(columns):
        deep, far = float(found.longest), float(ranks)
        text = f"Its lists go down to rank {deep:,.0f}, the pages of the log to rank {ranks:,}."
        todo = " Nobody has seen what stands below: cut the lists to what would be shown."
        state = "pass" if deep <= far else "caution"
        out.append(advise("list depth", name, deep, far, state, text, todo))
    return out


def _few(what: str, subject: str, share: float, text: str, todo: str) -> Diagnostic:
    """A share that should be small."""
    return advise(what, subject, share, 0.01, graded(-share, -0.01, -2.0), text, todo)


@dataclass(frozen=True)
class Items:
    """The items of a log."""

    ids: Annotated[pl.Series, distinct_ids]


def _items(part: Partition) -> Items:
    return Items(distinct_ids([part[LOG].frame["item"]]))
