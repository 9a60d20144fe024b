"""A history of results as a site: which are found, of which day, and what changed."""

from __future__ import annotations

import json
import os
from datetime import date
from html.parser import HTMLParser

import pytest

import counterrank as cr
from counterrank.api.gate import report
from counterrank.results import history
from counterrank.simulate import judged_world

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Two weeks of one question, the second with a smaller input, and another question."""
    folder = tmp_path_factory.mktemp("results")
    for day, users, measure in (
        ("2030-01-07", 60, "DCG@10"),
        ("2030-01-14", 80, "DCG@10"),
        ("2030-01-15", 60, "P@5"),
    ):
        world = judged_world(users=users, items=60)
        runs = {HOSTILE: world.runs["deep"], "old": world.runs["popular"]}
        cr.evaluate(world.judgments, runs, measure=measure, baseline="old", test="t").save(
            folder / "team" / day
        )
    return folder


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.words, self.links, self.tags, self.rows = "", [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if tag == "a" and key == "href"]
        self.rows += tag == "tr" and "data-of" in dict(attrs)

    def handle_data(self, data):
        self.words += data


@pytest.fixture(scope="module")
def made(saved, tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "site"
    assert report(str(saved), output=str(out)) == str(out)
    return out


def test_a_folder_of_results_becomes_an_index_and_a_page_for_each(made):
    files = sorted(p.name for p in made.iterdir())
    assert files == [f"2030-01-{d}-00{n}.html" for n, d in ((1, "07"), (2, "14"), (3, "15"))] + [
        "index.html"
    ]
    index = Page((made / "index.html").read_text())
    assert index.rows == 3
    assert {link for link in index.links if not link.startswith("#")} == set(files) - {"index.html"}
    assert "img" not in index.tags
    assert HOSTILE in index.words


def test_what_changed_is_told_of_the_same_question(made):
    words = " ".join(Page((made / "index.html").read_text()).words.split())
    told = words[words.index("What changed") :][:600]
    assert told.startswith("What changed in 2030-01-14 since 2030-01-07")
    before, after = (judged_world(users=users, items=60).judgments.height for users in (60, 80))
    assert f"the judgments: {after:,} rows, was {before:,}" in told
    assert "Protocol the same" in told.replace("Protocolthe", "Protocol the")


def test_trends_have_every_lift_of_a_measure_that_came_twice(made, saved):
    words = Page((made / "index.html").read_text()).words.replace("\u2212", "-")
    for day in ("2030-01-07", "2030-01-14"):
        row = json.loads((saved / "team" / day / "result.json").read_text())["comparisons"][0]
        assert f"{100 * row['lift']:+.1f}%" in words
    assert "P@5" not in words[words.index("days to scale") :]


def test_a_page_ends_in_html_and_holds_all(saved, tmp_path):
    page = tmp_path / "all.html"
    report(str(saved / "team"), output=str(page))
    assert Page(page.read_text()).tags.count("article") == 3


def test_pages_of_results_that_are_gone_go_and_other_files_stay(saved, tmp_path):
    out = tmp_path / "site"
    report(str(saved), output=str(out))
    (out / "notes.html").write_text("mine")
    report(str(saved / "team" / "2030-01-07"), output=str(out))
    assert sorted(p.name for p in out.iterdir()) == [
        "2030-01-07-001.html", "index.html", "notes.html",
    ]  # fmt: skip


def test_the_day_is_in_the_name_or_that_of_the_file(tmp_path):
    assert history.day_of("a/2030-01-07/result.json") == date(2030, 1, 7)
    assert history.day_of("2029-01-01/20300108") == date(2030, 1, 8)
    other = tmp_path / "8f3c21a"
    other.mkdir()
    (other / "result.json").write_text("{}")
    os.utime(other / "result.json", (0, 86400 * 365))
    assert history.day_of(str(other)) == date(1971, 1, 1)
