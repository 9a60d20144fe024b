"""Results in a notebook: they show themselves, draw themselves and become pandas frames."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import polars as pl
import pytest

import counterrank as cr
from counterrank.core.errors import UsageError
from counterrank.report import html as bundle
from counterrank.simulate import World, judged_world, platform

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
        assert not any(name.startswith("on") or name.endswith("href") for name, _ in attrs)

    def handle_data(self, data):
        self.words += data


KINDS = ("evaluation", "estimation", "exposure")


@pytest.mark.parametrize("kind", KINDS)
def test_without_charts_the_table_alone(results, kind, monkeypatch):
    monkeypatch.setattr(bundle, "can_draw", lambda: False)
    found = Tags(results[kind]._repr_html_())
    assert found.tags.count("table") == 1
    assert found.tags.count("tr") == 1 + len(results[kind].to_dict()["estimates"])
    assert not {"svg", "script", "button"} & set(found.tags)
    assert (HOSTILE in found.words) == (kind != "exposure")
    assert "\u202e" not in found.words
    with pytest.raises(UsageError, match="extra report"):
        results[kind].plot()


def test_a_plot_is_a_picture_that_needs_no_network(results):
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    chart = results["estimation"].plot()
    for own in (chart, chart.properties(title="mine")):
        ((kind, picture),) = own._repr_mimebundle_().items()
        assert kind == "image/svg+xml"
        assert "stroke-dasharray" in picture  # the line at 0
        assert not re.search(r"(src|href)=|<script", picture)
    assert "mine" in picture


def test_a_notebook_shows_what_was_asked_for(results):
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    result = results["estimation"]
    html = result._repr_html_()
    for title in ("difference", "lift", "p corrected", "claim", "verdict"):
        assert f">{title}</th>" in html
    assert "<strong>Decision: " in html
    assert "stroke-dasharray" in html
    assert "Decision: " not in results["exposure"]._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_with_charts_the_main_figure_too(results, kind):
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    html = results[kind]._repr_html_()
    found = Tags(html)
    assert found.tags.count("svg") == 1
    assert not {"script", "img", "iframe", "a"} & set(found.tags)
    drawn = ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) > 3


def test_plot_is_an_altair_chart_of_what_was_asked_for(results):
    alt = pytest.importorskip("altair", reason="the extra report is not installed")
    result = results["evaluation"]
    values = {}
    for label in ("DCG@10", "nDCG@10"):
        chart = result.plot(label)
        assert isinstance(chart, alt.TopLevelMixin)
        rows = next(iter(chart.to_dict()["datasets"].values()))
        assert {row["measure"] for row in rows} == {label}
        values[label] = [row["value"] for row in rows]
        assert values[label] == [r.value for r in result.estimates if r.measure == label]
    first = next(iter(result.plot().to_dict()["datasets"].values()))
    assert [row["value"] for row in first] == values["DCG@10"]
    with pytest.raises(UsageError, match=r"DCG@10, nDCG@10"):
        result.plot("nDCG@5")
    with pytest.raises(UsageError, match="It has: exposure@1, exposure@2"):
        results["exposure"].plot("DR")


@pytest.mark.parametrize("kind", ["evaluation", "estimation"])
def test_to_pandas_is_to_frame(results, kind, monkeypatch):
    pd = pytest.importorskip("pandas")
    frame = results[kind].to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert pl.DataFrame(frame.to_dict("list")).equals(results[kind].to_frame())
    monkeypatch.setattr("counterrank.results.result.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pandas is not installed"):
        results[kind].to_pandas()
