"""The surface is one: functions, flags, help, documents and repetitions say the same."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import counterrank as cr
from counterrank.api.gate import report
from counterrank.assumptions.registry import ASSUMPTIONS
from counterrank.cli import help as texts
from counterrank.cli.command import flag, parser
from counterrank.cli.commands import COMMANDS, run
from counterrank.core.arguments import arguments
from counterrank.nuisance.cross_fit import pair_model
from counterrank.position import Log2, Power
from counterrank.simulate import SamplePlan, World
from frozen import worlds
from frozen.cases import CASES, REDRAWN

ROOT = Path(cr.__file__).parent
SCHEMA = json.loads((ROOT / "documents" / "document.schema.json").read_text(encoding="utf-8"))
EVERY = [*CASES, *REDRAWN]
OF_COMMAND = {"--config", "--dry-run", "--help", "-h"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surface")
    worlds.write(folder)
    return folder


def call(*words, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "counterrank", *map(str, words)], cwd=cwd, capture_output=True,
        text=True, check=False, env={**os.environ, "COLUMNS": "80", **environment},
    )  # fmt: skip


def test_the_schema_refuses_other_shapes(tables, monkeypatch):
    monkeypatch.chdir(tables)
    document = json.loads(EVERY[0].result().to_json())
    for change in ({"schema": 0}, {"kind": "evaluation"}, {"estimates": [{"system": "a"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(document | change)


@pytest.mark.parametrize("name", COMMANDS)
def test_flags_are_keywords_and_keywords_flags(name):
    command = COMMANDS[name]
    known = arguments(command.function)
    output = {flag(one) for one in command.output} | OF_COMMAND
    actions = parser(command)._actions
    flags = {f for action in actions for f in action.option_strings if f.startswith("--")}
    places = {action.dest for action in actions if not action.option_strings}
    keywords = {n for n, a in known.items() if a.mark != "python" and n not in places}
    assert flags - output == {flag(n) for n in keywords} - output
    assert keywords | places == {n for n, a in known.items() if a.mark != "python"}
    for action in actions:
        assert action.help, action.dest
    for keyword in (*keywords, *places):
        assert (texts.HELP.get(f"{name}.{keyword}") or texts.HELP[keyword])[2]
    assert set(inspect.signature(command.function).parameters) - {"where"} <= set(known)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_every_word_that_is_taken(name):
    shown = parser(COMMANDS[name]).format_help()
    for argument in arguments(COMMANDS[name].function).values():
        missing = [word for word in argument.words if word not in shown]
        assert argument.mark == "python" or not missing, argument.name
    if name == "estimate":
        sized = {a.name.replace(" ", "_") for a in ASSUMPTIONS if a.default == a.default}
        assert not sorted(name for name in sized if name not in shown)


def test_defaults_of_the_simulate_command_are_those_of_worlds_and_samples():
    told = {n: a.default for n, a in arguments(COMMANDS["simulate"].function).items()}
    names = {"loggers": "logger", "arms": "arm", "runs": "run", "seed": "world_seed"}
    empty = {"logger": {"logged": 1.0}, "arm": {}, "run": None}
    world, plan = World(), SamplePlan(world=World())
    for owner, skipped in ((world, ()), (plan, ("world", "seed"))):
        for field in owner.__dataclass_fields__.values():
            if field.name in skipped or not field.init:
                continue
            name = names.get(field.name, field.name)
            own = getattr(owner, field.name)
            default = empty.get(name, told[name])
            if isinstance(own, tuple) or isinstance(default, tuple):
                own, default = (tuple([x] if isinstance(x, str) else x) for x in (own, default))
            assert own == default, field.name
    assert told["seed"] == plan.seed


FIRST = {}  # one case of files for each verb, in memory
for one in EVERY:
    if one.engine == "memory" and not one.frames and "model" not in one.options:
        FIRST.setdefault(one.verb, one)


@pytest.mark.parametrize("verb", FIRST)
def test_a_saved_result_repeats_itself(verb, tables, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tables)
    result = FIRST[verb].result()
    file = tmp_path / "result.json"
    file.write_text(result.to_json(), encoding="utf-8")
    again = cr.repeat(file, data=str(tables))
    assert again.same, again.differences[:5]
    old, new = (json.loads(r.to_json()) for r in (result, again.result))
    for document in (old, new):
        document["provenance"].pop("options")
        for table in document["provenance"]["inputs"]:
            table["name"] = Path(table["name"]).name
        for table in document["tables"].get("tables", ()):
            table["table"] = Path(table["table"]).name
    assert new == old
    monkeypatch.chdir(tmp_path)
    assert run(["repeat", str(file), "--data", str(tables)]) == 0
    changed = json.loads(file.read_text())
    changed["provenance"]["inputs"][0]["sha256"] = "0" * 64
    file.write_text(json.dumps(changed))
    assert run(["repeat", str(file), "--data", str(tables)]) == 3
    first = Path(changed["provenance"]["inputs"][0]["name"]).name
    assert f"inputs[{first}].sha256: " in capsys.readouterr().out


def test_of_inputs_with_one_name_that_with_the_recorded_checksum_is_taken(tables, tmp_path):
    right, wrong = tmp_path / "b", tmp_path / "a"
    for place, sources in ((right, ("judgments", "good")), (wrong, ("good", "judgments"))):
        place.mkdir()
        for name, source in zip(("judgments", "new"), sources, strict=True):
            pl.read_parquet(tables / f"{source}.parquet").write_parquet(place / f"{name}.parquet")
    made = cr.evaluate(
        str(right / "judgments.parquet"), str(right / "new.parquet"), measure="nDCG@5"
    )
    made.save(tmp_path / "result")
    assert cr.repeat(tmp_path / "result", data=str(tmp_path)).same


def folder_of_examples(folder, tables):
    """The files that the examples name."""
    for name, source in {
        "judgments": "judgments", "log": "log", "funnel": "funnel", "shown": "new",
    }.items():  # fmt: skip
        pl.read_parquet(tables / f"{source}.parquet").write_parquet(folder / f"{name}.parquet")
    for name, source in {"new": "good", "old": "weak", "a": "sale_a", "b": "sale_b"}.items():
        pl.read_parquet(tables / f"{source}.parquet").write_parquet(folder / f"{name}.parquet")
    pl.read_parquet(tables / "past.parquet").write_csv(folder / "past.csv")
    pl.read_parquet(tables / "trials.parquet").write_csv(folder / "trials.csv")
    words = ("exposure", "log.parquet", "--reward", "click", "--out", "pbm.json", "--quiet")
    assert run([*words]) == 0
    words = ("evaluate", "judgments.parquet", "new.parquet", "old.parquet", "--baseline", "old")
    made = ("-m", "nDCG@5", "--draws", "200", "--out", "result", "--quiet")
    assert run([*words, *made]) == 0


@pytest.fixture(scope="module")
def examples(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    before = Path.cwd()
    os.chdir(folder)
    try:
        folder_of_examples(folder, tables)
    finally:
        os.chdir(before)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_and_its_examples_run(name, examples, monkeypatch, capsys):
    monkeypatch.chdir(examples)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as end:
        run([*name.split(), "--help"])
    assert not end.value.code
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert not re.search(r" --?[\w-]+ \\\n +[^ -]", shown)  # a flag and its value stay together
    assert len(texts.EXAMPLES[name]) == 2
    for line in texts.EXAMPLES[name]:
        assert f"\n  counterrank {line}\n" in shown.replace(" \\\n     ", "")
        assert run(shlex.split(line)) == 0, (line, capsys.readouterr().err)


def test_documents_of_the_first_version_are_refused(tmp_path):
    old = {
        "kind": "evaluate", "estimates": [], "comparisons": [], "diagnoses": [], "protocol": {},
        "provenance": {"version": "0.1.0", "inputs": []},
    }  # fmt: skip
    (tmp_path / "result.json").write_text(json.dumps(old))
    for verb in (report, cr.gate):
        with pytest.raises(cr.InputError, match=r"Counterrank 0\.1\.0 made it"):
            verb(tmp_path)
    for name in ("report", "gate"):
        done = call(name, "result.json", cwd=tmp_path)
        assert done.returncode == 2
        assert "Counterrank 0.1.0 made it, as schema 0." in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": "x"}, "level must be a number, not 'x'"),
        ({"level": 95}, "level must lie between 0 and 1, not 95. Write 0.95."),
        ({"draws": 1.5}, "draws must be a whole number, not 1.5"),
        ({"draws": True}, "draws must be a whole number, not True"),
        ({"test": "tt"}, 'test cannot be "tt"'),
        ({"missing": "skp"}, 'missing cannot be "skp". Did you mean "skip"?'),
        ({"measures": "P@5"}, 'evaluate has no argument "measures". Did you mean "measure"?'),
        ({"engine": "abacus"}, 'engine cannot be "abacus"'),
    ],
)
def test_what_the_signature_does_not_allow_is_refused_by_name(options, said):
    with pytest.raises(cr.UsageError) as caught:
        cr.evaluate("judgments.parquet", "new.parquet", **options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: cr.measure("AP(over=some)@5"), 'AP(over=...) cannot be "some"'),
        (
            lambda: cr.measure("AP(mean=geometric,floor=2)"),
            "AP(floor=...) must lie between 0 and 1",
        ),
        (lambda: Power(eta=float("nan")), "power(eta=...) must be at least 0, not nan"),
        (lambda: Power(eta=-1), "power(eta=...) must be at least 0, not -1"),
        (lambda: Log2(scale=0), "log2(scale=...) must be more than 0, not 0"),
        (lambda: Log2(scale=float("inf")), "log2(scale=...) must be more than 0, not inf"),
        (lambda: pair_model("rates(by=both,weight=some)"), 'rates(weight=...) cannot be "some"'),
        (lambda: pair_model("factors(l2=0)"), "factors(l2=...) must be more than 0, not 0"),
        (lambda: cr.Local(partitions=0), "partitions must lie between 1 and 65536, not 0"),
        (lambda: cr.Spark(inference="some"), 'inference cannot be "some"'),
        (lambda: World(trust=2), "trust must lie between 0 and 1, not 2"),
        (lambda: World(days=1.5), "days must be a whole number, not 1.5"),
    ],
)
def test_what_the_annotations_of_a_dataclass_do_not_allow_is_refused(make, said):
    with pytest.raises(cr.UsageError) as caught:
        make()
    assert said in str(caught.value)
