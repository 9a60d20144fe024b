"""What ``estimate`` needs of a log and a target, by hand as one DuckDB query: join, model, sums.

On-policy mean, IPS, clipped IPS, SNIPS, DM and DR of one reward, with the sums of squares and
products by user that their clustered intervals need. The reward model is item means of the other
folds, shrunken by a fixed 20 views. Usage: ``joins_duckdb.py LOG RUN``.
"""

from __future__ import annotations

import json
import sys

import duckdb

QUERY = """
with l as (
  select session, "user" as u, item, click, 1 / log2(rank + 1) as e0, "user" % 5 as fold
  from read_parquet($log)),
r as (select session, item, 1 / log2(rank + 1) as e from read_parquet($run)),
m as (select fold, item, sum(click) as c, sum(e0) as v from l group by fold, item),
a as (select item, sum(c) as c, sum(v) as v from m group by item),
g as (select sum(c) / sum(v) as mean from a),
q as (
  select m.fold, m.item, (a.c - m.c + 20 * g.mean) / (a.v - m.v + 20) as q
  from m join a using (item), g),
s as (select session, any_value(fold) as fold from l group by session),
d as (
  select r.session, sum(r.e) as views, sum(r.e * coalesce(q.q, g.mean)) as direct
  from r join s using (session) left join q on q.fold = s.fold and q.item = r.item, g
  group by r.session),
j as (
  select l.session, any_value(l.u) as u, sum(l.click) as c,
    sum(l.click * coalesce(r.e, 0) / l.e0) as ips,
    sum(l.click * coalesce(r.e, 0) * least(200, 1 / l.e0)) as cut,
    sum(l.e0 * coalesce(r.e, 0) / l.e0) as w,
    sum((l.click - l.e0 * coalesce(q.q, g.mean)) * coalesce(r.e, 0) / l.e0) as missed
  from l left join r on l.session = r.session and l.item = r.item
  left join q on q.fold = l.fold and q.item = l.item, g
  group by l.session),
x as (
  select j.u, count(*) as n, sum(c) as c, sum(ips) as ips, sum(cut) as cut, sum(w) as w,
    sum(views) as v, sum(direct) as dm, sum(direct + missed) as dr
  from j join d using (session) group by j.u)
select sum(c) / sum(n) as OnPolicy, sum(ips) / sum(n) as IPS, sum(cut) / sum(n) as Clipped,
  sum(ips) / sum(w) * sum(v) / sum(n) as SNIPS, sum(dm) / sum(n) as DM, sum(dr) / sum(n) as DR,
  sum(c * c), sum(ips * ips), sum(cut * cut), sum(dm * dm), sum(dr * dr), sum(ips * w),
  sum(w * w), sum(v * v), sum(ips * v), sum(w * v), sum(ips * c), sum(cut * c), sum(dm * c),
  sum(dr * c), sum(n * n), sum(n * c), sum(n * ips), sum(n * dr)
from x
"""


def main() -> None:
    log, run = sys.argv[1:]
    found = duckdb.execute(QUERY, {"log": log, "run": run})
    names = [column[0] for column in found.description]
    print(json.dumps(dict(zip(names[:6], found.fetchone()[:6], strict=True))))


if __name__ == "__main__":
    main()
