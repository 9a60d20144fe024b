"""Draw docs/pictures/simpson.svg: one paradox, from the numbers of a simulated platform.

    python studies/simpson_picture.py docs/pictures/simpson.svg

Left to right: the value over all feedback, in the tail, in the head, and stratified. The width of a
stratum's column is its share of the feedback.
"""

from __future__ import annotations

import sys
from pathlib import Path

import counterrank as cr
from counterrank.simulate import paradox_world

COLOURS = {"mainstream": "#b3541e", "explorer": "#1f6f8b"}
LEFT, TOP, TALL, WIDE, GAP = 60, 60, 220, 640, 18
LABELS = {"holdout": "all feedback", "tail": "tail", "head": "head", "stratified": "stratified"}


def main(path: str) -> None:
    """Evaluate, then draw what came out."""
    world = paradox_world(users=1000)
    result = cr.strata(world.judgments, world.runs, measure=["nDCG@10"], cut="stratum")
    rows = {(r.system, r.method): r for r in result.estimates}
    share = {s.name.partition("=")[2]: s.share for s in result.strata}
    method = {"holdout": "holdout", "stratified": "stratified"}
    method |= {name: f"stratum={name}" for name in share}
    room = WIDE - 3 * GAP
    wide = {"holdout": 0.25 * room, "stratified": 0.25 * room}
    wide |= {name: 0.5 * room * part for name, part in share.items()}
    top = 1.1 * max(rows[s, m].high for s in COLOURS for m in method.values())
    parts, x = [_text(LEFT, 24, "nDCG@10 of two recommenders, with 95 % intervals", size=15)], LEFT
    for name, label in LABELS.items():
        own = [rows[system, method[name]] for system in COLOURS]
        below = label if name not in share else f"{label}: {share[name]:.0%}"
        parts += _column(x, wide[name], own, top, below)
        x += wide[name] + GAP
    for n, (system, colour) in enumerate(COLOURS.items()):
        parts.append(f'<rect x="{LEFT + 160 * n}" y="36" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(LEFT + 18 + 160 * n, 47, system))
    size = f'width="{LEFT + WIDE + 20}" height="{TOP + TALL + 60}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    title = "<title>The overall winner loses in the stratum that holds most feedback</title>"
    ground = '<rect width="100%" height="100%" fill="white"/>'
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("\n".join([head, title, ground, *parts, "</svg>"]) + "\n")


def _column(x: float, wide: float, rows: list, top: float, below: str) -> list[str]:
    """Two bars with their intervals; the better one carries its value in bold."""
    parts, bar, floor = [], wide / 2, TOP + TALL
    best = max(rows, key=lambda r: r.value)
    for n, (r, colour) in enumerate(zip(rows, COLOURS.values(), strict=True)):
        tall, left = TALL * r.value / top, x + n * bar
        middle = left + bar / 2
        low, high = (floor - TALL * end / top for end in (r.low, r.high))
        parts += [
            f'<rect x="{left:.1f}" y="{floor - tall:.1f}" width="{bar - 2:.1f}"'
            f' height="{tall:.1f}" fill="{colour}"/>',
            f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{low:.1f}" y2="{high:.1f}"'
            ' stroke="black"/>',
            _text(middle, high - 6, f"{r.value:.2f}", anchor="middle", bold=r is best),
        ]
    ends = f'x1="{x:.1f}" x2="{x + wide:.1f}" y1="{floor}" y2="{floor}"'
    parts.append(f'<line {ends} stroke="#555"/>')
    return [*parts, _text(x + wide / 2, floor + 20, below, anchor="middle")]


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 13, bold: bool = False
) -> str:
    style = f'text-anchor="{anchor}" font-size="{size}"' + ' font-weight="bold"' * bold
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{text}</text>'


if __name__ == "__main__":
    main(sys.argv[1])
