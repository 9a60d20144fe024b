"""Names of points in a figure: above, below or beside, wherever nothing else stands."""

from __future__ import annotations

from collections.abc import Sequence

from counterrank.report.drawing import length
from counterrank.report.html import text

Box = tuple[float, float, float, float]  # left, right, top, foot
NARROWEST = 340.0  # pixels of a figure that is as wide as its page
LETTER = 6.6  # pixels of a letter, about
PLACES = ((0, -9, "middle"), (0, 18, "middle"), (9, 4, "start"), (-9, 4, "end"))
TITLE = (0.0, 60.0, 0.0, 14.0)  # where the upright scale's title stands
TICK = 36.0  # pixels of a word of its ticks


def name_points(
    names: Sequence[str], shares: Sequence[float], highs: Sequence[float], width: float | None,
    ticks: Sequence[float], foot: float,
) -> list[str]:  # fmt: skip
    """Each name where it covers no point, no tick's word (at such heights) and no other name.

    A name for which there is no such place is left out.
    """
    wide = NARROWEST if width is None else width
    spots = list(zip([share * wide for share in shares], highs, strict=True))
    taken: list[Box] = [TITLE, *((0.0, TICK, y - 13, y) for y in ticks)]
    taken += [(x - 5, x + 5, y - 5, y + 5) for x, y in spots]
    drawn = []
    for name, share, (x, y) in zip(names, shares, spots, strict=True):
        for across, down, anchor in PLACES:
            box = _box(x + across, y + down, LETTER * len(name), anchor)
            if box[0] >= 0 and box[1] <= wide and box[3] <= foot and not _meets(box, taken):
                taken.append(box)
                drawn.append(
                    f'<text class="ha" x="{length(share, width)}" y="{y + down:.1f}"'
                    f' dx="{across}" text-anchor="{anchor}">{text(name)}</text>'
                )
                break
    return drawn


def _box(x: float, y: float, wide: float, anchor: str) -> Box:
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return left, left + wide, y - 10, y + 3


def _meets(box: Box, taken: Sequence[Box]) -> bool:
    left, right, top, foot = box
    return any(left < r and a < right and top < f and t < foot for a, r, t, f in taken)
