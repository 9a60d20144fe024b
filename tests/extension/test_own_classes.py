"""A user's own measure, estimator and position model, everywhere that ours go."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import counterrank as cr
from parity_worlds import cases, differences

sys.path.insert(0, str(Path(__file__).parent))

from own import Halves, Halving

HERE = Path(__file__).parent
OWN = {
    "evaluate": {"measure": ["nDCG@5", "Halves@5", "halves(by=3)@5", "DCG(discount=halving)@5"]},
    "estimate": {"estimator": ["IPS", "Tempered", "tempered(power=1)"], "position_bias": "halving"},
    "funnel": {"estimator": ["Naive", "Tempered"], "measure": ["DCG@5", "Halves@5", "halving@5"]},
    "strata": {"measure": ["nDCG@5", "Halves@5"]},
}


def own_case(name):
    case = cases()[name]
    return replace(case, options={**case.options, **OWN[name]})


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("options", [{"partitions": 5}, {"partitions": 5, "inference": "moments"}])
def test_on_disk(name, options, tmp_path):
    case = replace(own_case(name), options={**own_case(name).options, "test": "t"})
    told = case.told(lambda frame: frame)
    labels = {str(row[key]) for row in told["estimates"] for key in ("measure", "estimator")}
    assert labels & {"Halves@5", "Tempered"}
    again = case.told(lambda frame: frame, scratch=str(tmp_path), **options)
    for kind in ("estimates", "comparisons"):
        assert not list(differences(told[kind], again[kind], kind))


@pytest.mark.spark
@pytest.mark.parametrize("name", OWN)
def test_on_a_cluster(name, spark):
    told = own_case(name).told(lambda frame: frame)
    engine = cr.Spark(session=spark, partitions=3)
    again = own_case(name).told(
        lambda frame: spark.createDataFrame(frame.to_arrow()), engine=engine
    )
    assert not list(differences(told, again))


def result_of(name):
    case = own_case(name)
    return getattr(cr, case.verb)(*case.tables.values(), **case.options)


@pytest.mark.parametrize("name", OWN)
def test_into_json_page_table_and_gate(name, tmp_path):
    result = result_of(name)
    assert json.loads(result.to_json())["comparisons"]
    label = "Tempered" if name in ("estimate", "funnel") else "Halves@5"
    assert label in result.report()
    assert label in str(result)
    key = "estimator" if label == "Tempered" else "decide_by"
    base = result.protocol.get("baseline") or result.systems[0]
    assert cr.gate(result, baseline=base, **{key: label})
    result.save(tmp_path)


def test_formulas_are_what_they_say():
    same = result_of("estimate")
    mine = [r.value for r in same.estimates if r.estimator == "Tempered(power=1)"]
    assert mine == [r.value for r in same.estimates if r.estimator == "IPS"]
    judged = result_of("evaluate")
    system = judged.systems[0]
    halves = judged.estimate(system, "HALVES@5").value
    assert halves == pytest.approx(judged.estimate(system, "DCG(discount=halving)@5").value)
    assert judged.estimate(system, Halves(k=5)).value == halves


def test_a_class_that_nobody_registered():
    class Loose(Halves):
        """The same under another name."""

    case = cases()["evaluate"]
    result = cr.evaluate(*case.tables.values(), measure=["nDCG@5", Loose(k=5)])
    system = result.systems[0]
    assert result.estimate(system, "Loose@5").value > 0
    assert result.to_dict()["protocol"]["measures"]["Loose@5"] == "The same under another name."


def test_a_position_model_goes_to_a_file_and_back():
    from counterrank.position.model_file import from_json, to_json

    assert from_json(to_json(Halving(by=3))) == Halving(by=3)
    assert cr.position_bias("by(device,halving,tv=log2)").default == Halving()


def test_what_cannot_be_registered():
    assert cr.register(Halves) is Halves
    with pytest.raises(cr.UsageError, match='"nDCG" is already the name of a measure'):

        @cr.register
        class Other(cr.Measure):
            name = "nDCG"

    with pytest.raises(cr.UsageError, match="every option a default"):

        @cr.register
        class Bare(cr.Estimator):
            """Without columns."""

    with pytest.raises(cr.UsageError, match='"base" has the name of a method'):

        @cr.register
        class Shadow(cr.Measure):
            base: float = 2

    with pytest.raises(cr.UsageError, match="Derive a class"):
        cr.register(dict)


@pytest.fixture
def plugin(tmp_path):
    """A package that is installed, as far as entry points can tell, and one that is broken."""
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    entries = "[counterrank]\nmine = own\nbroken = not_there:Thing\n"
    (info / "entry_points.txt").write_text(entries)
    (tmp_path / "own.py").write_text((HERE / "own.py").read_text())
    return tmp_path


def run(plugin, *words):
    source = Path(cr.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-m", "counterrank", *map(str, words)],
        capture_output=True, text=True, cwd=plugin,
        env={"PYTHONPATH": f"{source}:{plugin}", "PATH": "/usr/bin:/bin", "HOME": str(plugin)},
    )  # fmt: skip


def test_on_the_command_line(plugin):
    case = cases()["evaluate"]
    judged, runs = case.tables.values()
    judged.write_csv(plugin / "judged.csv")
    for name, table in runs.items():
        table.write_csv(plugin / f"{name}.csv")
    words = ["evaluate", "judged.csv", *(f"{n}={n}.csv" for n in runs), "--measure", "Halves@5"]
    done = run(plugin, *words)
    assert done.returncode == 0, done.stderr
    assert "Halves@5" in done.stdout
    listed = run(plugin, "measures").stdout
    assert "Halves" in listed
    assert 'The plugin "broken" (not_there:Thing) does not load: ModuleNotFoundError' in listed
    assert "each half of what the rank above" in run(plugin, "measures", "halves").stdout
    assert "does not load" in run(plugin, "measures", "Nothing").stderr
