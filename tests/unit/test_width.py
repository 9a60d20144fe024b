"""Lines fit the terminal whatever the names: wide, with accents, long; no number is cut."""

from __future__ import annotations

import re

import polars as pl
import pytest

import counterrank as cr
from counterrank.core.format import display_width, pad, shorten, wrap_text
from counterrank.report.terminal import lines
from frozen import worlds

NAMES = {
    "wide": "名前がとても長い推薦システムです名前がとても長い推薦システム",
    "accents": "e\u0301" * 50,
    "family": "👩‍👩‍👧‍👦" * 20,
    "long": "x" * 90,
    "words": "a name of many words " * 5,
}


def test_display_width_counts_columns():
    assert display_width("abc") == 3
    assert display_width("名前") == 4
    assert display_width("e\u0301") == 1
    assert display_width(pad("名前", 6)) == 6


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("width", [8, 20, 41])
def test_shorter_names_and_lines_fit(name, width):
    assert display_width(shorten(name, width)) <= width
    told = wrap_text(f"{name} and {name}", width, "  ")
    assert max(map(display_width, told)) <= max(width, 40)


@pytest.mark.parametrize("width", range(8, 40))
def test_no_number_is_cut(width):
    name = "DR(clip=1024)-and-IPS(clip=2048.5)-of-2024-11-18"
    whole = set(re.findall(r"[0-9.]+", name))
    assert set(re.findall(r"[0-9.]+", shorten(name, width))) <= whole
    assert shorten("1234567890123456", 8) == "1234…456"  # nothing but a number


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    worlds.write(folder)
    return folder


def results(folder, name):
    """A result of every verb in which something has this name."""

    def table(stem, column=None, word=None):
        read = pl.read_parquet(folder / f"{stem}.parquet")
        return read if column is None else read.with_columns(pl.col(column).replace(word, name))

    truth, runs = table("judgments"), {"weak": table("weak"), name: table("good")}
    few = {"draws": 50, "resamples": 20}
    yield cr.evaluate(truth, runs, draws=50, baseline="weak")
    yield cr.evaluate(truth, runs, draws=50, measure="nDCG@10")
    yield cr.strata(truth, runs, measure="AP")
    yield cr.strata(table("judgments", "country", "NL"), runs, measure="AP", cut="country")
    yield cr.estimate(
        table("log"), {"new": table("new"), name: table("old")}, position_bias="log2",
        reward="click", estimator=["IPS(clip=1024)", "DR"],
    )  # fmt: skip
    yield cr.funnel(table("funnel"), {"b": table("sale_b"), name: table("sale_a")})
    yield cr.check({"judgments": truth, **runs})
    yield cr.exposure(table("seen", "device", "phone"), by="device")
    for column, word in (("measure", "AP"), ("system", "a")):
        values = table("units", column, word)
        yield cr.assess_power(values, **few)
        yield cr.assess_agreement(values, **few)
        yield cr.assess_robustness(values, samples=2)
    yield cr.assess_accuracy(table("trials", "estimator", table("trials")["estimator"][0]))
    yield cr.assess_online(table("past", "measure", table("past")["measure"][0]), baseline="old")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_every_table_fits_80_columns(name, tables):
    for result in results(tables, name):
        for line in lines(result, 80):
            assert display_width(line) <= 80, (result.kind, line)


def test_long_labels_have_lines_of_their_own(tables):
    deep = ["DCG(discount=beta_geometric(a=1.2345,b=2.34567),gain=exp)@1000",
            "nDCG(discount=beta_geometric(a=1.2345,b=2.34567),gain=exp)@1000"]  # fmt: skip
    read = {n: pl.read_parquet(tables / f"{n}.parquet") for n in ("judgments", "good", "weak")}
    truth = read.pop("judgments")
    shop = [pl.read_parquet(tables / f"{n}.parquet") for n in ("funnel", "sale_a")]
    found = [
        cr.assess_agreement(truth, read, measure=deep, draws=50, resamples=20),
        cr.assess_power(truth, read, measure=deep, draws=50, resamples=20),
        cr.strata(truth, read, measure=deep),
        cr.funnel(shop[0], {"a": shop[1]}, estimator=["IPS(clip=1024.123456789012)", "DR"]),
    ]
    for result in found:
        told = lines(result, 80)
        assert max(map(display_width, told)) <= 80, result.kind
        assert "1024.123456789012" in "".join(told) or result.kind != "funnel"
