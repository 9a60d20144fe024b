"""Every verb gives the same numbers whatever holds the tables, in memory and by way of the disk."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from counterrank.engine.engines import Local
from parity_worlds import cases, differences

HOLDERS = {
    "pandas": lambda frame: frame.to_pandas(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "shuffled": lambda frame: frame.sample(fraction=1, shuffle=True, seed=3),
}


@pytest.fixture(scope="module")
def plain():
    """The documents of tables in memory, each made once."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = cases()[name].told(lambda frame: frame)
        return made[name]

    return of


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("name", cases())
def test_whatever_holds_the_tables(plain, name, holder):
    assert not list(differences(plain(name), cases()[name].told(HOLDERS[holder])))


@pytest.mark.parametrize("partitions", [1, 7, 64])
@pytest.mark.parametrize("name", cases())
def test_by_way_of_the_disk(plain, name, partitions, tmp_path):
    engine = Local(partitions=partitions, scratch=str(tmp_path))
    told = cases()[name].told(lambda frame: frame, engine=engine)
    assert not list(differences(plain(name), told))
    assert not list(Path(tmp_path).iterdir()), "temporary files were left"
