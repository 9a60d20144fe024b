"""Results in a notebook: they show themselves, draw themselves and become pandas frames."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import UsageError
from counterrank.report.html import text
from counterrank.simulate import World, judged_world, paradox_world, platform

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def results():
    world = judged_world(users=60, items=80)
    week = platform(World(seed=1), sessions=300, runs=["near", "far"])
    runs = {HOSTILE: world.runs["deep"], "a\u202eb": world.runs["broad"]}
    return {
        "evaluation": cr.evaluate(world.judgments, runs, measure=["DCG@10", "nDCG@10"]),
        "estimation": cr.estimate(
            week.log, {HOSTILE: week.runs["near"]}, reward="like", position_bias="log2@10"
        ),
        "exposure": cr.exposure(week.log, reward="click"),
    }


class Tags(HTMLParser):
    """The tags of a text, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        linked = [value for name, value in attrs if name.endswith("href")]
        assert not any(name.startswith("on") for name, _ in attrs)
        assert all(value.startswith("#i-") for value in linked)  # shapes of the text itself

    def handle_data(self, data):
        self.words += data


KINDS = ("evaluation", "estimation", "exposure")


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_the_decision_and_what_was_measured(results, kind):
    html = results[kind]._repr_html_()
    found = Tags(html)
    several = len(results[kind].protocol.get("measures", ())) or 1
    assert found.tags.count("table") == several
    assert not {"script", "img", "iframe", "a", "select"} & set(found.tags)
    assert (HOSTILE in found.words) == (kind != "exposure")
    assert "\u202e" not in found.words
    assert not re.search(r"(src|href)=\"(?!#i-)|url\(", html)
    assert "prefers-color-scheme" not in html  # the notebook's theme counts, not the system's
    if kind != "exposure":
        systems = {row.system for row in results[kind].estimates}
        assert found.tags.count("tr") == several * (1 + len(systems))


def test_a_notebook_shows_every_reward_and_every_system_and_needs_no_button():
    week = platform(World(seed=1), sessions=300, runs=["near", "far"])
    runs = {f"{name}{n}": week.runs[name] for name in ("near", "far") for n in range(8)}
    result = cr.estimate(week.log, runs, reward=["like", "click"], position_bias="log2@10")
    html = result._repr_html_()
    found = Tags(html)
    assert "like per session, by DR, difference from logged" in found.words
    assert "click per session, by DR, difference from logged" in found.words
    assert found.tags.count("tr") == 2 * (2 + len(runs))
    assert 'class="more"' not in html  # which the style hides, and only a page's script shows
    assert "button" not in found.tags
    assert "<p>What would tell:</p><ul>" in html


def test_a_notebook_shows_what_was_checked_and_what_to_log():
    week = platform(World(seed=1), sessions=300, runs=["near"])
    found = cr.check({"log": week.log.drop("context"), "near": week.runs["near"]}, reward="like")
    html = found._repr_html_()
    assert "3,000" in html
    assert "<p>What to log next time:</p><ul>" in html
    graver = [d.state for d in found.diagnostics if d.state in ("fail", "caution", "untested")]
    shown = re.findall("<li><strong>([a-z]+):", html)
    assert shown == sorted(graver, key=("fail", "caution", "untested").index)
    assert f"Diagnostics that do not pass: {shown.count(shown[0])} {shown[0]}" in html
    assert all(f"{line}." in Tags(html).words for line in found.tables["to_log"])


def test_a_notebook_names_a_paradox():
    world = paradox_world(users=600)
    found = cr.strata(world.judgments, world.runs, measure=["nDCG@10"], cut="width")
    (paradox,) = found.tables["paradoxes"]
    assert text(paradox.sentence) in found._repr_html_()


def test_a_gate_shows_its_summary(results):
    gate = cr.gate(results["estimation"])
    assert gate._repr_markdown_() == gate.markdown()


def test_lifts_speak_of_faint_parts_only_where_there_are_some(results):
    week = platform(World(seed=1), sessions=300, runs=["near"])
    how = {"reward": "like", "position_bias": "log2@10"}
    plain = cr.estimate(week.log, week.runs, bounds="none", **how).plot("lifts")
    assert "Faint" in results["estimation"].plot("lifts").reading
    assert "Faint" not in plain.reading


def test_the_leaderboard_of_a_notebook_is_the_page_s(results):
    html, page = results["estimation"]._repr_html_(), results["estimation"].report()
    row = re.search(r'<tr role="row"[^>]*><th[^>]*><bdi class="sys">&lt;script.*?</tr>', html)
    assert row is not None
    body = re.sub(r"<svg.*?</svg>", "", row[0])  # of the page the scale spans every table
    assert body in re.sub(r"<svg.*?</svg>", "", page)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("evaluation", ["values", "dcg-ndcg"]),
        ("estimation", ["lifts", "values", "weights"]),
        ("exposure", ["positions"]),
    ],
)
def test_a_plot_is_a_picture_that_needs_no_network(results, kind, names, tmp_path):
    for name in names:
        figure = results[kind].plot(name)
        assert figure.name == name
        assert "<svg" in figure._repr_html_()
        drawn = ET.fromstring(figure.svg())
        assert drawn.get("width") == "720"
        words = "".join(drawn.itertext())
        assert figure.reading in words
        assert "var(" not in figure.svg()  # other programs read it, too
        assert not re.search(r"(src|href)=|<script|%\"", figure.svg())
        assert "\u202e" not in figure.svg()
        path = tmp_path / f"{name}.svg"
        figure.save(str(path))
        assert path.read_text() == figure.svg()


def test_a_picture_draws_every_interval_to_scale(results):
    """Cores of the picture are the rows' ends, by one affine map."""
    figure = results["evaluation"].plot("values")
    drawn = ET.fromstring(figure.svg())
    cores = [e for e in drawn.iter() if e.get("class") == "n"]
    xs = [x for e in cores for x in (float(e.get("x")), float(e.get("x")) + float(e.get("width")))]
    ends = [end for row in figure.rows for end in (row["low"], row["high"])]
    slope = (max(xs) - min(xs)) / (max(ends) - min(ends))
    assert slope > 0
    for x, end in zip(xs, ends, strict=True):
        assert x == pytest.approx(min(xs) + slope * (end - min(ends)), abs=0.3)


def test_without_a_name_a_plot_is_the_first_figure_and_an_unknown_name_is_refused(results):
    assert results["estimation"].plot().name == "lifts"
    with pytest.raises(UsageError, match="It has: values"):
        results["evaluation"].plot("lift")


@pytest.mark.parametrize("kind", ["evaluation", "estimation"])
def test_to_pandas_is_to_frame(results, kind, monkeypatch):
    pd = pytest.importorskip("pandas")
    frame = results[kind].to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert pl.from_pandas(frame).equals(results[kind].to_frame())  # NaN is what pandas has for null
    monkeypatch.setattr("counterrank.results.result.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pandas is not installed"):
        results[kind].to_pandas()


def test_results_without_units_are_saved_without_them(tmp_path):
    log = platform(World(seed=1), sessions=300, runs=["near"]).log
    for name, result in (
        ("curve", cr.exposure(log, reward="click")),
        ("tables", cr.check([("log", log)])),
    ):
        result.save(tmp_path / name)
        written = sorted(file.name for file in (tmp_path / name).iterdir())
        assert written == ["report.html", "result.json"]
