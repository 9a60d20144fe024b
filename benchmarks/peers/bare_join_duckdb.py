"""The join that an estimate rests on, and nothing else, within so much memory and two threads.

Usage: ``bare_join_duckdb.py FOLDER MEMORY SCRATCH``. Prints matched rows, and the sum of clicks
weighed by the quotient of ranks.
"""

from __future__ import annotations

import json
import sys

import duckdb

QUERY = """
select count(*), sum(l.click * l.rank / r.rank)
from read_parquet($log) l join read_parquet($run) r on l.session = r.session and l.item = r.item
"""


def main() -> None:
    folder, memory, scratch = sys.argv[1:]
    config = {"memory_limit": memory, "threads": 2, "temp_directory": scratch}
    files = {"log": f"{folder}/log/*.parquet", "run": f"{folder}/new/*.parquet"}
    found = duckdb.connect(config=config).execute(QUERY, files)
    print(json.dumps(found.fetchone()))


if __name__ == "__main__":
    main()
