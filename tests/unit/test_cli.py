"""The command line, run as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time

import polars as pl
import pytest

from making import judgments, run, shown, world

COMMAND = [sys.executable, "-m", "counterrank"]


def call(*words, cwd=None, **environment):
    return subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False,
        env={**os.environ, "COLUMNS": "80", **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    truth, runs = world(users=60)
    truth.write_parquet(path / "judgments.parquet")
    for name, table in runs.items():
        table.write_parquet(path / f"{name}.parquet")
    return path


def evaluate(folder, *options):
    return call("evaluate", "judgments.parquet", "old=a.parquet", "b.parquet", *options, cwd=folder)


def test_table_fits_80_columns_and_says_what_it_rests_on(folder):
    done = evaluate(folder, "--baseline", "old", "--draws", 1000)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("What is estimated: The mean of each measure")
    assert any("difference from old" in line for line in lines)
    assert "What this rests on" in done.stdout
    assert "corrected by max-T over 1 comparison, this measure" in " ".join(done.stdout.split())
    assert "\x1b" not in done.stdout


def test_a_message_fits_the_terminal_and_stays_whole_elsewhere(folder):
    pty = pytest.importorskip("pty")
    words = [*COMMAND, "evaluate", "judgments.parquet", "a.parquet", "--config", "o.toml"]
    (folder / "o.toml").write_text("mesure = 'RR'")
    ours, theirs = pty.openpty()
    there = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(words, cwd=folder, check=False, env=there, stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode().replace("\r", "")
    os.close(ours)
    whole = subprocess.run(words, cwd=folder, check=False, env=there, stderr=subprocess.PIPE)
    assert (done.returncode, whole.returncode) == (2, 2)
    assert max(map(len, shown.splitlines())) <= 80 < max(map(len, whole.stderr.splitlines()))
    assert shown.split() == whole.stderr.decode().split()


def test_json_has_the_documented_shape(folder):
    done = evaluate(folder, "--format", "json", "-m", "nDCG@5", "--draws", 500, "--seed", 3)
    document = json.loads(done.stdout)
    assert list(document) == [
        "schema", "kind", "estimand", "estimates", "comparisons", "diagnostics", "tables",
        "protocol", "provenance",
    ]  # fmt: skip
    assert (document["schema"], document["kind"]) == (1, "evaluate")
    assert "coverage" in document["tables"]
    assert list(document["estimates"][0]) == [
        "system", "measure", "reward", "estimator", "segment", "value", "se", "low", "high",
        "level", "units", "effective_units", "verdict",
    ]  # fmt: skip
    row = document["comparisons"][0]
    wanted = "measure system baseline difference low high p p_corrected test correction"
    assert set(wanted.split()) <= set(row)
    assert (row["system"], row["baseline"]) == ("b", "old")
    assert list(document["diagnostics"][0]) == [
        "id", "name", "subject", "systems", "estimators", "value", "threshold", "state",
        "meaning",
    ]  # fmt: skip
    assert document["protocol"]["seed"] == 3
    inputs = document["provenance"]["inputs"]
    assert [i["name"] for i in inputs] == ["judgments.parquet", "a.parquet", "b.parquet"]
    assert all(len(i["sha256"]) == 64 for i in inputs)


def test_csv_has_one_row_per_estimate_and_comparison(folder):
    done = evaluate(folder, "--format", "csv", "-m", "nDCG@5", "-m", "RR", "--draws", 100)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [r["kind"] for r in rows] == ["estimate"] * 4 + ["comparison"] * 2


def test_python_json_csv_and_units_agree(folder, tmp_path):
    import counterrank as cr

    for ending in ("csv", "parquet"):
        path = tmp_path / f"units.{ending}"
        done = evaluate(folder, "--format", "json", "--by-unit", path, "--out", tmp_path / "out",
                        "--draws", 100)  # fmt: skip
        document = json.loads(done.stdout)
        units = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
        assert units.columns == ["unit", "system", "measure", "estimator", "value"]
        units = units.with_columns(pl.col("system", "measure").cast(pl.String))
        for e in document["estimates"]:
            own = units.filter(
                (pl.col("system") == e["system"]) & (pl.col("measure") == e["measure"])
            )
            assert own["value"].mean() == pytest.approx(e["value"])
            assert own.height == e["units"]
    saved = json.loads((tmp_path / "out" / "result.json").read_text())
    assert saved == document
    written = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert written == ["report.html", "result.json", "units.parquet"]
    same = cr.evaluate(
        str(folder / "judgments.parquet"),
        {"old": str(folder / "a.parquet"), "b": str(folder / "b.parquet")},
        draws=100,
    ).to_dict()
    for key in ("estimates", "comparisons", "diagnostics"):
        assert json.loads(json.dumps(same[key])) == document[key]


def test_exit_codes(folder, tmp_path):
    assert evaluate(folder, "--test", "none").returncode == 0
    bad = call("evaluate", "none.parquet", "a.parquet", cwd=folder)
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert "Traceback" not in bad.stderr
    assert bad.stderr.startswith('counterrank: No file "none.parquet".')
    assert evaluate(folder, "--nonsense").returncode == 2
    assert evaluate(folder, "-m", "nDGC").returncode == 2
    assert evaluate(folder, "--by-unit", "x.xlsx").returncode == 2
    assert evaluate(folder, "--format", "xml").returncode == 2
    assert evaluate(folder, "--columns", "user").returncode == 2
    assert evaluate(folder, "--baseline", "nobody").returncode == 2
    assert evaluate(folder, "--engine", "abacus").returncode == 2
    assert evaluate(folder, "--level", "95").returncode == 2
    assert evaluate(folder, "--out", folder / "a.parquet").returncode == 2
    few = tmp_path / "few.parquet"
    run({"u1": ["i1"]}).write_parquet(few)
    words = ("evaluate", folder / "judgments.parquet", few, "--test", "none")
    assert call(*words).returncode == 0
    assert call(*words, "--strict").returncode == 3


def test_bad_input_leaves_no_file(folder, tmp_path):
    out = tmp_path / "out"
    bad = call("evaluate", "judgments.parquet", "judgments.parquet", "--out", out, cwd=folder)
    assert bad.returncode == 2
    assert not out.exists()


def test_check_reports_every_table(folder, tmp_path):
    done = call("check", *sorted(folder.glob("*.parquet")))
    assert done.returncode == 0
    assert done.stdout.count("usable") == 4
    assert "What this rests on" in done.stdout
    broken = tmp_path / "broken.csv"
    broken.write_text("user,item,rank\nu1,i1,0\n")
    other = tmp_path / "other.csv"
    other.write_text("user,item,rank\nu1,i1,1\nu1,i1,2\n")
    words = ("check", folder / "judgments.parquet", folder / "a.parquet", broken, other)
    done = call(*words)
    assert done.returncode == 2
    assert "must count from 1" in " ".join(done.stdout.split())
    assert "more than once" in " ".join(done.stdout.split())
    document = json.loads(call(*words, "--format", "json").stdout)
    assert document["kind"] == "check"
    assert [bool(t["fault"]) for t in document["tables"]["tables"]] == [False, False, True, True]
    assert document["diagnostics"]
    assert call("check", folder / "a.parquet", "--format", "csv").stdout.startswith("table,kind")


def test_check_knows_trec_text(tmp_path):
    (tmp_path / "qrels").write_text("u 0 a 1\n")
    (tmp_path / "run").write_text("u Q0 a 1 0.5 tag\n")
    done = call("check", "qrels", "run", cwd=tmp_path)
    assert "qrels: judgments, 1 ratings, 1 users, 1 items" in done.stdout
    assert "run: run, 1 rows" in done.stdout


def test_measures_lists_and_defines():
    listed = call("measures").stdout
    defined = call("measures", "nDCG").stdout
    from counterrank.metrics import measure

    for name in measure.kinds:
        assert f"\n  {name} " in "\n" + listed
        text = call("measures", name).stdout if name in ("AP", "pnDCG", "ARP") else defined
        for word in ("formula", "gain", "discount", "ideal", "ties", "empty", "agrees"):
            assert f"  {word}" in text
    assert "rel=4" in call("measures", "AP(rel=4)@10").stdout
    assert len(json.loads(call("measures", "--format", "json").stdout)) == len(measure.kinds)
    rows = list(csv.DictReader(io.StringIO(call("measures", "--format", "csv").stdout)))
    assert len(rows) == len(measure.kinds)


def test_hostile_names_stay_text(tmp_path):
    name = "[red]x[/red]\x1b[31m\u202e"
    truth = judgments({"u": {"a": 1}, "v": {"a": 1}})
    truth.write_parquet(tmp_path / "j.parquet")
    table = run({"u": ["a"], "v": ["b", "a"]})
    both = pl.concat([table.with_columns(system=pl.lit(s)) for s in (name, "y")])
    both.write_parquet(tmp_path / "r.parquet")
    done = call("evaluate", "j.parquet", "r.parquet", cwd=tmp_path, COLUMNS="200")
    assert done.returncode == 0
    assert "[red]x[/red]\\u001b[31m\\u202e" in done.stdout
    assert "\x1b" not in done.stdout


def test_run_arguments_with_an_equals_sign_in_the_path(tmp_path):
    truth, runs = world(users=10)
    truth.write_parquet(tmp_path / "j.parquet")
    odd = tmp_path / "day=1"
    odd.mkdir()
    runs["a"].write_parquet(odd / "a.parquet")
    done = call("evaluate", "j.parquet", "day=1/a.parquet", f"x={odd / 'a.parquet'}", "--test",
                "none", "--format", "json", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {e["system"] for e in json.loads(done.stdout)["estimates"]} == {"a", "x"}


def test_import_is_light_and_help_is_quick():
    verbs = "check, demo, estimate, evaluate, funnel, exposure, strata"
    heavy = {"pandas", "pyarrow", "duckdb", "scipy", "narwhals"}
    drawing = {"pyspark", "matplotlib", "plotly"}
    for line, unwanted in {
        "import counterrank": heavy | drawing | {"polars"},
        "from counterrank.cli.commands import run; run(['--help'])": heavy
        | drawing
        | {"polars", "numpy"},
        f"from counterrank.api import {verbs}": heavy,
    }.items():
        code = f"{line}\nimport sys; print(' '.join(sys.modules))"
        loaded = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert not set(loaded.stdout.split()) & unwanted
    # A ratio, not a time: help costs a few starts of the interpreter, nothing more.
    bare = _best([sys.executable, "-c", "import argparse"])
    assert _best([*COMMAND, "--help"]) < 8 * bare


def _best(words):
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(words, capture_output=True, check=True)
        times.append(time.perf_counter() - began)
    return min(times)


def test_a_reader_that_stops_early_gets_no_traceback(folder):
    words = " ".join(COMMAND)
    line = f"{words} evaluate judgments.parquet a.parquet b.parquet --format json | head -1"
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    table = shown(seen=[0.9, 0.6, 0.4, 0.3], sessions=2500, seed=4)
    table.rename({"rank": "position"}).with_columns(device=pl.col("session") % 2).write_parquet(
        path
    )
    return path


def exposure(log, *options):
    return call("exposure", log.name, "--columns", "rank=position", *options, cwd=log.parent)


def test_exposure_prints_a_curve_and_saves_it(log):
    done = exposure(log, "--model", "power", "--out", "pbm.json")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.startswith("What is estimated: How likely a user sees what stands at each")
    assert "\nExposure by rank, views, 2,500 sessions\n    1  0.8948  [" in done.stdout
    assert "####" in done.stdout
    assert "power: eta" in done.stdout
    assert "What this rests on" in done.stdout
    assert done.stderr == "Saved as pbm.json: use it with --position-bias pbm.json\n"
    saved = json.loads((log.parent / "pbm.json").read_text())
    printed = json.loads(exposure(log, "--model", "power", "--format", "json").stdout)
    assert saved["provenance"].pop("command") != printed["provenance"].pop("command")
    assert saved == printed
    assert list(saved["tables"]["ranks"][0])[:6] == [
        "context", "rank", "value", "se", "low", "high",
    ]  # fmt: skip
    assert [row["measure"] for row in saved["estimates"]] == [f"exposure@{r}" for r in range(1, 5)]


def test_exposure_options_matter(log):
    plain = numbers(exposure(log, "--format", "json"))
    for options in (
        ["--method", "depth"], ["--method", "harvest", "--context", "query"],
        ["--method", "em", "--context", "query"], ["--method", "swap"], ["--model", "geometric"],
        ["--by", "device"], ["--level", 0.5], ["--ranks", 2],
    ):  # fmt: skip
        assert numbers(exposure(log, "--format", "json", *options)) != plain


def numbers(done):
    """What a document says, but for how it was asked."""
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return told["estimates"], told["tables"]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--method", "guess"], "auto, views, depth, harvest, swap, em"),
        (["--method", "harvest", "--context", "session,item"], "No item was ever shown"),
        (["--out", "pbm.txt"], "must end in .json"),
        (["--out", "no/such/pbm.json"], "cannot be written"),
        (["--reward", "clik"], 'Did you mean "click"?'),
        (["--by", "browser"], 'no column "browser"'),
    ],
)
def test_exposure_refuses_with_exit_code_2(log, options, hint):
    done = exposure(log, *options)
    assert done.returncode == 2
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_exposure_strict(log):
    """Ranks were not random here, and swap is told so."""
    assert exposure(log, "--method", "swap", "--context", "query").returncode == 0
    done = exposure(log, "--method", "swap", "--context", "query", "--strict")
    assert done.returncode == 3
    assert "fail     random ranks" in done.stdout


def test_numbers_on_the_command_line(folder):
    done = evaluate(folder, "--format", "json", "-m", "nDCG@5", "--level", "0.5", "--draws", "200")
    document = json.loads(done.stdout)
    assert document["estimates"][0]["level"] == 0.5
    assert document["protocol"]["draws"] == 200
    done = evaluate(folder, "--draws", "many")
    assert done.returncode == 2
    assert "--draws" in done.stderr
    done = call("evaluate", "judgments.parquet", cwd=folder)
    assert done.returncode == 2
    assert "The following arguments are required: RUN." in done.stderr


def test_words_need_no_library_to_convert_them(folder):
    """Words are converted by the signatures alone; more would take longer than this evaluation."""
    code = (
        "import sys\n"
        "from counterrank.cli.commands import run\n"
        "run(sys.argv[1:])\n"
        "print([m for m in ('pydantic', 'typer', 'click') if m in sys.modules], file=sys.stderr)"
    )
    words = ["evaluate", "judgments.parquet", "a.parquet", "-m", "P@5", "--test", "none"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--quiet"],
        capture_output=True, text=True, cwd=folder, check=False,
    )  # fmt: skip
    assert done.stderr.split() == ["[]"]


def test_a_picture_is_the_figure_that_its_file_is_named_after(folder, tmp_path):
    """Refused before the work, where it cannot be written."""
    for name, title in (("values", "judgment"), ("lifts", "lift over old"), ("slide", "lift over")):
        path = tmp_path / f"{name}.svg"
        done = evaluate(folder, "--draws", 100, "--baseline", "old", "--picture", path)
        assert done.returncode == 0, done.stderr
        assert f"Wrote {path}" in done.stderr
        text = path.read_text()
        assert text.startswith("<svg")
        assert (title in text) == (name != "values")
    absent = evaluate(folder, "--draws", 100, "--picture", tmp_path / "weights.svg")
    assert "has no figure" in absent.stderr
    bad = evaluate(folder, "--picture", tmp_path / "lifts.png")
    assert bad.returncode == 2
    assert "must end in .svg" in bad.stderr
