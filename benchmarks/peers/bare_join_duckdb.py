"""The join that an estimate rests on, and nothing else, within so much memory and two threads.

Usage: ``bare_join_duckdb.py FOLDER MEMORY SCRATCH [sums]``. Prints matched rows, and the sum of
clicks weighed by the quotient of ranks. With ``sums`` it adds up by session and by user, as IPS and
SNIPS with intervals by user must, and prints what these are made of.
"""

from __future__ import annotations

import json
import sys

import duckdb

QUERY = """
select count(*), sum(l.click * l.rank / r.rank)
from read_parquet($log) l join read_parquet($run) r on l.session = r.session and l.item = r.item
"""
SUMS = """
with rows as (select l.session, l.user, l.click * w as gain, w from (
  select l.session, l.user, l.click, coalesce(l.rank / r.rank, 0) as w from read_parquet($log) l
  left join read_parquet($run) r on l.session = r.session and l.item = r.item) l),
sessions as (
  select any_value("user") as user, sum(gain) as g, sum(w) as w from rows group by session),
users as (select count(*) as n, sum(g) as g, sum(w) as w from sessions group by "user")
select count(*), sum(n), sum(g), sum(w), sum(g * g), sum(g * w), sum(w * w), sum(g * n), sum(w * n)
from users
"""


def main() -> None:
    folder, memory, scratch, *sums = sys.argv[1:]
    config = {"memory_limit": memory, "threads": 2, "temp_directory": scratch}
    files = {"log": f"{folder}/log/*.parquet", "run": f"{folder}/new/*.parquet"}
    found = duckdb.connect(config=config).execute(SUMS if sums else QUERY, files)
    print(json.dumps(found.fetchone()))


if __name__ == "__main__":
    main()
