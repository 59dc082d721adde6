"""What people of a crowd look like: heights of adults and colours of clothes, skin and hair.

Heights are drawn about 1.74 m, within 1.55 and 1.95 m; the few dozen outfits are made of muted colours that
stay apart on paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OUTFITS = 48
SHORTEST, TALLEST, MEAN, SPREAD = 1.55, 1.95, 1.74, 0.085

_SHIRTS = (
    "#4c78a8", "#c8553d", "#5aa17f", "#b2627a", "#8a7bb5", "#c9a64b", "#5b9fb0", "#8c8378", "#e7e3d8",
    "#2b6a8f", "#3d4654", "#d9b48a",
)  # fmt: skip
_TROUSERS = ("#2f3a4c", "#3b3f46", "#5c5346", "#48566b", "#6d6a63", "#27292e")
_SHOES = ("#2a2522", "#4a3a30", "#d8d4cc", "#35393f")
_SKINS = ("#e2b89c", "#d3a283", "#b5835f", "#8d6043", "#6a4632", "#eac7ae")
_HAIR = ("#2b211c", "#4a3326", "#6e4e34", "#1d1b1b", "#9a7b52", "#8f8b86")


def outfits() -> Array:
    """Colours `(OUTFITS, 5, 3)` of shirt, trousers, shoes, skin and hair, sRGB in 0…1.

    >>> outfits().shape
    (48, 5, 3)
    """
    rng = np.random.default_rng(1882)
    ranges = (_SHIRTS, _TROUSERS, _SHOES, _SKINS, _HAIR)
    chosen = [[_rgb(colours[rng.integers(len(colours))]) for colours in ranges] for _ in range(OUTFITS)]
    # All shirts come equally often.
    for number, outfit in enumerate(chosen):
        outfit[0] = _rgb(_SHIRTS[number % len(_SHIRTS)])
    return np.array(chosen)


def statures(people: int, rng: np.random.Generator) -> Array:
    """Heights `(people,)`, metres."""
    drawn = rng.normal(MEAN, SPREAD, people)
    return np.where((drawn < SHORTEST) | (drawn > TALLEST), rng.uniform(SHORTEST, TALLEST, people), drawn)


def _rgb(text: str) -> list[float]:
    return [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
