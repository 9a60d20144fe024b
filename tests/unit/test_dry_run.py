"""``--dry-run`` says what was understood; nothing is read, computed or written."""

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
    "assess online past.parquet --baseline old": "experiment, system, measure",
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


def test_a_dry_run_refuses_what_the_run_would(tmp_path, monkeypatch):
    import counterrank as cr

    worlds.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cr.InputError, match="rating"):
        run(["evaluate", "good.parquet", "good.parquet", "--dry-run"])
    with pytest.raises(cr.UsageError, match="level"):
        run(["evaluate", "judgments.parquet", "good.parquet", "--level", "95", "--dry-run"])


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


def test_a_file_that_is_no_text_is_told(tmp_path, monkeypatch):
    import counterrank as cr

    monkeypatch.chdir(tmp_path)
    (tmp_path / "options.toml").write_bytes("seed = 1".encode("utf-16"))
    with pytest.raises(cr.UsageError, match="not TOML"):
        run(["evaluate", "--config", "options.toml"])
