"""What people look like: builds, clothes, hair, bags; and who looks how, so that neighbours differ.

Courty 2013, section 6.3.2, films 26 characters so that identical neighbours are rare. Here are 156, by
formula; they are given out greedily so that equal ones neither start close to each other nor meet often.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from marey.crowd.tracks import Tracks
from marey.filming import figure as body
from marey.filming.figure import ALWAYS, BAG, BONES, HAIR, HAT, RUCKSACK, SKIRT, Figure, figure
from marey.samples.body_plan import STATURE
from marey.views import style

Array = NDArray[np.float64]
Integers = NDArray[np.int32]

COUNT = 156
APART_AT_START, APART = 3.0, 1.5
"""Metres: equal looks never start closer than the first, and hardly ever come closer than the second."""

SKINS = ("#f1cdb5", "#e3b394", "#d49f7c", "#b97f5c", "#96623f", "#6f4630", "#4d3124")
HAIRS = ("#1b1613", "#2c1d14", "#4a2f1d", "#7a5230", "#b48a54", "#9b9792", "#5d2a18", "#d8d3ca")
TOPS = (
    "#f2efe8", "#22252b", "#b3262e", "#1f4e8c", "#2f7d4f", "#e0b73c", "#7a3f86", "#d9713c", "#6f7a86",
    "#9cc3d5", "#39424e", "#c98aa0", "#8a6a4a", "#14655f", "#e8e1c3", "#50306a", "#c5d19a", "#3b6ea5",
)  # fmt: skip
BOTTOMS = ("#2b3a55", "#1e1f24", "#4b5563", "#7b6a55", "#a99b84", "#3d4a3c", "#5b3a30", "#8d97a5", "#d0c8b6")
SHOES = ("#15151a", "#3a2a20", "#e6e4df", "#6b2b2b", "#33405a")
BAGS = ("#20242c", "#8a2d2d", "#3f5b3c", "#c9a24a", "#2d4f73", "#6e5a46", "#b9bec6")


@dataclass(frozen=True, eq=False)
class Wardrobe:
    """Looks, and the figure in each of them.

    clothes: `(looks, 29)`, colours in linear light and measures; see `_paint_kernels`
    statures: `(looks,)`, metres
    vertices, normals: `(looks, figure's vertices, 3)`, at rest
    joints: `(looks, bones, 3)`, at rest
    faces: indices of the figure's faces that a look wears, look after look
    starts: `(looks + 1,)`, where each look's begin
    """

    clothes: Array
    statures: Array
    vertices: Array
    normals: Array
    joints: Array
    faces: Integers
    starts: NDArray[np.int64]


@cache
def wardrobe(coarse: bool = False) -> Wardrobe:
    """All looks, of the figure or of the coarse one.

    >>> looks = wardrobe()
    >>> len(np.unique(looks.clothes[:, :21].round(4), axis=0)) == len(looks.clothes)
    True
    """
    rng = np.random.default_rng(26)
    person = figure(coarse)
    female = np.arange(COUNT) % 2 == 1
    child = np.arange(COUNT) % 13 == 5
    statures = np.where(female, rng.normal(1.65, 0.06, COUNT), rng.normal(1.77, 0.07, COUNT))
    statures = np.clip(np.where(child, rng.uniform(1.15, 1.45, COUNT), statures), 1.1, 2.0)
    girth = np.where(child, rng.uniform(0.92, 1.05, COUNT), rng.uniform(0.88, 1.28, COUNT))
    worn = _worn(female, rng)
    vertices = np.stack(
        [
            _shaped(person, g, bool(f), s / STATURE, bool(c))
            for g, f, s, c in zip(girth, female, statures, child)
        ]
    )
    joints = person.joints * (statures / STATURE)[:, None, None]
    kept = [np.flatnonzero(np.isin(person.face_parts, parts)) for parts in worn]
    return Wardrobe(
        _clothes(female, worn, rng),
        statures,
        vertices,
        np.stack([_normals(v, person.faces) for v in vertices]),
        joints,
        np.concatenate(kept).astype(np.int32),
        np.cumsum([0, *(len(faces) for faces in kept)]),
    )


def given_out(tracks: Tracks, rng: np.random.Generator | int = 0) -> NDArray[np.int64]:
    """A look for everyone, `(people,)`.

    Greedy colouring: each one takes the look whose wearers he starts far from and meets least, and of
    those the one worn least. Cost: the pairs of people who come close, found with a tree twice a second.

    >>> row = Tracks(np.stack([np.arange(60) * 0.8, np.zeros(60)], axis=1)[None], 25)
    >>> looks = given_out(row)
    >>> bool(all(looks[i] != looks[j] for i in range(60) for j in range(i) if i - j < 4))
    True
    """
    from scipy.sparse import coo_array

    generator = np.random.default_rng(rng)
    pairs, costs = _meetings(tracks)
    people = tracks.agents
    near = coo_array((costs, (pairs[:, 0], pairs[:, 1])), shape=(people, people)).tocsr()
    near = (near + near.T).tocsr()
    looks = np.full(people, -1, dtype=np.int64)
    worn = np.zeros(COUNT)
    for one in np.argsort(-np.diff(near.indptr), kind="stable"):
        neighbours = near.indices[near.indptr[one] : near.indptr[one + 1]]
        cost = worn + 0.5 * generator.random(COUNT)
        dressed = looks[neighbours] >= 0
        np.add.at(
            cost, looks[neighbours][dressed], near.data[near.indptr[one] : near.indptr[one + 1]][dressed]
        )
        looks[one] = int(np.argmin(cost))
        worn[looks[one]] += 1
    return looks


def _meetings(tracks: Tracks) -> tuple[NDArray[np.int64], Array]:
    """Pairs who start or come close, and what it would cost to dress them alike."""
    from scipy.spatial import cKDTree

    present = tracks.present
    first = present.argmax(axis=0)
    moments = np.arange(0, tracks.frames, max(1, round(tracks.frame_rate / 2)))
    found, cost = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)]
    for frame in np.union1d(moments, first):
        here = np.flatnonzero(present[frame])
        newcomers = first[here] == frame
        starting = bool(newcomers.any())
        pairs = cKDTree(tracks.positions[frame, here]).query_pairs(
            APART_AT_START + 0.01 if starting else 1.2 * APART, output_type="ndarray"
        )
        apart = np.linalg.norm(np.diff(tracks.positions[frame, here][pairs], axis=1)[:, 0], axis=-1)
        fresh = newcomers[pairs].any(axis=1)
        found.append(here[pairs])
        cost.append(np.where(fresh, 1e9, 0.0) + np.where(apart < 1.2 * APART, 1e3, 0.0))
    return np.concatenate(found), np.concatenate(cost)


def _worn(female: NDArray[np.bool_], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Parts that each look shows."""
    looks = []
    for woman in female:
        extras: list[int] = []
        if rng.random() < (0.6 if woman else 0.06):
            extras.append(HAIR)
        if rng.random() < 0.14:
            extras.append(HAT)
        if rng.random() < (0.35 if woman else 0.12):
            extras.append(SKIRT)
        carried = rng.random()
        if carried < 0.22:
            extras.append(RUCKSACK)
        elif carried < 0.42:
            extras.append(BAG)
        looks.append((*ALWAYS, *extras))
    return looks


def _clothes(female: NDArray[np.bool_], worn: list[tuple[int, ...]], rng: np.random.Generator) -> Array:
    def drawn(colours: tuple[str, ...]) -> Array:
        base = style.linear(colours)[rng.integers(len(colours), size=COUNT)]
        return np.clip(
            base * rng.uniform(0.82, 1.18, (COUNT, 1)) * rng.uniform(0.95, 1.05, (COUNT, 3)), 0, 0.92
        )

    # Neighbours in the list have different tops, whatever the dice say.
    tops = style.linear(TOPS)[(np.arange(COUNT) * 7) % len(TOPS)] * rng.uniform(0.8, 1.15, (COUNT, 1))
    skirts = np.array([SKIRT in parts for parts in worn])
    coat = skirts & (~female | (rng.random(COUNT) < 0.4))
    shorts = (rng.random(COUNT) < 0.18) | (skirts & ~coat)
    sleeve = np.where(rng.random(COUNT) < 0.35, 0.33, 0.73)
    sleeve = np.where(coat, 0.73, np.where(rng.random(COUNT) < 0.05, 0.19, sleeve))
    measures = [
        rng.choice(6, size=COUNT, p=[0.40, 0.18, 0.10, 0.14, 0.06, 0.12]),
        rng.uniform(0.05, 0.16, COUNT),
        sleeve,
        np.where(shorts, 0.50, 0.085),
        rng.uniform(0.93, 1.03, COUNT),
        (~female & (rng.random(COUNT) < 0.12)).astype(float),
        coat.astype(float),
        rng.uniform(0, 32, COUNT),
    ]
    colours = [drawn(SKINS), drawn(HAIRS), np.clip(tops, 0, 0.92), drawn(TOPS), drawn(BOTTOMS), drawn(SHOES)]
    return np.ascontiguousarray(np.concatenate([*colours, drawn(BAGS), np.stack(measures, axis=1)], axis=1))


def _shaped(person: Figure, girth: float, woman: bool, scale: float, child: bool) -> Array:
    """The figure's vertices at rest, broader or slimmer about its axes, metres."""
    out = person.vertices.copy()
    parts = person.vertex_parts
    trunk = np.isin(parts, (body.TRUNK, SKIRT))
    high = np.clip((out[:, 1] - 1.0) / 0.35, 0, 1)
    # Shoulders and arms keep to the skeleton: girth shows at the belly.
    wide = girth * np.where(woman, 1.04 - 0.14 * high, 0.97 + 0.05 * high)
    wide = np.where(high > 0.9, 0.5 + 0.5 * wide, wide)
    out[trunk] *= np.stack([wide, np.ones_like(wide), girth**1.3 * np.ones_like(wide)], axis=1)[trunk]
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        mine = np.sign(out[:, 0]) == sign
        for part, bone, axes in ((body.LEG, "UpLeg", [0, 2]), (body.ARM, "Arm", [1, 2])):
            chosen = np.flatnonzero(mine & (parts == part))
            at = np.ix_(chosen, np.array(axes))
            centre = person.joints[BONES.index(side + bone), axes]
            thick = 0.5 + 0.5 * girth
            out[at] = np.asarray(centre + thick * (out[at] - centre))
    if child:
        top = np.isin(parts, (body.HEAD, HAIR, HAT))
        neck = person.joints[BONES.index("Head")]
        out[top] = neck + 1.18 * (out[top] - neck)
    return out * scale


def _normals(vertices: Array, faces: Integers) -> Array:
    corner = vertices[faces]
    flat = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    out = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(out, faces[:, k], flat)
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
