"""What a page says: in plain words, once, and the same in every place."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from html import unescape
from itertools import pairwise
from typing import Any

import polars as pl
import pytest

import counterrank as cr
from counterrank.documents.decision import decide
from counterrank.report import page
from counterrank.report.page import Shown
from counterrank.report.sections.leaderboard import boards
from counterrank.report.site import site
from counterrank.simulate import World, judged_world, paradox_world, platform


def words(html: str, start: str = "<main", end: str = "</main>") -> str:
    """The text of a page between two places."""
    inner = html[html.index(start) : html.index(end, html.index(start))]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", inner)).split())


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    world, paradox = judged_world(users=80), paradox_world(users=300)
    week = platform(World(seed=1), sessions=400, runs=["near", "far"])
    days = pl.date(2030, 1, 5) + pl.duration(days=pl.col("session").cast(pl.Int64) // 50)
    dated = week.log.drop("day").with_columns(timestamp=days)
    options = {"measure": ["nDCG@10", "P@10"], "test": "t"}
    return {
        "evaluate": cr.evaluate(world.judgments, world.runs, **options).to_dict(),
        "baseline": cr.evaluate(
            world.judgments, world.runs, baseline="popular", **options
        ).to_dict(),
        "strata": cr.strata(paradox.judgments, paradox.runs, measure=["nDCG@10"]).to_dict(),
        "estimate": cr.estimate(dated, week.runs, reward="like", position_bias="log2@10").to_dict(),
        "check": cr.check([("log", week.log)]).to_dict(),
    }


def test_the_picture_is_in_the_unit_of_the_sentence(documents: dict[str, Any]) -> None:
    """Without a baseline a sentence tells a difference, not a lift over the next."""
    picture = words(page([documents["strata"]]), '<figure class="hero">', "</figure>")
    assert "%" not in picture.replace("95%", "")
    picture = words(page([documents["baseline"]]), '<figure class="hero">', "</figure>")
    assert "%" in picture.replace("95%", "")


def test_a_number_of_units_is_the_same_on_top_and_in_the_table(documents: dict[str, Any]) -> None:
    for kind, unit in (("strata", "users"), ("estimate", "sessions"), ("evaluate", "users")):
        html = page([documents[kind]])
        many = re.search(rf"{unit.capitalize()} ([\d,]+)", words(html))
        assert many is not None
        assert f", {many[1]} {unit}" in words(html, "<caption>", "</caption>")


def test_overall_is_said_by_which_method(documents: dict[str, Any]) -> None:
    """A paradox sets overall feedback against its strata: both stand in the table."""
    document = documents["strata"]
    table = words(page([document]), 'class="fo ', "</table>")
    rows = {r["estimator"]: r for r in document["comparisons"] if not r["segment"]}
    assert {"holdout", "stratified"} <= rows.keys()
    assert "Overall" not in table
    assert table.index("holdout") < table.index("stratified") < table.index("Q1")
    own = next(s for s in document["tables"]["strata"] if s["name"] == "Q1")
    assert f"{own['share']:.0%} of the feedback, {own['items']} items" in table


def test_what_calls_for_care_is_named_on_top(documents: dict[str, Any]) -> None:
    names = [d["name"] for d in documents["evaluate"]["diagnostics"] if d["state"] == "caution"]
    top = words(page([documents["evaluate"]]), "<main", "<section")
    assert names
    assert f"Look at: {', '.join(names)}." in top
    assert "not logged" not in top
    names = {d["name"] for d in documents["estimate"]["diagnostics"] if d["state"] == "untested"}
    top = words(page([documents["estimate"]]), "<main", "<section")
    assert names
    assert "Not told by these data: " in top
    assert min(names) in top


def test_marks_are_explained_that_are_there(documents: dict[str, Any]) -> None:
    assert "wings" in words(page([documents["estimate"]]))
    assert "wings" not in words(page([documents["baseline"]]))
    states = words(page([documents["evaluate"]]), '<ul class="legend', "</ul>")
    assert "caution" in states
    assert "untested" not in states


def test_the_days_of_a_log_stand_on_top(documents: dict[str, Any]) -> None:
    assert documents["estimate"]["protocol"]["dates"] == ["2030-01-05", "2030-01-12"]
    top = words(page([documents["estimate"]]), '<dl class="facts', "</dl>")
    assert "5 Jan 2030 to 12 Jan 2030" in top
    week = platform(World(seed=1), sessions=400, runs=["near"])
    document = cr.estimate(week.log, week.runs, reward="like", position_bias="log2@10").to_dict()
    assert "dates" not in document["protocol"]


def test_a_check_estimates_nothing_and_says_no_more_of_it(documents: dict[str, Any]) -> None:
    assert "What is estimated" not in words(page([documents["check"]]))


def test_a_check_and_a_curve_say_what_to_do(documents: dict[str, Any]) -> None:
    top = words(page([documents["check"]]), "<main", "<section")
    loud = [d for d in documents["check"]["diagnostics"] if d["state"] == "caution"]
    assert "--position-bias" in loud[0]["meaning"]
    assert loud[0]["meaning"] in top
    assert "What to log next time" in top
    week = platform(World(seed=1), sessions=400, runs=["near"])
    top = words(page([cr.exposure(week.log, reward="click").to_dict()]), "<main", "<section")
    assert "--position-bias" in top
    assert "Sessions 400" in top


def test_a_table_that_cannot_be_used_does_not_pass() -> None:
    ratings = judged_world(users=20).judgments.with_columns(rating=pl.lit("x" * 90))
    html = page([cr.check([("ratings", ratings)]).to_dict()])
    top = words(html, "<main", "<section")
    assert "1 of 1 tables cannot be used" in top
    assert "fail A fault was found" in top
    assert words(html, "<section", "</section>").count("where the table is made.") == 1


def test_who_leads_is_a_column_of_what_it_rests_on() -> None:
    world = judged_world(users=60)
    runs = {f"{name} {n}": run for n in range(2) for name, run in world.runs.items()}
    document = cr.evaluate(world.judgments, runs, measure=["P@10"], test="t").to_dict()
    shown = Shown.of(document, decide(document))
    heads = re.findall(r'<bdi class="sys">([^<]+)</bdi>', page([document]).split('class="mx')[1])
    assert heads[0] == shown.reference == shown.decision.system


def test_four_questions_stand_in_their_order(documents: dict[str, Any]) -> None:
    for kind in ("evaluate", "baseline", "strata", "estimate"):
        links = words(page([documents[kind]]), "<nav", "</nav>")
        places = [links.index(w) for w in ("What to do", "How much", "believe it", "For whom")]
        assert places == sorted(places)


def test_what_was_earned_is_not_set_beside_shares() -> None:
    week = platform(World(seed=1), sessions=400, runs=["near", "far"])
    document = cr.estimate(
        week.log, week.runs, reward="dwell", position_bias="log2@10", estimator=["DR", "nDCG"]
    ).to_dict()
    shown = Shown.of(document, decide(document))
    assert shown.lead is not None
    found = boards(document, shown.lead, shown.reference)
    assert {b.key[2]: "logged" in b.rows for b in found} == {"DR": True, "nDCG": False}


def test_both_values_stand_on_top(documents: dict[str, Any]) -> None:
    document = documents["estimate"]
    shown = Shown.of(document, decide(document))
    assert shown.gap is not None
    rows = {(r["system"], r["estimator"]): r["value"] for r in document["estimates"]}
    both = rows[shown.gap.system, "DR"], rows["logged", "OnPolicy"]
    top = words(page([document]), '<dl class="facts', "</dl>")
    assert "Decides: like per session" in top
    told = re.search(r"([\d.]+) against ([\d.]+)", top)
    assert told is not None
    assert [float(x) for x in told.groups()] == pytest.approx(both, abs=0.002)


def test_several_results_are_told_apart_by_their_decisions(documents: dict[str, Any]) -> None:
    html = page([documents["evaluate"], documents["baseline"]])
    first = words(html, '<ul class="contents">', "</ul>")
    for kind in ("evaluate", "baseline"):
        assert decide(documents[kind]).head in first
    assert first.count("80 users") == 2


def test_an_index_tells_the_measure_and_differences_without_a_baseline(
    documents: dict[str, Any],
) -> None:
    days = [(k, date(2030, 1, n), documents[k]) for n, k in enumerate(("evaluate", "baseline"), 1)]
    html = site(days)["index.html"]
    rows = [
        words(html, row, "</tr>") for row in re.findall(r'<tr role="row" data-of="[^"]*">', html)
    ]
    for kind, row in zip(("baseline", "evaluate"), rows, strict=True):
        shown = Shown.of(documents[kind], decide(documents[kind]))
        assert shown.gap is not None
        assert f"nDCG@10, over {shown.against}" in row
        assert "80 users" in row
        assert ("%" in row) == (kind == "baseline")
    same = site([(label, date(2030, 1, 1), d) for label, _, d in days])["index.html"]
    assert "1 Jan 2030 to" not in words(same)


def test_a_legend_is_not_cut_where_there_is_room() -> None:
    from counterrank.report.shapes import legend

    kinds = ["in the same order", "in another order"]
    shown = re.sub("<title>.*?</title>", "", legend(kinds, 0, None))
    assert all(kind in shown for kind in kinds)


def test_points_of_a_curve_have_the_shapes_of_its_legend() -> None:
    from counterrank.report.charts import Figure, bands
    from counterrank.report.shapes import POINTS

    rows = [{"x": n, "y": n * k, "by": f"kind {k}"} for k in (1, 2) for n in range(5)]
    chart = bands("x", "y", by="by", x_title="x", title="y", band="no")
    html = Figure("curve", "Curve", "", rows, chart).html()
    for shape in POINTS[:2]:
        assert html.count(shape) == 5 + 1
    assert replace(Figure("one", "One", "", rows[:5], chart)).html().count(POINTS[0]) == 0


def test_names_of_points_do_not_lie_on_each_other() -> None:
    """Two points at one place: both are drawn, one is named."""
    from counterrank.report.charts import Figure, scatter

    rows = [{"x": x, "y": x, "name": f"week {n}", "of": "a"} for n, x in enumerate((0, 0, 1))]
    chart = scatter("x", "y", name="name", titles=("x", "y"), mark="of")
    html = Figure("points", "Points", "", rows, chart).html()
    assert html.count("<path") == 3
    named = re.findall(r"week \d", html)
    assert "week 2" in named
    places = re.findall(r'x="([\d.]+)%" y="([\d.]+)"[^>]*>week', html)
    assert len(set(places)) == len(places)


def test_every_comparison_has_the_interval_that_its_claim_is_read_off(
    documents: dict[str, Any],
) -> None:
    document = documents["evaluate"]
    table = words(page([document]), 'id="r1-comparisons"', "</table>")
    assert "low, by itself high, by itself low, all at once high, all at once" in table


def test_words_below_bars_do_not_touch_in_a_picture() -> None:
    from counterrank.report.charts import Figure, histograms

    bins = ["0.13", "0.25", "0.5", "1", "2", "4", "8"]
    rows = [{"x": b, "bar": 0.1, "step": 0.1, "of": s} for s in "abcd" for b in bins]
    figure = Figure(
        "f", "F", "", rows, histograms("x", bars="bar", steps="step", by="of", title="")
    )
    panel = figure.svg().split("<g transform")[2]
    places = {w: float(x) for x, w in re.findall(r'x="([\d.]+)" y="116"[^>]*>([^<]+)<', panel)}
    assert "1" in places
    at = sorted(places.values())
    assert min(b - a for a, b in pairwise(at)) >= 34
