"""Whatever is made up: a result or a message, whole files, and nothing else touched."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterrank as cr
from counterrank.core.arguments import arguments
from counterrank.documents.validation import _against, _schema
from counterrank.metrics import measure
from counterrank.position import position_bias
from faults.injector import attack_writers
from faults.mutants import ODD, attack_documents, attack_lines, documents

QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
TEXT = st.text(max_size=6)
NUMBER = st.floats() | st.integers(-3, 9) | st.sampled_from([1e308, -1e308, 1e-308, 2.0**60])


def column(values: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
    return st.lists(values, min_size=4, max_size=4)


ANY = column(TEXT) | column(NUMBER) | column(st.none()) | column(st.integers(0, 3))


@QUICK
@given(user=ANY, item=ANY, rating=ANY, rank=ANY)
def test_tables(user, item, rating, rank) -> None:
    def table(**columns: object) -> pl.DataFrame:
        return pl.DataFrame(columns, strict=False)

    with contextlib.suppress(cr.CounterrankError):
        found = cr.evaluate(
            table(user=user, item=item, rating=rating),
            {"run": table(user=user, item=item, rank=rank)},
            measure=["DCG@3", "RR"], draws=20,
        )  # fmt: skip
        assert all(abs(row.value) < float("inf") for row in found.estimates)


SHAPES: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, object]]] = {
    "strata": (("user", "item", "rating"), ("user", "item", "score"), {"measure": "nDCG@3"}),
    "estimate": (
        ("session", "item", "rank", "click", "user"), ("session", "item", "rank"),
        {"position_bias": "log2", "reward": "click"},
    ),
    "funnel": (("user", "item", "click", "conversion", "ctr"), ("user", "item", "rank"), {}),
    "exposure": (("session", "item", "rank", "click", "viewed"), (), {}),
    "check": (("session", "item", "rank", "click", "context"), ("session", "item", "score"), {}),
    "assess_power": (
        ("user", "item", "rating"), ("user", "item", "rank"), {"draws": 20, "resamples": 20},
    ),
    "assess_robustness": (("user", "item", "rating"), ("user", "item", "rank"), {"samples": 2}),
    "assess_online": (
        ("experiment", "system", "offline", "offline_se", "online"), (), {"baseline": "a"},
    ),
    "assess_accuracy": (("estimator", "estimate", "truth", "low", "high"), (), {}),
}  # fmt: skip
TAME = st.lists(st.integers(0, 1), min_size=4, max_size=4)


@pytest.mark.parametrize("engine", [{}, {"partitions": 2}], ids=["memory", "disk"])
@pytest.mark.parametrize("verb", SHAPES)
@pytest.mark.filterwarnings("ignore")
def test_tables_of_every_verb(verb: str, engine: dict[str, int]) -> None:
    """Columns of anything, most of them small numbers: a result of finite values, or a message."""
    own, runs, options = SHAPES[verb]
    function = getattr(cr, verb)
    engine = engine if "partitions" in arguments(function) else {}

    @settings(QUICK, max_examples=15)
    @given(st.lists(TAME | TAME | ANY, min_size=8, max_size=8))
    def attempt(columns: list[list[object]]) -> None:
        tables = [pl.DataFrame(dict(zip(own, columns, strict=False)), strict=False)]
        if runs:
            run = pl.DataFrame(
                dict(zip(runs, [*columns[:2], columns[7]], strict=True)), strict=False
            )
            tables += [run] if verb == "check" else [{"a": run, "b": run.reverse()}]
        with contextlib.suppress(cr.CounterrankError):
            found = function(*tables, **options, **engine)
            json.loads(found.to_json(), parse_constant=lambda word: pytest.fail(word))
            assert all(abs(row.value) < float("inf") for row in found.estimates)

    attempt()


@QUICK
@given(st.text(alphabet="nDCGAPR@(),=.0129einfrel_ \x1b", max_size=30) | TEXT)
def test_labels(label) -> None:
    for read in (measure, position_bias):
        with contextlib.suppress(cr.CounterrankError):
            read(label)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["name", "weights", "k", "eta", "column", "models", "default", "curves",
                         "version", "matrix", "context", "parameters", "clusters", "log"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@QUICK
@given(model=JSON, covariance=JSON)
def test_position_files(tmp_path_factory, model, covariance) -> None:
    file = tmp_path_factory.getbasetemp() / "model.json"
    tables = {"model": model, "covariance": covariance}
    file.write_text(json.dumps({"kind": "exposure", "tables": tables}))
    with contextlib.suppress(cr.CounterrankError):
        position_bias(file)


def test_documents_are_held_to_their_schema_as_jsonschema_holds_them(tables: Path) -> None:
    """Our few words of JSON Schema say what the library says."""
    import random

    from faults.mutants import mutant, places

    rng, several = random.Random(4), documents()
    schema = jsonschema.Draft202012Validator(_schema())
    refused = 0
    for _ in range(300):
        document = rng.choice(several)
        with contextlib.suppress(ValueError):
            changed = json.loads(mutant(document, places(document), rng))
            ours = next(_against(changed, _schema(), ""), "")
            assert bool(ours) == (not schema.is_valid(changed)), ours
            refused += bool(ours)
    assert 50 < refused < 290
    assert ODD


@pytest.mark.filterwarnings("ignore")
def test_mutated_documents(tables: Path) -> None:
    _, failed, longest = attack_documents(150, 1, tables)
    assert not failed, failed
    assert longest < 20


@pytest.mark.filterwarnings("ignore")
def test_mutated_command_lines(tables: Path) -> None:
    _, failed, longest = attack_lines(150, 2, tables)
    assert not failed, failed
    assert longest < 20


def test_faults_at_random_moments(tables: Path) -> None:
    _, failed = attack_writers(11, 0, tables)
    assert not failed, failed
