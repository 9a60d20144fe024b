"""What all verbs share: kinds of arguments, where a verb runs, and the check of a call."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, TypedDict, TypeVar

from counterrank.core.arguments import (
    REQUIRED,
    Argument,
    Between,
    arguments,
    check_call,
    plain_number,
)
from counterrank.core.errors import UsageError, brief

if TYPE_CHECKING:
    from counterrank.conversions.conversion_estimators import ConversionMeasure
    from counterrank.core.parallel import Progress
    from counterrank.data.runs import Runs
    from counterrank.engine import Engine
    from counterrank.metrics import Measure
    from counterrank.nuisance.own_model import Model
    from counterrank.ope.estimators.ips import Estimator
    from counterrank.position import ByContext, PositionModel
    from counterrank.stats.plan import Plan, Rule

MEASURES = ("DCG@10", "nDCG@10", "P@10", "Recall@10", "AP@10", "RR@10")
ESTIMATORS = ("IPS", "SNIPS", "DR")
RESAMPLES = 10_000
IN_MEMORY = "(in memory)"
LARGEST_SHARE = 1e6

Table = Annotated[object, "table"]
Lists = Annotated["Runs", "lists"]
TablesByName = Annotated[object, "lists"]
MoreLists = Annotated["Runs | None", "lists"]
MoreTable = Annotated["object | None", "table"]
Columns = Annotated[Mapping[str, str] | None, "roles"]
Bar = Annotated["Progress", "python"]
Folder = Annotated["str | os.PathLike[str] | None", "folder"]
File = Annotated[str, "file"]
Several = str | Sequence[str]
Texts = Annotated[str | Sequence[str], "texts"]
Measures = Annotated["str | Measure | Sequence[str | Measure]", ""]
ConversionMeasures = Annotated[
    "str | Measure | PositionModel | ConversionMeasure"
    " | Sequence[str | Measure | PositionModel | ConversionMeasure]",
    "",
]
Estimators = Annotated["str | Estimator | Sequence[str | Estimator]", ""]
PairModels = Annotated["str | Model", ""]
PositionBias = Annotated["str | os.PathLike[str] | PositionModel | ByContext | None", ""]

Level = Annotated[float, Between(0, 1, "both")]
Count = Annotated[int, Between(1, 2**31 - 1)]
Flips = Annotated[int, Between(1, 100_000_000)]
Resamples = Annotated[int, Between(1, 100_000)]  # each holds the sums of every column
Seed = Annotated[int, Between(0, 2**63 - 1)]
Share = Annotated[float, Between(0, 1)]
Interval = Literal["normal", "t", "bootstrap", "bca"]
Test = Literal["t", "bootstrap", "none"]
Correct = Literal["holm", "bh", "none"]
Family = Literal["all", "measure"]
Missing = Literal["zero", "skip", "error"]
Unjudged = Literal["ignore", "error"]
Duplicates = Literal["error", "first"]
Ties = Literal["id", "id32", "file", "expected"]
Views = Literal["auto", "observed", "rows", "latent"]
Sweep = Literal["none", "clip"]
MinLift = Annotated[float, Between(-float("inf"), float("inf"), "both")]
Margin = Annotated[float, Between(0)]
Guards = Annotated[Mapping[str, float] | None, "shares"]
Horizon = Annotated[float, Between(0, 36_525)] | None
Winsorise = Annotated[float, Between(0, 1, "both")] | None


class Where(TypedDict, total=False):
    """Where a verb runs, and what it may use. An ``engine`` object says all of it at once."""

    engine: Annotated[Literal["auto", "local", "spark"] | Engine, ""]
    master: str | None
    memory: Annotated[str | int | None, ""]
    partitions: Annotated[int, Between(1, 65_536)] | None
    inference: Literal["auto", "units", "moments"]
    scratch: Annotated[str | os.PathLike[str] | None, "folder"]


P = ParamSpec("P")
R = TypeVar("R")


def verb(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with every call checked against its signature, and told by its result."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        _refuse_fork()
        given = {name: plain_number(value) for name, value in kwargs.items()}
        passed = check_call(function, args, given)
        found = function(*args, **given)
        if hasattr(found, "options"):
            return replace(found, options=recorded_options(function, passed))  # type: ignore
        return found

    return run


_ran_in: list[int] = []  # the process of the first call


def _refuse_fork() -> None:
    """A forked child has no threads of Polars, which its parent has used: it would wait forever."""
    _ran_in[:] = _ran_in or [os.getpid()]
    if _ran_in[0] != os.getpid():
        raise UsageError(
            "This process was forked from one that had run a verb.",
            found="Threads do not live on in a fork, and the work would never end.",
            todo='Start processes by "spawn": multiprocessing.get_context("spawn").',
        )


def recordable(function: Callable[..., Any]) -> dict[str, Argument]:
    """The options that a document may say: no folders to write to, and no cluster's address.

    Of what has no flag, those with a word for what is usual.
    """
    return {
        name: a
        for name, a in arguments(function).items()
        if (a.mark not in ("python", "folder") and name != "master")
        or (a.mark == "python" and isinstance(a.default, str))
    }


def recorded_options(function: Callable[..., Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of a call as plain values, so that a document can say how it was made."""
    known = recordable(function)
    usual = {n: a.default for n, a in known.items() if a.default is not REQUIRED}
    told = {name: value for name, value in usual.items() if known[name].mark != "python"}
    told |= {name: passed[name] for name in known if name in passed}
    if hasattr(told.get("engine"), "name"):
        told["engine"] = told["engine"].name  # the numbers do not depend on more
    return {name: _plain(value) for name, value in told.items() if value is not None}


def _plain(value: Any) -> Any:
    """A value that JSON holds: labels for what has one, paths for files, a word for the rest."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    labelled = is_dataclass(value) and hasattr(type(value), "name")
    return str(value) if labelled else IN_MEMORY


def decision_rule(
    decide_by: str,
    min_lift: float,
    margin: float,
    guard: Mapping[str, float] | None,
    *,
    names: Collection[str] = (),
    label: Callable[[object], str] = str,
    others: Literal["guard", "show"] = "guard",
) -> Rule:
    """What decides and what guards, by their labels, which must be among ``names`` if given."""
    from counterrank.stats.plan import Rule

    guards = tuple((label(name), share) for name, share in shares(guard).items())
    rule = Rule(label(decide_by) if decide_by else "", min_lift, margin, guards, others)
    return rule.validate(names) if names else rule


def shares(given: Any, keyword: str = "guard", like: str = "purchase") -> dict[str, float]:
    """What maps names to shares; anything else is refused."""
    from counterrank.core.errors import UsageError, brief

    pairs: list[tuple[Any, Any]] = [(None, None)]  # of what is no mapping
    if given is None or isinstance(given, Mapping):
        pairs = list((given or {}).items())
    for name, share in pairs:
        number = isinstance(share, (int, float)) and not isinstance(share, bool)
        if not isinstance(name, str) or not number or not 0 <= share <= LARGEST_SHARE:
            raise UsageError(
                f"{keyword} must map names to shares of at least 0, not {brief(given)}.",
                todo=f'Like {{"{like}": 0.01}}.',
            )
    return {name: float(share) for name, share in pairs}


def as_list(given: Any) -> list[Any]:
    """One thing or several, as a list."""
    return list(given) if isinstance(given, (list, tuple)) else [given]


def engine_for(where: Where, *given: object, ties: str = "id", plan: Plan | None = None) -> Engine:
    """The engine that the words ask for; ``auto`` is Spark if some table is a Spark frame.

    ``ties`` and the ``plan`` are refused where it cannot do what they ask.
    """
    from counterrank.data.runs import tables_of
    from counterrank.engine import engine

    options: dict[str, Any] = dict(where)
    word = options.pop("engine", None)
    chosen = engine(
        "auto" if word is None else word,
        [table for some in given for table in tables_of(some)],
        **options,
    )
    if ties == "file" and not chosen.row_order:
        raise UsageError(
            "Rows have no order on Spark, so ties cannot go by it.",
            todo="Use --ties id or expected, or the local engine.",
        )
    if plan is not None and chosen.inference == "moments":
        plan.refuse_units()
    return chosen


def document_paths(result: Any) -> list[str]:
    """The files that a saved result is read from."""
    if not isinstance(result, (str, os.PathLike)):
        return []
    path = os.fspath(result)
    inside = [os.path.join(path, name) for name in ("result.json", "units.parquet")]
    return inside if os.path.isdir(path) else [path]


def document_of(result: Any) -> dict[str, Any]:
    """The document of a result in memory, of a folder or of a file."""
    from counterrank.documents.document import saved

    document: dict[str, Any]
    if isinstance(result, (str, os.PathLike)):
        document = saved(result)
    elif hasattr(result, "to_dict") and hasattr(result, "diagnostics"):
        document = result.to_dict()
    else:
        raise UsageError(
            f"{brief(result)} is no result.",
            todo="Give what a verb returned, a folder that --out wrote, or a JSON document.",
        )
    return document
