"""Faults are data: they add up over partitions, and the sentence is made last."""

from __future__ import annotations

from string import Formatter

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import InputError, UsageError
from counterrank.core.faults import (
    DataError,
    Fault,
    Faults,
    merge_errors,
    natural_order,
    shift_error,
    without_row,
)
from counterrank.core.merge import merge
from counterrank.core.sentences import SENTENCES
from counterrank.engine.wire import pack, unpack


def missing(count: int, of: int, **first: object) -> Fault:
    return Fault("missing value", "t.csv", "item", count, of, first)


def no_list(count: int, of: int, first: object = None, **more: object) -> Faults:
    case = {"id": first} if count else {}
    return Faults((Fault("session without list", "run", "", count, of, case, more),))


def said(faults: Faults, allowed: tuple[str, ...] = ()) -> str:
    with pytest.raises(DataError) as caught:
        faults.refuse(allowed)
    return str(caught.value)


def test_a_fault_is_an_exception_with_numbers_and_a_sentence():
    error = DataError(missing(2, 1234, row=7, value=None))
    assert isinstance(error, InputError)
    assert error.fault.count == 2
    assert error.wrong == 'Column "item" of "t.csv" has missing values.'
    assert error.found == "Found 2 of 1,234 rows (first: row 7, value None)."
    assert error.todo == "Mend or leave out these rows where the table is made."


def test_counts_add_up_and_the_first_of_all_is_told():
    parts = [missing(2, 10, row=17, value="a"), missing(0, 5), missing(1, 10, row=9, value="b")]
    whole = merge([Faults((part,)) for part in parts])
    assert whole.found == (missing(3, 25, row=9, value="b"),)
    assert whole.count("missing value") == 3
    assert Faults.merge([whole]) == whole
    assert "Found 3 of 25 rows (first: row 9, value 'b')." in said(whole)


def test_faults_of_other_tables_and_columns_stay_apart():
    other = Fault("missing value", "t.csv", "user", 1, 5, {"row": 1})
    both = Faults.merge([Faults((missing(1, 5, row=2),)), Faults((other,))])
    assert [fault.column for fault in both.found] == ["item", "user"]


@pytest.mark.parametrize(
    "ids", [[2, 10], ["2", "10"], [-5, 3], ["-5", "3"], ["7", "a1"], ["u1", "u2"], [9, "a"]]
)
def test_ids_sort_as_numbers_where_they_are(ids: list[object]):
    assert natural_order(ids[0]) < natural_order(ids[1])
    found = merge([no_list(1, 2, ids[1]), no_list(0, 3), no_list(1, 2, ids[0])])
    assert said(found).startswith('"run" has no list for 2 of 7 logged sessions.')
    assert f"The first is {ids[0]!r}." in said(found)


def test_rows_come_before_ids():
    parts = [missing(1, 5, value=1), missing(1, 5, row=900, value=2)]
    assert merge([Faults((part,)) for part in parts]).found[0].first["row"] == 900


def test_a_fault_in_every_unit_has_another_sentence_and_no_policy():
    parts = [no_list(2, 2, "b", listed=9), no_list(1, 1, "a", listed=None)]
    text = said(merge(parts), ("session without list",))
    assert text.startswith('"run" and the log have no session in common. The log has ')
    assert "has 'a', the run 9." in text
    merge([*parts, no_list(0, 1, listed=3)]).refuse(["session without list"])
    nothing = Fault("nothing logged", "run", "", 4, 4, {"id": 1})
    assert "in 4 of 4 sessions" in said(Faults((nothing,)), ("nothing logged",))


def test_the_gravest_comes_first():
    light = Fault("nothing logged", "run", "", 1, 9, {"id": 1})
    grave = Fault("item twice in session", "log", "", 1, 9, {"row": 1})
    assert said(Faults((light, grave))).startswith('"log" shows an item more than once')
    assert said(Faults((light, grave)), ("item twice in session",)).startswith('"run" lists')
    Faults((light, grave)).refuse(["item twice in session", "nothing logged"])
    Faults((missing(0, 5),)).refuse()


def test_what_to_do_depends_on_the_whole():
    def below(least: int, row: int) -> Faults:
        first = {"row": row, "value": least}
        return Faults((Fault("rank below 1", "t", "rank", 1, 3, first, {"least": least}),))

    assert said(below(0, 1)).endswith("Ranks count from 1 here: add 1.")
    assert said(merge([below(0, 1), below(-2, 5)])).endswith("it would be another one.")


def test_places_of_arrays_become_a_fault():
    fault = Fault.at("pair twice", "t", np.array([4, 2]), lambda i: {"row": i + 1}, of=6)
    assert (fault.count, fault.of, fault.first) == (2, 6, {"row": 3})
    assert Fault.at("pair twice", "t", np.empty(0, int), lambda i: {}, of=6).first == {}


def test_facts_that_come_with_the_refusal():
    fault = Fault("pair without cvr", "run", "click", 3, first={"user": "x" * 90, "item": 2})
    with pytest.raises(DataError, match=r"which DR needs. Found 3 \(first: user 'xxx.*\.\.\.xx"):
        Faults((fault,)).refuse(who="DR")


def test_errors_of_parts_become_one():
    errors = [DataError(missing(2, 10, row=3, value=1)), DataError(missing(1, 10, row=1, value=2))]
    errors = [shift_error(error, 10 * part) for part, error in enumerate(reversed(errors))]
    whole = merge_errors(errors, rows=40)
    assert whole.found == "Found 3 of 40 rows (first: row 1, value 2)."
    assert merge_errors([errors[1]]).found == "Found 2 of 10 rows (first: row 13, value 1)."
    assert without_row(whole).found == "Found 3 of 40 rows (first: value 2)."
    bare = DataError(Fault("click without chance", "t", "ctr", 1, 5, {"row": 3}))
    assert without_row(bare).found == "Found 1 rows."


def test_other_errors_merge_by_their_text():
    plain = [UsageError("Be so.", found=found) for found in ("2", "1")]
    assert merge_errors([*plain, DataError(missing(1, 1, row=1))]) is plain[1]
    assert shift_error(plain[0], 3) is without_row(plain[0]) is plain[0]


def test_faults_go_over_the_wire():
    found = Faults((missing(1, 2, row=3, value=None), missing(0, 4, value=1.5)))
    assert unpack(pack(found)) == found


def test_every_sentence_can_be_made():
    names = {"count", "of", "table", "column", "first", "where"}
    for what, sentence in SENTENCES.items():
        texts = (sentence.wrong, sentence.found, sentence.todo)
        asked = {name for t in texts for _, name, _, _ in Formatter().parse(t) if name}
        case = {name for _, name, _, _ in Formatter().parse(sentence.case) if name}
        more = dict.fromkeys((asked | {"least", "files"}) - names, 0)
        first = {"row": 1} | dict.fromkeys(case - {"column"}, 2) if case else {"row": 1, "id": 2}
        error = DataError(Fault(what, "the table", "the column", 3, 9, first, more))
        assert "{" not in str(error)
        assert sentence.instead is None or sentence.instead[1] in SENTENCES


def test_a_row_of_a_list_is_not_to_be_left_out_alone():
    """Without it the ranks have a gap, and the next run says that something else is wrong."""
    for column in ("rank", "click", "viewed", "session"):
        told = said(Faults((Fault("missing value", "t", column, 1, 9, {"row": 2}),)))
        assert "leave out the whole session or list" in told
    told = said(Faults((Fault("missing value", "t", "rating", 1, 9, {"row": 2}),)))
    assert told.endswith("Mend or leave out these rows where the table is made.")


def test_groups_that_are_not_a_number_are_missing():
    """NaN equals nothing, itself included, so no row of such a group would be found again."""
    log = pl.DataFrame({
        "session": [1, 1, 2, 2], "item": [1, 2, 2, 1], "rank": [1, 2, 1, 2], "click": [1, 0, 0, 1],
        "place": [1.0, 1.0, float("nan"), float("nan")],
    })  # fmt: skip
    lists = {"new": log.select("session", "item", "rank")}
    with pytest.raises(cr.InputError, match='"place" of "the log" has missing values'):
        cr.estimate(log, lists, position_bias="log2", context="place")
    checked = cr.check({"log": log, **lists}, context="place").tables["tables"]
    assert "Found 2 of 4 rows" in checked[0].fault
