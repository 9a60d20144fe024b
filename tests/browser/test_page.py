"""The page of each verb, as a person meets it: opened from disk, sorted, hovered, downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.api import demo
from counterrank.report import page
from counterrank.simulate import World, funnel_world, judged_world, paradox_world, platform

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script><script>alert(3)</script>",
    "a\u202egnp.exe",
    "'; alert(4); '",
    "javascript:alert(5)",
    "x" * 10_000,
    "{{7*7}} ${alert(6)}",
    "&lt;b&gt;",
]


def demonstration() -> dict[str, Any]:
    week = platform(demo.feed(), sessions=1500, runs=demo.CANDIDATES)
    truth = {name: known[demo.REWARD].value for name, known in week.truth.items()}
    bias = cr.exposure(week.log, reward="click").model
    return demo.reveal(demo.estimate_feed(week.log, week.runs, bias), truth).to_dict()


def _past() -> pl.DataFrame:
    """Twelve experiments: DCG follows the online metric, nDCG does not."""
    random = np.random.default_rng(0)
    truth = random.normal(scale=0.02, size=12)
    parts = [
        pl.DataFrame(
            {
                "experiment": [f"week {n}" for n in range(12)],
                "system": "new",
                "measure": label,
                "offline": factor * truth + random.normal(scale=0.005, size=12),
                "online": truth,
            }
        )
        for label, factor in (("DCG", 1.0), ("nDCG", -0.3))
    ]
    return pl.concat(parts)


def _trials() -> pl.DataFrame:
    """Two estimators of eight systems, five times each."""
    random = np.random.default_rng(1)
    truth = np.repeat(random.random(8) + 0.5, 5)
    parts = [
        pl.DataFrame(
            {
                "system": np.repeat([f"system {n}" for n in range(8)], 5),
                "estimator": label,
                "estimate": truth + random.normal(scale=spread, size=40),
                "truth": truth,
                "repetition": np.tile(np.arange(5), 8),
            }
        )
        for label, spread in (("IPS", 0.1), ("DR", 0.05))
    ]
    return pl.concat(parts)


@pytest.fixture(scope="session")
def documents() -> dict[str, dict[str, Any]]:
    world = judged_world(users=200)
    week = platform(World(seed=1), sessions=1500, runs=["near", "far"])
    paradox, shop = paradox_world(users=300), funnel_world().sample(users=300)
    measures = ["DCG@10", "nDCG@10", "P@10"]
    learnt = cr.exposure(week.log, reward="click")
    return {
        "evaluate": cr.evaluate(world.judgments, world.runs, measure=measures, draws=500).to_dict(),
        "baseline": cr.evaluate(
            world.judgments, world.runs, measure=measures, baseline="popular", draws=500
        ).to_dict(),
        "estimate": cr.estimate(
            week.log, week.runs, reward="like", position_bias="log2@10", sweep="clip"
        ).to_dict(),
        "exposure": learnt.to_dict(),
        "demo": demonstration(),
        "check": cr.check([("log", week.log)]).to_dict(),
        "strata": cr.strata(
            paradox.judgments, paradox.runs, measure=["nDCG@10"], open_loop=paradox.open_loop
        ).to_dict(),
        "funnel": cr.funnel(shop.funnel, shop.runs, measure=["DCG@10"]).to_dict(),
        "power": cr.assess_power(world.judgments, world.runs, draws=500).to_dict(),
        "agreement": cr.assess_agreement(world.judgments, world.runs, draws=500).to_dict(),
        "robustness": cr.assess_robustness(
            world.judgments, world.runs, measure=["nDCG@10", "P@10"], samples=2
        ).to_dict(),
        "online": cr.assess_online(_past()).to_dict(),
        "accuracy": cr.assess_accuracy(_trials()).to_dict(),
        "hostile": cr.evaluate(
            world.judgments,
            dict(zip(HOSTILE, [*world.runs.values()] * 3, strict=False)),
            measure=["DCG@10"],
            baseline=HOSTILE[0],
            draws=500,
        ).to_dict(),
    }


@pytest.fixture(scope="session")
def pages(documents: dict[str, dict[str, Any]], tmp_path_factory: Any) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for name, document in documents.items():
        made[name] = folder / f"{name}.html"
        made[name].write_text(page([document]), encoding="utf-8")
    return made


KINDS = (
    "evaluate", "baseline", "estimate", "exposure", "check", "demo", "strata", "funnel", "power",
    "agreement", "robustness", "online", "accuracy", "hostile",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1280, 390])
def test_opens_from_disk_without_error_or_request(
    pages: dict[str, Path], opened: Any, kind: str, width: int
) -> None:
    shown = opened(pages[kind], width)
    assert shown.errors == []
    assert shown.requests == []
    figures = shown.page.locator("figure").count()
    assert shown.page.locator("figure svg").count() == figures
    assert (figures > 0) == (kind != "check")
    wide = shown.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, "the page scrolls sideways"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overlaps(pages: dict[str, Path], opened: Any, kind: str, width: int) -> None:
    shown = opened(pages[kind], width)
    clashes = shown.page.evaluate(
        """() => {
          const blocks = [...document.querySelectorAll("header, section, figure > *, footer")];
          const boxes = blocks.map((e) => [e, e.getBoundingClientRect()]);
          const bad = [];
          for (const [a, x] of boxes) for (const [b, y] of boxes) {
            if (a === b || a.contains(b) || b.contains(a)) continue;
            const across = Math.min(x.right, y.right) - Math.max(x.left, y.left);
            const down = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
            const names = [a, b].map((e) => e.outerHTML.slice(0, 80));
            if (x.height && y.height && across > 1 && down > 1) bad.push(names);
          }
          return bad;
        }"""
    )
    assert clashes == []


def test_tables_sort_both_ways(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["evaluate"])
    heading = shown.page.locator("#r1-estimates th", has_text="value")
    for direction in ("ascending", "descending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        cells = shown.page.locator("#r1-estimates tbody tr td:nth-child(4)")
        found = [float(c) for c in cells.evaluate_all("x => x.map(c => c.dataset.sort)")]
        assert found == sorted(found, reverse=direction == "descending")
        assert len(set(found)) > 3


def test_hovering_tells_the_numbers(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["baseline"])
    shown.page.locator("figure svg .mark-symbol path").first.hover(force=True)
    tip = shown.page.locator("#vg-tooltip-element")
    tip.wait_for(state="visible")
    assert "low" in tip.inner_text()
    assert "system" in tip.inner_text()


def test_dark_and_light(pages: dict[str, Path], opened: Any) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    shown = opened(pages["evaluate"])
    light = shown.page.evaluate(colour)
    shown.page.locator("#theme").click()
    dark = shown.page.evaluate(colour)
    assert light == "rgb(255, 255, 255)"
    assert dark == opened(pages["evaluate"], scheme="dark").page.evaluate(colour) != light
    assert shown.errors == []


def test_data_downloads_as_csv(
    pages: dict[str, Path], documents: dict[str, dict[str, Any]], opened: Any
) -> None:
    shown = opened(pages["estimate"])
    with shown.page.expect_download() as waiting:
        shown.page.locator("#r1-estimates-1 button.csv").click()
    assert waiting.value.suggested_filename == "r1-estimates-1.csv"
    rows = pl.read_csv(waiting.value.path())
    wanted = documents["estimate"]["estimates"]
    assert rows["system"].to_list() == [r["system"] for r in wanted]
    assert rows["value"].to_list() == pytest.approx([r["value"] for r in wanted], abs=1e-12)


def test_hostile_names_do_nothing(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["hostile"])
    assert shown.dialogs == []
    shown.page.locator("figure svg .mark-symbol path").first.hover(force=True)
    shown.page.locator("#vg-tooltip-element").wait_for(state="visible")
    assert shown.page.locator("img").count() == 0
    assert shown.dialogs == []
    assert shown.errors == []
    assert "\u202e" not in shown.page.content()
    assert HOSTILE[0] in shown.page.locator("#r1-estimates").inner_text()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_fault(
    pages: dict[str, Path], opened: Any, kind: str, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
    shown = opened(pages[kind], scheme=scheme)
    script = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    shown.page.evaluate(script)
    found = shown.page.evaluate("axe.run().then(r => r.violations)")
    grave = [v for v in found if v["impact"] in ("serious", "critical")]
    told = [
        (v["id"], v["nodes"][0]["html"][:200], v["nodes"][0]["failureSummary"][:300]) for v in grave
    ]
    assert told == []


def test_prints(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["baseline"])
    shown.page.emulate_media(media="print")
    assert not shown.page.locator("#theme").is_visible()
    assert shown.page.locator("figure svg").first.is_visible()


def test_twenty_systems_and_ten_measures_stay_below_three_megabytes() -> None:
    world = judged_world(users=200)
    runs = {f"system {n}": run for n, run in enumerate([*world.runs.values()] * 5)}
    measures = [f"{m}@{k}" for m in ("nDCG", "DCG", "P", "Recall", "AP") for k in (5, 10)]
    for baseline in (None, "system 0"):
        result = cr.evaluate(world.judgments, runs, measure=measures, baseline=baseline, draws=200)
        assert len(page([result.to_dict()]).encode()) < 3_000_000
