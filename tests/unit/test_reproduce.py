"""Studies made again: loaders of both layouts, resumption, pages, and what each study says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.report.charts import Figure
from counterrank.studies import ndcg_disagreement as disagreement
from counterrank.studies import open_bandit, primer
from counterrank.studies.findings_page import summary_page
from counterrank.studies.pipeline import command_line, reproduce_study, write_documentation
from counterrank.studies.registry import find_study, names
from counterrank.studies.sets import CAMPAIGNS, POLICIES, SETS, YAHOO, load_set
from counterrank.studies.study import STEPS, Context

RATINGS = [(1, 10, 5, 100), (1, 11, 3, 101), (2, 10, 4, 102)]
ROWS = [row[:3] for row in RATINGS]


def lines(rows, mark):
    return "".join(mark.join(map(str, row)) + "\n" for row in rows)


def rows_of(frame):
    return frame.select("user", "item", "rating").rows()


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_movielens_as_published(tmp_path):
    write(
        tmp_path,
        {"ml-100k/u.data": lines(RATINGS, "\t"), "ml-1m/ratings.dat": lines(RATINGS, "::")},
    )
    assert load_set("movielens-100k", tmp_path).rows() == RATINGS
    assert load_set("movielens-1m", tmp_path).rows() == RATINGS


def test_movielens_as_tables(tmp_path):
    (tmp_path / "movielens-1m").mkdir()
    pairs = pl.DataFrame({"user": [1], "item": [2]})
    pairs.write_parquet(tmp_path / "movielens-1m" / "interactions.parquet")
    assert load_set("movielens-1m", tmp_path).equals(pairs)
    write(tmp_path, {"ml-1m/ratings.dat": lines(RATINGS, "::")})  # stars are more
    assert load_set("movielens-1m", tmp_path).rows() == RATINGS


def test_coat_matrices_and_tables_are_alike(tmp_path):
    write(
        tmp_path / "a", {"coat/train.ascii": "0 5 0\n3 0 0\n", "coat/test.ascii": "0 0 1\n0 2 0\n"}
    )
    found = load_set("coat", tmp_path / "a")
    assert rows_of(found["train"]) == [(0, 1, 5), (1, 0, 3)]
    assert rows_of(found["test"]) == [(0, 2, 1), (1, 1, 2)]
    (tmp_path / "b" / "coat").mkdir(parents=True)
    for part, frame in found.items():
        frame.write_parquet(tmp_path / "b" / "coat" / f"{part}.parquet")
    again = load_set("coat", tmp_path / "b")
    assert all(again[part].equals(found[part]) for part in ("train", "test"))


def test_yahoo_and_netflix(tmp_path):
    write(
        tmp_path,
        {f"yahoo-r3/{YAHOO.format(part)}": lines(ROWS, "\t") for part in ("train", "test")},
    )
    assert rows_of(load_set("yahoo-r3", tmp_path)["test"]) == ROWS
    text = "10:\n1,5,2005-09-06\n2,4,2005-05-13\n11:\n1,3,2004-01-01\n"
    write(tmp_path, {"netflix/combined_data_1.txt": text})
    assert sorted(rows_of(load_set("netflix", tmp_path))) == sorted(ROWS)
    films = {"10": "10:\n1,5,2005-09-06\n2,4,2005-05-13\n", "11": "11:\n1,3,2004-01-01\n"}
    older = {f"netflix/training_set/mv_{film:0>7}.txt": own for film, own in films.items()}
    write(tmp_path / "older", older)
    assert sorted(rows_of(load_set("netflix", tmp_path / "older"))) == sorted(ROWS)


def bandit(seed=0):
    rng = np.random.default_rng(seed)
    made = {}
    for policy in POLICIES:
        for campaign in CAMPAIGNS:
            chance = np.array([0.25] * 4 if policy == "random" else [0.4, 0.3, 0.2, 0.1])
            item = rng.choice(4, 900, p=chance)
            click = rng.random(900) < 0.1 + 0.1 * item
            made[policy, campaign] = pl.DataFrame(
                {"item_id": item, "position": np.arange(900) % 3 + 1, "click": click.astype(int),
                 "propensity_score": chance[item]}
            )  # fmt: skip
    return made


@pytest.fixture
def bandit_folder(tmp_path):
    for (policy, campaign), log in bandit().items():
        folder = tmp_path / "obd" / policy / campaign
        folder.mkdir(parents=True)
        log.write_csv(folder / f"{campaign}.csv")
    return tmp_path


def test_a_missing_set_says_how_to_get_it(tmp_path):
    with pytest.raises(cr.InputError) as refused:
        reproduce_study("open-bandit", data=str(tmp_path), out=str(tmp_path / "out"))
    told = SETS["open-bandit"]
    for part in ("open-bandit", told.publisher, told.licence, "random/*/*.csv"):
        assert part in str(refused.value)
    with pytest.raises(cr.UsageError, match="no folder"):
        reproduce_study("open-bandit", data=str(tmp_path / "nowhere"))
    with pytest.raises(cr.UsageError, match='Did you mean "primer"'):
        find_study("primmer")


def test_a_file_of_another_shape_is_refused(tmp_path):
    write(tmp_path, {"ml-1m/ratings.dat": "1,2,3\n"})
    with pytest.raises(cr.InputError, match="not laid out as movielens-1m"):
        load_set("movielens-1m", tmp_path)


def test_a_killed_run_goes_on(tmp_path):
    calls = []

    def work():
        calls.append(1)
        return {"x": [1.5, float("nan")]}

    for _ in range(2):
        context = Context(out=tmp_path, fingerprint="0123456789abcdef")
        assert context.step("one", work) == {"x": [1.5, None]}
    assert calls == [1]
    Context(out=tmp_path, fingerprint="another run").step("one", work)
    assert calls == [1, 1]


def test_the_primer_and_table_1_match_to_the_digits_printed(golden, tmp_path):
    found = reproduce_study("primer", out=str(tmp_path))
    assert [c["state"] for c in found["claims"]] == ["does not hold", "holds", "holds"]
    assert found["claims"][0]["ours"] == "7 agree"  # 4.67 is the slip
    known = json.loads((golden / "analytic.json").read_text())
    graded = known["primer"]["graded"]
    for label, key in (
        ("DCG@5", "dcg"),
        ("IDCG(ideal=list)@5", "idcg"),
        ("nDCG(ideal=list)@5", "ndcg"),
    ):
        assert primer.list_value(label, graded["relevances"]) == pytest.approx(
            graded[key], abs=1e-12
        )
    values = primer.table_1()
    for name, own in known["jeunen_table_1"]["normaliser_ideal_top_1"]["expected"].items():
        got = values[name.replace("_prime", "'")]["nDCG@1"]
        assert got == pytest.approx([own[f"ndcg_{x}"]["value"] for x in ("x1", "x2", "mean")])
    assert {p.name for p in tmp_path.iterdir()} == {"findings.json", "primer.md", "report.html"}
    assert json.loads((tmp_path / "findings.json").read_text()) == found
    assert not (tmp_path / STEPS).exists()


def test_open_bandit_finds_what_policies_earned(bandit_folder):
    found = open_bandit.open_bandit(Context(root=bandit_folder))
    assert len(found.tables[0].rows) == 6 * len(open_bandit.ESTIMATORS)
    assert found.claims[0].state == "holds"
    logs = bandit()
    for campaign, target, truth, *_ in found.tables[0].rows:
        assert truth == pytest.approx(logs[target, campaign]["click"].mean())


def bandit_claim(value, se):
    """The first claim where IPS says ``value`` of a policy that earned 0.1 ± 0.001."""
    rows = [("all", "bts", 0.1, 0.001, name, value, se, 0.0, 1.0)
            for name in open_bandit.ESTIMATORS]  # fmt: skip
    return open_bandit._told(rows).claims[0].state


def test_agreement_with_what_was_earned_can_fail_and_can_be_untold():
    assert bandit_claim(0.101, 0.005) == "holds"
    assert bandit_claim(0.2, 0.005) == "does not hold"
    assert bandit_claim(0.101, 0.05) == "cannot be told here"


def test_dcg_and_ndcg_differ_only_where_users_do(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    chance = rng.random(120)[:, None] * rng.random(60)[None, :] ** 2
    user, item = np.nonzero(rng.random((120, 60)) < chance)
    (tmp_path / "ml-100k").mkdir()
    table = pl.DataFrame({"user": user, "item": item, "rating": 5, "time": 0})
    table.write_csv(tmp_path / "ml-100k" / "u.data", separator="\t", include_header=False)
    monkeypatch.setattr(disagreement, "NEIGHBOURS", range(2, 11))
    found = disagreement.ndcg_disagreement(Context(root=tmp_path, quick=True))
    rows = {row[0]: row for row in found.tables[0].rows}
    assert all(0 < row[2] < row[1] for row in found.tables[1].rows)  # pairs between the families
    equal = next(row for name, row in rows.items() if "held out of each" in name)
    assert equal[5].ours == 0
    for row in rows.values():  # without ties both are one number
        assert row[5].ours == pytest.approx((1 - row[4].ours) / 2, abs=0.01)


def test_pages_and_their_summary(tmp_path):
    for name in ("primer",):
        reproduce_study(name, out=str(tmp_path / "runs" / name))
    write_documentation(tmp_path / "runs", tmp_path)
    page = (tmp_path / "reproductions.md").read_text()
    assert page.count("| [primer]") == 3
    assert (tmp_path / "reproductions" / "primer.md").read_text().startswith("# Worked numbers")
    assert summary_page([]).startswith("# Reproductions")
    found = json.loads((tmp_path / "reproductions" / "primer.json").read_text())
    assert "(quick form)" not in page
    assert summary_page([found | {"quick": True}]).count("(quick form)") == 3


def test_the_command_on_a_page_names_data_where_they_are_needed():
    assert command_line(find_study("primer"), False, 0) == "counterrank reproduce primer"
    assert command_line(find_study("open-bandit"), True, 3) == (
        "counterrank reproduce open-bandit --data DIR --quick --seed 3"
    )


def test_pages_are_of_commits_of_this_history():
    """Some are older than the history, which was joined once: their commits are not there."""
    home = Path(__file__).parents[2]
    git = partial(subprocess.run, cwd=home, capture_output=True, text=True)
    shallow = git(["git", "rev-parse", "--is-shallow-repository"])
    if shallow.returncode or shallow.stdout.strip() != "false":
        pytest.skip("the history is not here")
    files = sorted((home / "docs" / "reproductions").glob("*.json"))
    assert files
    for file in files:
        commit = json.loads(file.read_text())["commit"]
        assert re.fullmatch("[0-9a-f]{7,40}", commit), f"{file.name} names no commit: make it again"
        if git(["git", "cat-file", "-e", f"{commit}^{{commit}}"]).returncode:
            continue
        known = git(["git", "merge-base", "--is-ancestor", commit, "HEAD"])
        assert known.returncode == 0, f"{file.name} was made by {commit}: make it again"


def test_saved_figures_stay_drawable():
    """Also those from before a key of their charts was there."""
    home = Path(__file__).parents[2] / "docs" / "reproductions"
    saved = [
        f for file in sorted(home.glob("*.json")) for f in json.loads(file.read_text())["figures"]
    ]
    older = [{**f, "chart": {k: v for k, v in f["chart"].items() if k != "least"}} for f in saved]
    assert any(f["chart"]["shape"] == "lines" for f in older)
    for figure in older:
        assert Figure(**figure).svg(640).startswith("<svg")


def test_the_command_lists_studies():
    done = subprocess.run(
        [sys.executable, "-m", "counterrank", "reproduce"], capture_output=True, text=True
    )
    assert done.returncode == 0
    for name in names():
        assert f"\n{name}\n" in f"\n{done.stdout}"
        assert f"about {find_study(name).minutes:g} min" in done.stdout
