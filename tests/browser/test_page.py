"""The page of each verb, as a person meets it: opened from disk, sorted, hovered, downloaded."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import counterrank as cr
from counterrank.api import demo
from counterrank.report import page
from counterrank.report.site import site
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
    assert shown.page.locator("figure:has(svg[aria-label])").count() == figures
    boards = shown.page.locator(".board").count()
    assert (figures + boards > 0) == (kind != "check")
    drawn = shown.page.locator("figure:not(.hero)").count()
    assert shown.page.locator("figure details table").count() == drawn  # the same in numbers
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


@pytest.mark.parametrize(
    ("table", "closed"),
    [("#r1-estimates", "Every estimate"), ("#r1-much .board:not([hidden])", "")],
)
def test_tables_sort_both_ways(
    pages: dict[str, Path], opened: Any, table: str, closed: str
) -> None:
    shown = opened(pages["evaluate"])
    if closed:
        shown.page.locator("summary", has_text=closed).click()
    heading = shown.page.locator(f"{table} th", has_text="alue").first
    place = heading.evaluate("x => x.cellIndex + 1")
    for direction in ("ascending", "descending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        cells = shown.page.locator(f"{table} tbody tr td:nth-child({place})")
        found = [float(c) for c in cells.evaluate_all("x => x.map(c => c.dataset.v)")]
        assert found == sorted(found, reverse=direction == "descending")
        assert len(set(found)) > 3


def test_numbers_stand_beside_the_marks(
    pages: dict[str, Path], documents: dict[str, dict[str, Any]], opened: Any
) -> None:
    """Nothing has to be hovered over."""
    shown = opened(pages["demo"])
    row = shown.page.locator(".board:not([hidden]) tr", has_text="long_form").inner_text()
    own = _compared(documents["demo"])
    for ends in ("family", "bound"):
        both = (own[f"lift_{ends}_low"], own[f"lift_{ends}_high"])
        assert " to ".join(f"{x:+.1%}" for x in both).replace("-", "\u2212") in row
    for word in (f"{own['lift']:+.1%}", f"{own['p_corrected']:.4f}", "cannot tell"):
        assert word in row
    assert "better if the assumptions hold" in row


def _compared(document: dict[str, Any], system: str = "long_form") -> dict[str, Any]:
    """How a system compares by what decides."""
    rows = [r for r in document["comparisons"] if (r["system"], r["estimator"]) == (system, "DR")]
    assert len(rows) == 1
    return rows[0]


def test_the_selector_shows_another_table(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["demo"])
    board = shown.page.locator(".board:visible")
    assert board.count() == 1
    assert "by DR" in board.inner_text()
    shown.page.locator("select.pick:visible").select_option("SNIPS")
    assert board.count() == 1
    assert "by SNIPS" in board.inner_text()
    assert "by SNIPS" in shown.page.locator("#r1-much > [aria-live]").inner_text()


def test_differences_switch_to_absolute_numbers(
    pages: dict[str, Path], documents: dict[str, dict[str, Any]], opened: Any
) -> None:
    shown, own = opened(pages["demo"]), _compared(documents["demo"])
    row = shown.page.locator(".board:visible tr", has_text="long_form")
    lift, difference = f"{own['lift']:+.1%}", f"{own['difference']:+.1f}"
    assert lift in row.inner_text()
    assert difference not in row.inner_text()
    shown.page.locator("label", has_text="absolute").click()
    assert lift not in row.inner_text()
    assert difference in row.inner_text()
    # where there is no lift, there is nothing to switch
    switch = shown.page.locator("fieldset")
    assert switch.is_visible()
    shown.page.locator("select.pick:visible").select_option("nDCG")
    assert not switch.is_visible()
    shown.page.locator("select.pick:visible").select_option("DR")
    assert switch.is_visible()
    assert opened(pages["evaluate"]).page.locator("input[type=radio]").count() == 0


def test_a_pair_tells_its_detail_when_pressed(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["evaluate"])
    shown.page.locator("summary", has_text="Every pair").click()
    button = shown.page.locator(".cm button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert "95% interval, for all pairs at once" in shown.page.locator(".detail").inner_text()


def test_a_paradox_is_marked_on_strata(pages: dict[str, Path], opened: Any) -> None:
    note = opened(pages["strata"]).page.locator("#r1-whom .note").inner_text()
    assert note.startswith("Paradox, mainstream and explorer.")
    assert opened(pages["demo"]).page.locator(".note").count() == 0


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
    shown.page.locator("summary", has_text="Every estimate").click()
    with shown.page.expect_download() as waiting:
        shown.page.locator("button.csv[data-for=r1-estimates]").click()
    assert waiting.value.suggested_filename == "r1-estimates.csv"
    rows = pl.read_csv(waiting.value.path())
    wanted = documents["estimate"]["estimates"]
    assert rows["system"].to_list() == [r["system"] for r in wanted]
    assert rows["value"].to_list() == pytest.approx([r["value"] for r in wanted], abs=1e-12)


def test_hostile_names_do_nothing(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["hostile"])
    assert shown.dialogs == []
    shown.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
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


def test_prints_every_part_of_a_figure(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["demo"])
    shown.page.emulate_media(media="print")
    hidden = """() => [...document.querySelectorAll("figure svg *, .board:not([hidden]) svg.fig *")]
      .filter((e) => e.tagName !== "title" && getComputedStyle(e).display === "none").length"""
    assert shown.page.evaluate(hidden) == 0


def test_prints(pages: dict[str, Path], opened: Any) -> None:
    shown = opened(pages["baseline"], scheme="dark")
    shown.page.emulate_media(media="print")
    shown.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert not shown.page.locator("#theme").is_visible()
    assert shown.page.locator("figure svg").first.is_visible()
    assert shown.page.locator("#r1-comparisons").is_visible()
    light = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light == "rgb(255, 255, 255)"


@pytest.mark.parametrize("kind", ["demo", "strata", "baseline", "robustness"])
def test_paper_is_as_wide_as_what_is_printed(
    pages: dict[str, Path], opened: Any, kind: str
) -> None:
    """What is wider makes the browser shrink every page."""
    paper = 703  # pixels between the margins of A4
    shown = opened(pages[kind], paper)
    shown.page.emulate_media(media="print")
    shown.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= paper


@pytest.mark.parametrize(("systems", "most"), [(5, 300_000), (100, 3_000_000)])
def test_pages_stay_small(systems: int, most: int) -> None:
    """Ten measures, with and without a baseline."""
    world = judged_world(users=40)
    runs = dict(
        zip((f"system {n}" for n in range(systems)), [*world.runs.values()] * systems, strict=False)
    )
    measures = [f"{m}@{k}" for m in ("nDCG", "DCG", "P", "Recall", "AP") for k in (5, 10)]
    for baseline in (None, "system 0"):
        shown = measures[: 10 if baseline or systems < 50 else 2]  # 4,950 pairs of each
        result = cr.evaluate(world.judgments, runs, measure=shown, baseline=baseline, test="t")
        assert len(page([result.to_dict()]).encode()) < most


def test_what_fails_claims_nothing(
    documents: dict[str, dict[str, Any]], tmp_path: Path, opened: Any
) -> None:
    document = documents["baseline"]
    failing = {
        **document,
        "comparisons": [c | {"verdict": "fail"} for c in document["comparisons"]],
    }
    path = tmp_path / "fail.html"
    path.write_text(page([failing]), encoding="utf-8")
    shown = opened(path)
    board = shown.page.locator(".board:not([hidden])")
    assert board.locator("tr", has_text="not relied on").count() == 3
    assert board.locator(".better, .worse").count() == 0
    assert opened(path).page.locator("h2", has_text="Why not believe it").count() == 1


@pytest.fixture(scope="session")
def history(documents: dict[str, dict[str, Any]], tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("site")
    kinds = ("demo", "demo", "estimate", "strata", "hostile", "check")
    results = [(f"team/{k}", date(2030, 1, n + 1), documents[k]) for n, k in enumerate(kinds)]
    for name, html in site(results, title=HOSTILE[0]).items():
        (folder / name).write_text(html, encoding="utf-8")
    return folder / "index.html"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_site_opens_from_disk_without_fault(
    history: Path, opened: Any, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
    shown = opened(history, width, scheme)
    assert (shown.errors, shown.requests, shown.dialogs) == ([], [], [])
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.page.locator("#trend svg[aria-label]").count() == 4
    shown.page.evaluate(Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = shown.page.evaluate("axe.run().then(r => r.violations)")
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []


def test_an_index_is_searched_and_leads_to_its_pages(history: Path, opened: Any) -> None:
    shown = opened(history)
    rows = shown.page.locator("#index tbody tr:visible")
    assert rows.count() == 6
    shown.page.locator("#search").fill("DEMO")
    assert rows.count() == 2
    assert shown.page.locator("#count").inner_text() == "2 of 6 results"
    shown.page.locator("#search").fill("")
    shown.page.locator("#narrow-Decision").select_option("test")
    assert {
        word in ("team/strata", "team/hostile") for word in rows.locator("a").all_inner_texts()
    } == {True}
    rows.locator("a").first.click()
    shown.ready()
    assert shown.page.locator("h1").is_visible()
    assert shown.errors == []
