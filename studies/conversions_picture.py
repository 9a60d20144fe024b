"""Draw docs/pictures/conversions.svg: three recommenders by naive counting, IPS, DR and in truth.

    python studies/conversions_picture.py

The shop is simulated, so the truth is known; the numbers are those of docs/guide/conversions.md.
"""

from __future__ import annotations

from pathlib import Path

import counterrank as cr
from counterrank.simulate import funnel_world

RUNS = ("popular", "clickbait", "seller")
LABELS = ("Naive", "IPS", "DR")
COLOURS = {"popular": "#7a7a7a", "clickbait": "#c8553d", "seller": "#2a6f97"}
WIDE, HIGH, LEFT, TOP, BAND = 640, 330, 90, 46, 84


def drawn() -> str:
    """The picture as SVG text."""
    shop = funnel_world()
    week = shop.sample(users=20_000, seed=1)
    result = cr.funnel(
        week.funnel, {name: week.runs[name] for name in RUNS}, estimator=LABELS, test="none"
    )
    rows = {(row.estimator, row.system): row for row in result.estimates}

    def x(value: float) -> float:
        return LEFT + value / 1.25 * (WIDE - LEFT - 30)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDE}" height="{HIGH}" fill="white"/>',
        '<text x="12" y="22" font-weight="bold">Conversions per user if all were clicked (DCG@10),'
        " 95% intervals; dashed: the truth</text>",
    ]
    foot = TOP + BAND * len(LABELS)
    for name in RUNS:
        at = x(shop.truth(name))
        out.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 6}" y2="{foot}"'
            f' stroke="{COLOURS[name]}" stroke-dasharray="4 4"/>'
        )
    for band, label in enumerate(LABELS):
        y = TOP + band * BAND
        out.append(f'<text x="12" y="{y + 42}">{label}</text>')
        for place, name in enumerate(RUNS):
            row, at = rows[label, name], y + 18 + 22 * place
            out.append(
                f'<line x1="{x(row.low):.1f}" x2="{x(row.high):.1f}" y1="{at}" y2="{at}"'
                f' stroke="{COLOURS[name]}" stroke-width="3"/>'
                f'<circle cx="{x(row.value):.1f}" cy="{at}" r="4.5" fill="{COLOURS[name]}"/>'
            )
            if band == 0:
                out.append(
                    f'<text x="{x(row.high) + 10:.1f}" y="{at + 4}" fill="{COLOURS[name]}">'
                    f"{name}</text>"
                )
    out.append(f'<line x1="{LEFT}" x2="{WIDE - 30}" y1="{foot}" y2="{foot}" stroke="black"/>')
    for tick in (0, 0.25, 0.5, 0.75, 1, 1.25):
        out.append(f'<text x="{x(tick):.1f}" y="{foot + 18}" text-anchor="middle">{tick:g}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "conversions.svg"
    target.parent.mkdir(exist_ok=True)
    target.write_text(drawn(), encoding="utf-8")
    print(f"Wrote {target}.")
