"""``--dry-run`` goes the way of the run up to its first rows, and says what was understood."""

from __future__ import annotations

import pytest

from counterrank.cli.commands import run
from frozen import worlds

CALLS = {
    "evaluate judgments.parquet good.parquet": "998 rows; user, item, rating",
    "estimate log.parquet new.parquet --reward click --position-bias log2": "session, item, rank",
    "strata judgments.parquet good.parquet": "998 rows; user, item, rating",
    "funnel funnel.parquet a=sale_a.parquet": "user, item, click, conversion",
    "exposure seen.parquet --method views": "session, item, rank",
    "check judgments.parquet good.parquet": "998 rows",
    "assess power judgments.parquet good.parquet weak.csv": "user, item, score",
    "assess online past.parquet --baseline old": "experiment, online, system, measure",
    "assess accuracy trials.parquet": "system, estimator",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_dry_run_says_what_was_understood(call, tmp_path, monkeypatch, capsys):
    worlds.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert run([*call.split(), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert f"{' '.join(call.split()[: 1 + call.startswith('assess')])} would read" in told
    assert CALLS[call] in told
    assert "It would take about" in told
    assert sorted(tmp_path.rglob("*")) == before


ENGINES = (
    "--engine abacus", "--memory lots", "--memory 5MB", "--partitions 0", "--inference guess",
    "--engine spark --memory 1GB", "--memory 1GB --scratch nowhere",
)  # fmt: skip
JUDGED = "judgments.parquet good.parquet weak.parquet"
TWICE = "judgments.parquet good.parquet good.parquet"
LOGGED = "log.parquet new.parquet --position-bias log2"
BAD = {  # what each verb can refuse before it reads a row
    f"evaluate {JUDGED}": (
        *ENGINES, "--level 95", "--level x", "--baseline nobody", "--baseline=",
        "--columns user=nope", "--columns usr=user", "-m nDGC", "-m ,", "-m AP --ties expected",
        "-m DCG --interval bernstein", "--inference moments --test wilcoxon",
        "--inference moments --interval bca", "--test t --correct maxt",
        "--engine spark --ties file", "--draws 0", "--draws 1e9", "--draws 99999999999999",
        "--resamples 99999999999", "--seed -1", "--out good.parquet", "--by-unit x.xlsx",
        "--format xml", f"-m P(rel={'9' * 400})@5", f"-m {',' * 100_000}", f"--draws {'9' * 400}",
    ),
    f"evaluate {TWICE}": ("",),
    "evaluate judgments.parquet": ("judgments.parquet", "nowhere.parquet", "x="),
    "evaluate good.parquet good.parquet": ("",),
    f"estimate {LOGGED}": (
        *ENGINES, "--baseline nobody", "--columns user=nope", "--reward nope", "--reward rank",
        "--reward session", "--reward user", "--context nope", "--context click", "-e IPSX",
        "-e ,", "-e RIPS", "--scores plackett_luce", "--logged propensity",
        "--inference moments --interval bca", "--logger logger_a.parquet",
        "--position-bias nofile.json", "--resamples 99999999999",
    ),
    "estimate log_int.parquet new_int.parquet --position-bias log2": (
        "--reward rank", "--reward session", "--reward item",
    ),
    **{
        f"estimate log.parquet new.parquet --position-bias {curve}": (
            "--baseline nobody", "--columns user=nope", "--reward nope", "--context nope",
            "--allow trsut=0.2", "-e RIPS", "--logged propensity", "new.parquet", "good.parquet",
            "--decide-by nope", "--logger logger_a.parquet",
        )
        for curve in ("views", "learned.json")
    },
    "estimate log.parquet new.parquet": ("", "new.parquet --position-bias log2"),
    "estimate log.parquet logged=new.parquet --position-bias log2": ("",),
    "estimate latent.parquet new.parquet --position-bias log2 --views observed": ("",),
    "estimate slates.parquet sampled.parquet -e RIPS": ("",),
    "estimate log.parquet foretold.parquet --position-bias log2 --missing logged": ("",),
    "estimate log.parquet sampled.parquet --position-bias log2 -e nDCG": ("",),
    f"strata {JUDGED}": (
        *ENGINES, "--baseline nobody", "--columns user=nope", "--cut nope", "--propensity nope",
        "--open-run good.parquet", "--open-loop open.parquet --open-run good=open_good.parquet",
        "--open-loop nowhere.parquet", "--feedback good.parquet --propensity propensity",
        "--strata 999", "--cut country --strata 2", "--feedback units.parquet",
    ),
    f"strata {TWICE}": ("",),
    "funnel funnel.parquet sale_a.parquet": (
        *ENGINES, "--baseline nobody", "--columns user=nope", "--reward nope", "--reward click",
        "--reward user", "--reward ctr", "--predictions predicted.parquet", "--ctr nope",
        "--ctr logistic", "--user-features user_features.parquet", "-m nope@3", "-e RIPS",
        "--ctr logistic --user-features funnel.parquet", "--floor 2", "sale_a.parquet",
    ),
    "funnel bare_funnel.parquet sale_a.parquet": ("",),
    "exposure seen.parquet": (
        *ENGINES, "--columns user=nope", "--reward nope", "--reward rank", "--reward session",
        "--by nope", "--by click --reward click", "--context nope", "--length 5 --method views",
        "--swapped device --method em", "--out x.txt", "--ranks 0",
    ),
    "exposure good.parquet": ("",),
    "check judgments.parquet good.parquet": (
        "--engine abacus", "--memory lots", "--columns user=nope", "--columns usr=nope",
        "-m nope", "--position-bias nope", "--reward nope", "--context nope",
        "judgments.parquet", "good.parquet",
    ),
    f"assess power {JUDGED}": (
        *ENGINES, "--columns user=nope", "--resamples 3", "-m nope", "good.parquet",
    ),
    "assess power judgments.parquet": ("", "good.parquet"),
    "assess power units.parquet": (
        "--columns unit=nope", "--columns user=nope", "--engine abacus", "--resamples 3",
    ),
    f"assess agreement {JUDGED}": ("--columns user=nope", "-m nope", "good.parquet"),
    "assess agreement units.parquet": ("--columns user=nope", "--level 1"),
    f"assess robustness {JUDGED}": ("--columns user=nope", "--samples 1", "--sizes 2"),
    "assess robustness judgments.parquet good.parquet": ("",),
    "assess robustness units.parquet": (
        "--columns user=nope", "--reduction items", "--reduction nope", "--sizes 2",
    ),
    "assess online past.parquet": (
        "--columns user=nope", "--columns experiment=nope", "--offline nope", "--sweep clip",
        "--engine abacus",
    ),
    "assess online dated.parquet new=new.parquet": (
        "", "--position-bias log2 --columns user=nope", "--position-bias log2 new=old.parquet",
        "--position-bias log2 control=old.parquet",
        "--position-bias log2 --memory 1GB --resume x",
    ),
    "assess online log.parquet new=new.parquet --position-bias log2": ("",),
    "assess accuracy trials.parquet": (
        "--columns user=nope", "--columns estimate=nope", "--level 2",
    ),
    "assess accuracy units.parquet": ("",),
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    worlds.write(folder)
    words = ("exposure", f"{folder}/log.parquet", "--quiet", "--out", f"{folder}/learned.json")
    assert run([*words]) == 0
    return folder


def refusal(words):
    import counterrank as cr

    with pytest.raises(cr.CounterrankError) as refused:
        run(words)
    return str(refused.value)


@pytest.mark.parametrize("call", BAD)
def test_a_dry_run_refuses_what_the_run_refuses(call, tables, monkeypatch):
    """It is the run, left at its first rows: the same words, whatever the option."""
    monkeypatch.chdir(tables)
    before = sorted(tables.rglob("*"))
    for bad in BAD[call]:
        words = [*call.split(), *bad.split()]
        assert refusal(words) == refusal([*words, "--dry-run"]), words
    assert sorted(tables.rglob("*")) == before


@pytest.mark.parametrize("verb", ["evaluate", "strata", "check", "assess power", "assess accuracy"])
def test_a_table_without_a_name_is_refused(verb, tables, monkeypatch, capsys):
    """An empty path is not the working folder with all tables below it."""
    monkeypatch.chdir(tables)
    words = [*verb.split(), "", *(["good.parquet"] if verb != "assess accuracy" else [])]
    if verb == "check":  # which reports what is wrong with each table
        assert run(words) == 2
        assert "The name of a table is empty" in capsys.readouterr().out
    else:
        assert "The name of a table is empty" in refusal(words)


def test_a_dry_run_lists_every_table(tables, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    words = "strata judgments.parquet good.parquet --propensity chances.parquet --dry-run"
    assert run(words.split()) == 0
    told = capsys.readouterr().out
    assert all(f"  {name}.parquet: " in told for name in ("judgments", "good", "chances"))
    words = "funnel bare_funnel.parquet sale_a.parquet --ctr logistic --cvr rates --dry-run"
    assert run([*words.split(), "--user-features", "user_features.parquet"]) == 0
    told = capsys.readouterr().out
    assert all(f"  {name}.parquet: " in told for name in ("bare_funnel", "sale_a", "user_features"))


def test_columns_under_other_names_are_told(tmp_path, monkeypatch, capsys):
    import polars as pl

    worlds.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    pl.read_parquet("judgments.parquet").rename({"user": "uid"}).write_parquet("j.parquet")
    words = "evaluate j.parquet good.parquet --columns user=uid --out result --dry-run"
    assert run(words.split()) == 0
    told = capsys.readouterr().out
    assert "user=uid" in told
    assert "It would write result." in told
    assert not (tmp_path / "result").exists()


def test_empty_names_and_labels_are_refused(tmp_path, monkeypatch):
    import counterrank as cr

    worlds.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cr.UsageError, match="--out must name"):
        run(["evaluate", "judgments.parquet", "good.parquet", "--out", ""])
    with pytest.raises(cr.UsageError, match="No estimator"):
        run("estimate log.parquet new.parquet --position-bias log2 -e ,".split())


@pytest.mark.parametrize(
    "line",
    ["runs = 3", "runs = [3]", "judgments = ['j']", "columns = 3", "columns = ['user=u']",
     "out = 3", "by_unit = 5", "scratch = 5", "format = 3", "format = ['json']", "strict = 'no'",
     "level = 'x'", "measure = 5", "draws = 1.5"],
)  # fmt: skip
def test_a_file_of_options_is_checked(line, tmp_path, monkeypatch):
    import counterrank as cr

    worlds.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    whole = {"judgments": 'judgments = "judgments.parquet"', "runs": 'runs = ["good.parquet"]'}
    lines = [text for name, text in whole.items() if line.split()[0] != name]
    (tmp_path / "options.toml").write_text("\n".join([*lines, line]))
    with pytest.raises(cr.UsageError, match=line.split()[0]):
        run(["evaluate", "--config", "options.toml"])


def test_a_file_of_options_takes_the_names_of_flags(tmp_path, monkeypatch, capsys):
    worlds.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "options.toml").write_text("position-bias = 'log2'\ndecide_by = 'click'\n")
    words = "estimate log.parquet new.parquet --reward click --config options.toml --dry-run"
    assert run(words.split()) == 0
    assert "position_bias: log2" in capsys.readouterr().out


def test_a_dry_run_fits_and_leaves_out_what_was_not_said(tmp_path, monkeypatch, capsys):
    worlds.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    run("estimate log.parquet new.parquet --reward click --position-bias log2 --dry-run".split())
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert not [line for line in lines if line.endswith((": ", ":"))]


def test_a_file_that_is_no_text_is_told(tmp_path, monkeypatch):
    import counterrank as cr

    monkeypatch.chdir(tmp_path)
    (tmp_path / "options.toml").write_bytes("seed = 1".encode("utf-16"))
    with pytest.raises(cr.UsageError, match="not TOML"):
        run(["evaluate", "--config", "options.toml"])
