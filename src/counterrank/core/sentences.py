"""The one table of sentences about faulty data: every refusal of rows or units is worded here.

A sentence is made last, from a `counterrank.core.faults.Fault`, when all partitions have been
counted. Its texts are templates over the fault's facts: ``count``, ``of``, ``table``, ``column``
and what stands in ``more``; ``first`` is the first case as text, ``where`` the same in brackets,
or nothing where it cannot be named. ``{x!b}`` is a value that is cut where it is long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

ROWS = "Found {count:,} of {of:,} rows{where}."
SUCH = "Found {count:,} such rows{where}."
MEND = "Mend or leave out these rows where the table is made."
WHOLE = "Fill in what was there, or leave out the whole session or list: without single rows"
WHOLE += " it would be another one."
OF_LISTS = (
    "rank", "score", "session", "viewed", "reward", "click", "like", "dwell", "revenue",
)  # fmt: skip
ID = "{id!r}"
TWICE = "Mend the list, or keep the better rank: --duplicates first"
TWICE += ' (duplicates="first"); the count is then reported.'


@dataclass(frozen=True)
class Sentence:
    """What was wrong, what was found, what to do.

    ``case`` shows the first case; without it, each of its facts is shown by name. ``instead`` is a
    condition on the fault, and the name of the sentence that then takes the place of this one.
    """

    wrong: str
    found: str
    todo: str
    case: str = ""
    instead: tuple[Callable[[Any], bool], str] | None = None


def everywhere(fault: Any) -> bool:
    """A condition: all rows or units have the fault."""
    return bool(fault.count == fault.of)


def _values(wrong: str, todo: str = MEND) -> Sentence:
    """A sentence about values of a column."""
    return Sentence(f'Column "{{column}}" of "{{table}}" {wrong}.', ROWS, todo)


def _within_lists(sentences: dict[str, Sentence]) -> dict[str, Sentence]:
    """The same, with other advice where rows are of lists or sessions, whose whole is needed."""
    out: dict[str, Sentence] = {}
    for name, one in sentences.items():
        twin = f"{name} in a list"
        out[name] = replace(one, instead=(lambda fault: fault.column in OF_LISTS, twin))
        out[twin] = replace(one, todo=WHOLE)
    return out


NOTHING_LOGGED = Sentence(
    '"{table}" lists nothing that was logged in {count:,} of {of:,} sessions.',
    "The first is {first}: the log cannot tell what such a list would have earned.",
    "Check the item ids; if the logger drew its items by chance and logged exposure"
    " or propensity, let such sessions count 0: --disjoint zero.",
    case=ID,
)

SENTENCES: dict[str, Sentence] = {  # the gravest first
    # values of any table
    **_within_lists(
        {
            "missing value": _values("has missing values"),
            "empty id": _values("has empty ids"),
            "not a number": _values("must hold numbers"),
            "beyond 64 bits": _values("is beyond 64 bits"),
            "not finite": _values("must be finite"),
            "not 0 or 1": _values("must hold 0 or 1"),
            "too large": _values("holds numbers too large to be added up"),
            "too small": _values("holds numbers too small to divide by"),
        }
    ),
    "not above 0 and up to 1": _values(
        "must lie above 0 and be at most 1",
        "A row that was shown had some chance of it: log that chance, never 0.",
    ),
    "negative": _values("must not be negative"),
    "above 1": _values("must be at most 1"),
    "not a whole number": _values("must hold whole numbers", WHOLE),
    "rank from 0": _values("must count from 1", "Ranks count from 1 here: add 1."),
    "rank below 1": replace(
        _values("must count from 1", WHOLE),
        instead=(lambda fault: fault.more["least"] == 0, "rank from 0"),
    ),
    "rank too large": _values("holds ranks no list can have", WHOLE),
    # features of users or items
    "empty feature": Sentence(
        'Column "{column}" of "{table}" has empty values.',
        ROWS,
        'Say what they are, such as "unknown", or leave the column out.',
    ),
    "features twice": Sentence(
        '"{table}" has a {column} more than once.', ROWS, "Keep one row per {column}."
    ),
    # logs
    "reward not viewed": Sentence(
        '"{table}" has rows with a reward "{column}" that were not viewed.',
        ROWS,
        "Mend how views are logged, or leave the column viewed out.",
        case="{column} {value:g}",
    ),
    "rank twice in session": Sentence(
        'Column "rank" of "{table}" repeats a rank within a session.',
        SUCH,
        "Each row of a session needs a rank of its own; check the session ids.",
    ),
    "rank left out": Sentence(
        'Column "rank" of "{table}" leaves ranks out.',
        "Found {count:,} rows below a gap{where}.",
        "Log every row that was shown; if only viewed rows were logged, say so:"
        ' --views rows (views="rows").',
        case="session {session!b}, item {item!b}, rank {rank} where {due} was due",
    ),
    "changes within session": Sentence(
        'Column "{column}" of "{table}" changes within a session.',
        SUCH,
        "One value per session is needed; check the session ids.",
    ),
    "every propensity 1": Sentence(
        'Column "propensity" of "{table}" is 1 in every row.',
        "All {of:,} rows: either the logger left nothing to chance, or its chances were lost on"
        " the way.",
        "Log the probability of the shown item; if the logger was deterministic, leave the"
        " column out and give a position model (--position-bias).",
    ),
    "slate with gaps": Sentence(
        '{who} needs whole slates, and sessions of "{table}" lack ranks.',
        "Found {count:,} rows below a gap{where}.",
        "Log every row that was shown, or ask for IIPS, which weighs each row by itself.",
    ),
    # a log and the lists of its loggers, or of a target
    "logger without list": Sentence(
        'Lists of the logger "{column}" lack sessions of the log.',
        "Found {count:,} such sessions{where}.",
        "Give what it would have shown in every session, also in those of others.",
        case=ID,
    ),
    "not as logger lists": Sentence(
        "Logged rows contradict the lists of the logger that served them.",
        "Found {count:,} of {rows:,} rows not where its list has them{where}.",
        "Check which lists belong to which value of the column policy.",
    ),
    "in no logger's list": Sentence(
        "Some logged rows are in no logger's list.",
        "Found {count:,} of {rows:,} rows{where}.",
        "Give for every session what each logger would have shown (--logger name=path).",
    ),
    "item twice in draw": Sentence(
        "A draw lists an item more than once.",
        "Found {count:,} such rows in one part of the table.",
        "Each list (session and draw) holds an item once.",
    ),
    "rank twice in target": Sentence(
        'Column "rank" of "{table}" repeats a rank within a list.',
        "Found {count:,} such rows in one part of the table{where}.",
        "Give each item of a list a rank of its own; samples of a stochastic ranker"
        " need a column draw.",
    ),
    "list shorter than slate": Sentence(
        '{who} needs lists as long as the logged slates; "{table}" has shorter ones.',
        "Found {count:,} such sessions{where}.",
        "Fill the lists, or ask for IIPS or RIPS.",
        case=ID,
    ),
    "chances of a rank": Sentence(
        'Column "{column}" of "{table}" must add up to 1 over the items of a rank.',
        "It does not in {count:,} of {of:,} ranks{where}.",
        "List every item that may stand at the rank, not only the one that was logged.",
        case="{id!r}, rank {rank}: {sum:.4g}",
    ),
    "no session in common": Sentence(
        '"{table}" and the log have no session in common.',
        "The log has {first}, the run {listed!r}.",
        "A target's lists are keyed by the sessions of the log (--columns session=NAME).",
        case=ID,
    ),
    "session without list": Sentence(
        '"{table}" has no list for {count:,} of {of:,} logged sessions.',
        "The first is {first}.",
        "Give each a list, leave such sessions out (--missing skip), or let them keep"
        " their logged list (--missing logged).",
        case=ID,
        instead=(everywhere, "no session in common"),
    ),
    "item twice in session": Sentence(
        '"{table}" shows an item more than once in a session.',
        SUCH,
        "Keep one row per session and item; repetitions may be sessions of their own.",
    ),
    "reward unseen": Sentence(
        '"{table}" has rewards at ranks that the position model says nobody sees.',
        SUCH,
        "Give a position model that reaches as deep as the log's rewards.",
    ),
    "item twice in target": Sentence(
        '"{table}" lists an item more than once for the same session.',
        SUCH,
        "Mend the list; samples of a stochastic ranker need a column draw.",
        case="session {id!r}",
    ),
    "nothing logged at all": NOTHING_LOGGED,  # which no policy allows
    "nothing logged": replace(NOTHING_LOGGED, instead=(everywhere, "nothing logged at all")),
    # funnels and their runs
    "reward without click": Sentence(
        '"{table}" has a "{column}" without a click.',
        ROWS,
        "What was sold without a click says nothing of the click: mend the clicks, or"
        " leave these rows out.",
        case="user {user!b}, item {item!b}, {column} {value:g}",
    ),
    "click without chance": Sentence(
        'Column "ctr" of "{table}" is 0 where there was a click.',
        "Found {count:,} rows{where}.",
        "What was clicked had some chance of it: predict it above 0.",
    ),
    "shown without chance": Sentence(
        'Column "exposure" of "{table}" is 0 where something was shown.',
        "Found {count:,} rows{where}.",
        "What was shown had some chance of it: log it, or have it fitted: --exposure rates.",
    ),
    "click unseen": Sentence(
        '"{table}" has clicks on what was not shown.',
        ROWS,
        'Set "shown" to 1 wherever somebody saw the item, or leave these rows out.',
        case="user {user!b}, item {item!b}",
    ),
    "every ctr 1": Sentence(
        'Column "ctr" of "{table}" is 1 in every row.',
        "All {of:,} rows: clicks were no matter of chance, or the chances were lost on the way.",
        "Give the predicted probability of a click, or leave the column out.",
    ),
    "no funnel user in common": Sentence(
        '"{table}" and the funnel have no user in common.',
        "The run lists {listed}, ...; the funnel has {known}, ...",
        "Check that both use the same ids for users (--columns user=NAME).",
    ),
    "pair twice": Sentence(
        '"{table}" has a user and item more than once.', SUCH, "Keep one row per pair."
    ),
    "prediction twice": Sentence(
        '"{table}" predicts a pair more than once.', SUCH, "Keep one row per user and item."
    ),
    "clicked pair without ctr": Sentence(
        '"{table}" lists clicked pairs without a ctr, which {who} needs.',
        "Found {count:,}{where}.",
        "Predict them (--predictions PATH with user, item, ctr), or have a model"
        " fitted: --ctr rates.",
    ),
    "shown pair without exposure": Sentence(
        '"{table}" lists pairs that were shown and have no exposure, which {who} needs.',
        "Found {count:,}{where}.",
        "Give the chance that each was shown (--predictions PATH with user, item, exposure), or"
        " have a model fitted: --exposure rates.",
    ),
    "pair without ctr": Sentence(
        '"{table}" lists pairs without a predicted ctr, which {who} needs.',
        "Found {count:,}{where}.",
        "Predict them (--predictions PATH with user, item, ctr), or have a model"
        " fitted: --ctr rates.",
    ),
    "pair without cvr": Sentence(
        '"{table}" lists pairs without a predicted cvr, which {who} needs.',
        "Found {count:,}{where}.",
        "Predict them (--predictions PATH with user, item, cvr), or have a model"
        " fitted: --cvr rates.",
    ),
    "not all items": Sentence(
        "{who} needs rankings of all {items:,} items.",
        '"{table}" ranks fewer for {count:,} of {of:,} users{where}.',
        "Rank every item for every user, or take DCG@10.",
        case="user {user!b}, {depth:,} items",
    ),
    "funnel user without list": Sentence(
        '"{table}" has no list for {count:,} of {of:,} users.',
        "The first is {first}.",
        "Give each a list, or count what they buy from it as 0: --missing zero.",
        case=ID,
    ),
    # judgments and runs
    "judged twice": Sentence(
        '"{table}" judges an item more than once for the same user.',
        SUCH,
        "Keep one judgment per user and item: the newest, or the best.",
    ),
    "item twice in files": Sentence(
        '"{table}" lists an item more than once for the same user.',
        f"{SUCH} {{files}} files were read as one run; give each by itself if not.",
        TWICE,
    ),
    "item twice in list": Sentence(
        '"{table}" lists an item more than once for the same user.',
        SUCH,
        TWICE,
        instead=(lambda fault: fault.more["files"] > 1, "item twice in files"),
    ),
    "rank twice in list": Sentence(
        'Column "rank" of "{table}" repeats a rank within a list.',
        SUCH,
        "Give each item of a user's list a rank of its own, or give scores instead.",
    ),
    "no user in common": Sentence(
        '"{table}" and the judgments have no user in common.',
        "The run lists {listed}; judged are {judged}.",
        "Check that both use the same ids for users (--columns user=NAME).",
    ),
    "user not judged": Sentence(
        '"{table}" lists {count:,} users without judgments.',
        "",
        "Judge them, leave them out, or ignore them: --unjudged ignore.",
    ),
    "judged user without list": Sentence(
        '"{table}" has no list for {count:,} of {of:,} judged users.',
        "The first is {first}.",
        "Give each a list, or count them 0 (--missing zero) or leave them out (skip).",
        case=ID,
        instead=(everywhere, "no user in common"),
    ),
    "no number": Sentence(
        "{column} gives no number for {count:,} of {of:,} users.",
        "The first is {first}.",
        "Ratings may be beyond what its formula can take; if the measure is your own, let it"
        " give a finite number for every user.",
        case=ID,
    ),
    "nothing to find": Sentence(
        "{count:,} of {of:,} judged users have nothing to find for {column}.",
        "The first is {first}.",
        "Leave them out (--no-relevant skip) or count them 0 (zero).",
        case=ID,
    ),
    "nothing to find at all": Sentence(
        "None of {of:,} {table} users has anything to find for {column}.",
        "The greatest rating is {top:g}.",
        "Check rel= against the ratings.",
    ),
    "nothing to find in strata": Sentence(  # of judged or of open-loop users
        "{count:,} of {of:,} {table} users have nothing to find for {column}.",
        "The first is {first}.",
        "Check rel= against the ratings, or leave such users out (--no-relevant skip).",
        case=ID,
        instead=(everywhere, "nothing to find at all"),
    ),
}
