"""The body that pedestrians of a crowd share, and what they look like: heights, colours of clothes and skin.

A mesh of 734 vertices on eighteen joints, made from the sample human by `tools/walking_figure.py` and stored
at four levels of detail. Its faces are sorted into shirt, trousers, shoes, skin and hair, so that everyone
can wear other colours; the few dozen outfits are muted and stay apart on paper. Cost: reading 50 kB once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.anatomy import Limb, anatomy
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.geometry import rigid
from marey.geometry import rotations as so3
from marey.surface.skinning import SkinnedMesh

ASSET = Path(__file__).with_name("figure.npz")
PARTS = ("shirt", "trousers", "shoes", "skin", "hair")
# Metres by which a body on its feet is lower than at rest: legs are never quite straight.
BENT = 0.012
# Metres, of adults: range, mean and standard deviation.
SHORTEST, TALLEST, MEAN, SPREAD = 1.55, 1.95, 1.74, 0.085
OUTFITS = 48
COLOURS = (
    "#4c78a8 #c8553d #5aa17f #b2627a #8a7bb5 #c9a64b #5b9fb0 #8c8378 #e7e3d8 #2b6a8f #3d4654 #d9b48a",
    "#2f3a4c #3b3f46 #5c5346 #48566b #6d6a63 #27292e",
    "#2a2522 #4a3a30 #d8d4cc #35393f",
    "#e2b89c #d3a283 #b5835f #8d6043 #6a4632 #eac7ae",
    "#2b211c #4a3326 #6e4e34 #1d1b1b #9a7b52 #8f8b86",
)


@dataclass(frozen=True, eq=False)
class Figure:
    """A body at rest, facing +z, its feet on y = 0.

    Attributes:
        skin: the mesh, bound to all joints of the skeleton and in their order.
        skeleton: its joints.
        positions: `(joints, 3)` metres, of the joints in the world at rest.
        rotations: `(joints, 4)`, of the joints in the world at rest.
        legs: left, then right.
        parts: `(faces,)`, which of :data:`PARTS` each face is.
        height: metres.
    """

    skin: SkinnedMesh
    skeleton: Skeleton
    positions: Array
    rotations: Array
    legs: tuple[Limb, Limb]
    parts: NDArray[np.int64]
    height: float

    @property
    def local(self) -> Array:
        """Rotations of the joints in their parents' frames at rest, `(joints, 4)`."""
        local = np.array(self.rotations)
        local[1:] = so3.multiply(so3.inverse(self.rotations[self.skeleton.parents[1:]]), local[1:])
        return local

    @property
    def character(self) -> Character:
        """The body as a character that stands still."""
        rest = Motion(self.skeleton, self.local[None], self.positions[:1], 30.0, name="rest")
        return Character(self.skin, (rest,), name="person")

    @property
    def corners(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Vertices for drawing, twice where two parts meet: which they are, their parts, and faces."""
        pairs = np.stack([self.skin.faces.reshape(-1), np.repeat(self.parts, 3)], axis=1)
        found, index = np.unique(pairs, axis=0, return_inverse=True)
        return found[:, 0], found[:, 1], index.reshape(-1, 3)

    @property
    def standing_height(self) -> float:
        """Height of the root of a body on its feet, metres."""
        return float(self.positions[0, 1]) - BENT


@lru_cache(maxsize=4)
def figure(level: int = 0) -> Figure:
    """The shared body.

    Args:
        level: of detail, 0 (734 vertices) to 3 (40 vertices).

    >>> body = figure()
    >>> len(body.skin.vertices), body.skeleton.joints
    (734, 18)
    """
    with np.load(ASSET) as stored:
        names, parents = tuple(stored["names"].tolist()), stored["parents"].astype(np.int64)
        positions, rotations = stored["positions"], stored["rotations"]
        vertices, faces, influences, weights, parts = (
            stored[f"{kind}{level}"] for kind in ("vertices", "faces", "influences", "weights", "parts")
        )
    offsets = so3.rotate(so3.inverse(rotations[parents]), positions - positions[parents])
    offsets[0] = 0.0
    skeleton = Skeleton(names, parents, offsets)
    bind = rigid.to_matrix(rigid.Rigid(rotations, positions))
    skin = SkinnedMesh(vertices.astype(np.float64), faces, names, bind, influences, weights)
    left, right = anatomy(skeleton).legs
    height = float(np.ptp(skin.vertices[:, 1]))
    return Figure(skin, skeleton, positions, rotations, (left, right), parts.astype(np.int64), height)


def heights(people: int, rng: np.random.Generator) -> Array:
    """Heights of adults `(people,)`, metres."""
    drawn = rng.normal(MEAN, SPREAD, people)
    return np.where((drawn < SHORTEST) | (drawn > TALLEST), rng.uniform(SHORTEST, TALLEST, people), drawn)


def outfits() -> Array:
    """Colours `(OUTFITS, 5, 3)` of shirt, trousers, shoes, skin and hair, sRGB in 0…1.

    >>> outfits().shape
    (48, 5, 3)
    """
    rng = np.random.default_rng(1882)
    palettes = [
        [[int(word[i : i + 2], 16) / 255 for i in (1, 3, 5)] for word in colours.split()]
        for colours in COLOURS
    ]
    chosen = [[palette[rng.integers(len(palette))] for palette in palettes] for _ in range(OUTFITS)]
    # All shirts come equally often.
    for number, outfit in enumerate(chosen):
        outfit[0] = palettes[0][number % len(palettes[0])]
    return np.array(chosen)
