"""People of a crowd as small walking figures: hundreds in one mesh, legs and arms swinging with the way gone.

Everyone is a copy of one template of a few hundred faces; a compiled kernel swings its limbs, turns it
into the direction of walking and sets it down. Cost: about 2 ms a frame for 1,000 people before drawing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from marey.crowd.polygons import on_ground
from marey.crowd.scene import Scene as Place
from marey.crowd.tracks import Tracks
from marey.stage.walk.paths import steps
from marey.views import style
from marey.views.actors import check_reach
from marey.views.camera import direction, framing
from marey.views.scene import Ground, Image, Look, Scene
from marey.views.shapes import Shape, ball, block, limb, loft, merged

Array = NDArray[np.float64]

STATURE = 1.72
HIP, SHOULDER = 0.90, 1.40
WALL_HEIGHT = 0.4
"""Metres; low, so that nobody is hidden behind."""

TRAIL_SECONDS, TRAIL_POINTS = 2.5, 14
MANY = 120
"""People beyond whom figures are coarser and leave no trails, which would hide the ground."""

ELEVATION, TURN = np.radians(33.0), np.radians(-14.0)


def clip(tracks: Tracks, size: tuple[int, int], place: Place | None = None) -> Iterator[Image]:
    """The frames of a clip of people walking, one picture each, from a camera that sees the whole place.

    place: whose walls are drawn as low blocks
    """
    from marey.views import _walker_kernels

    check_reach(tracks.positions)
    caster = _caster()
    slots = shared_slots(tracks)
    count = int(slots.max()) + 1
    many = count > MANY
    template, part = person(coarse=many)
    heading, phase, swing = steps(tracks)
    present = tracks.present
    places = _world(np.asarray(tracks.positions, dtype=np.float64))
    walls = _walls(place)
    everywhere = np.concatenate([_standing(places[present]), walls.vertices])
    extent = float(np.ptp(everywhere[:, [0, 2]], axis=0).max())
    camera = framing(everywhere, _towards(everywhere), size, margin=0.92)
    scene = Scene(
        _crowd_look(count, template, part, walls),
        Ground(spacing=1.0 if extent < 60 else 10.0, reach=0.75 * extent + 4.0),
        size=size,
        subject_size=STATURE,
        texel=max(0.02, extent / 750),
        sky=3,
        samples=4 if many else 8,
    )
    centre = 0.5 * (everywhere.min(axis=0) + everywhere.max(axis=0))
    vertices, people = _room(count, template, walls)
    casters, bodies = _room(count, caster, walls)
    still = np.zeros(len(caster.vertices), dtype=np.int64)
    for frame in range(tracks.frames):
        people[:], bodies[:] = np.nan, np.nan
        here = np.flatnonzero(present[frame])
        state = (
            slots[here],
            places[frame, here],
            heading[frame, here],
            phase[frame, here],
            swing[frame, here],
        )
        _walker_kernels.set_people(template.vertices, part, HIP, SHOULDER, *state, people)
        _walker_kernels.set_people(caster.vertices, still, HIP, SHOULDER, *state, bodies)
        yield scene.render(
            vertices,
            camera,
            centre=centre,
            casters=casters,
            overlay=None if many else _trails(places, frame, here, slots, tracks.frame_rate, extent / 700),
        )


def _walls(place: Place | None) -> Shape:
    """The obstacles of a place, as far as they stand on its ground, as blocks."""
    obstacles = () if place is None else place.obstacles
    size = (0.0, 0.0) if place is None else place.size
    regions = [outline for one in obstacles for outline, _ in on_ground(one, size)]
    nothing = Shape(np.zeros((0, 3)), np.zeros((0, 3), np.int32))
    vertices, faces, _ = merged([nothing, *(block(outline, WALL_HEIGHT) for outline in regions)])
    return Shape(vertices, faces)


def _room(count: int, figure: Shape, walls: Shape) -> tuple[Array, Array]:
    """Vertices of `count` figures and then of the walls, and those of the figures, figure by figure."""
    size = count * len(figure.vertices)
    vertices = np.concatenate([np.full((size, 3), np.nan), walls.vertices])
    return vertices, vertices[:size].reshape(count, -1, 3)


def _trails(
    places: Array,
    frame: int,
    here: NDArray[np.int64],
    slots: NDArray[np.int64],
    frame_rate: float,
    width: float,
) -> tuple[Array, NDArray[np.int32], Array]:
    """The last seconds of everyone's way as tapering strips on the ground."""
    back = np.rint(np.linspace(0, TRAIL_SECONDS * frame_rate, TRAIL_POINTS)).astype(np.int64)
    path = places[np.maximum(frame - back, 0)][:, here]
    along = np.gradient(path, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9)
    half = max(width, 0.03) * np.linspace(0.5, 0.1, TRAIL_POINTS)[:, None, None]
    side = half * np.stack([along[..., 2], 0 * along[..., 1], -along[..., 0]], axis=-1)
    vertices = np.stack([path - side, path + side], axis=2)
    people = len(here)
    point, person = np.mgrid[: TRAIL_POINTS - 1, :people]
    a = 2 * (point * people + person).ravel()
    b = a + 2 * people
    faces = np.concatenate([np.stack([a, a + 1, b], axis=1), np.stack([a + 1, b + 1, b], axis=1)])
    ink = style.linear(style.PALETTE)[slots[here] % len(style.PALETTE)]
    colours = np.broadcast_to(0.6 * ink[:, None] + 0.4 * style.linear(style.GROUND), vertices.shape)
    return vertices.reshape(-1, 3), faces.astype(np.int32), colours.reshape(-1, 3)


def _world(positions: Array) -> Array:
    """Ground plane (x, y) in the world: y of the plan points away from the viewer, `(..., 3)`."""
    flat = np.zeros(positions.shape[:-1])
    return np.stack([positions[..., 0], flat, -positions[..., 1]], axis=-1)


def _standing(places: Array) -> Array:
    """Feet and heads of people at `places`, thinned: what a camera must see."""
    some = places[:: max(len(places) // 20_000, 1)]
    shoulder = 0.3
    around = np.array([[-shoulder, 0, -shoulder], [shoulder, 0, shoulder], [0, STATURE, 0]])
    return (some[:, None] + around).reshape(-1, 3)


def _towards(everywhere: Array) -> Array:
    """From the side on which the place is wide."""
    wide, deep = np.ptp(everywhere[:, [0, 2]], axis=0)
    return direction(TURN if wide > 0.8 * deep else TURN + np.pi / 2, ELEVATION)


def shared_slots(tracks: Tracks) -> NDArray[np.int64]:
    """A number for each agent such that those present at one time differ; as few numbers as needed."""
    present = tracks.present
    first = present.argmax(axis=0)
    last = len(present) - 1 - present[::-1].argmax(axis=0)
    slots = np.zeros(tracks.agents, dtype=np.int64)
    free_from: list[int] = []
    for agent in np.argsort(first, kind="stable"):
        if not present[:, agent].any():
            continue
        slot = next((s for s, free in enumerate(free_from) if free < first[agent]), len(free_from))
        if slot == len(free_from):
            free_from.append(0)
        free_from[slot] = int(last[agent])
        slots[agent] = slot
    return slots


@cache
def person(coarse: bool) -> tuple[Shape, NDArray[np.int64]]:
    """A figure looking along +z, and which part each vertex is: 0 body, 1 2 legs, 3 4 arms."""
    round_, thin = (7, 5) if coarse else (16, 12)
    trunk = [
        (0.82, 0.0, 0.0, 0.0, 0.0),
        (0.84, 0.10, 0.08, 0.0, 0.0),
        (0.93, 0.150, 0.105, 0.0, 0.0),
        (1.10, 0.130, 0.095, 0.0, 0.0),
        (1.28, 0.165, 0.115, 0.0, 0.0),
        (1.40, 0.180, 0.095, 0.0, 0.0),
        (1.47, 0.090, 0.065, 0.0, 0.0),
        (1.50, 0.0, 0.0, 0.0, 0.0),
    ]
    body = _upright(loft(trunk, sectors=round_))
    head = ball(1.0, rings=3 if coarse else 9, sectors=round_)
    head = Shape(head.vertices[:, [1, 2, 0]] * [0.085, 0.115, 0.10] + [0.0, 1.60, 0.015], head.faces)

    def hanging(length: float, profile: list[tuple[float, float]], x: float, top: float) -> Shape:
        shape = limb(length, profile, sectors=thin, coarse=coarse)
        across, deep, down = shape.vertices.T
        return Shape(np.stack([across + x, top - down, deep], axis=1), shape.faces)

    legs = [hanging(0.80, [(0, 0.085), (0.5, 0.062), (1, 0.045)], x, 0.86) for x in (0.09, -0.09)]
    arms = [hanging(0.56, [(0, 0.058), (1, 0.036)], x, 1.38) for x in (0.188, -0.188)]
    shoe = limb(0.13, [(0, 0.052), (1, 0.042)], sectors=thin, coarse=coarse)
    shoes = [Shape(shoe.vertices * [1.0, 0.7, 1.0] + [x, 0.037, 0.0], shoe.faces) for x in (0.09, -0.09)]
    vertices, faces, part = merged([body, *legs, *arms, *shoes, head])
    return Shape(vertices, faces), np.array([0, 1, 2, 3, 4, 1, 2, 0])[part]


@cache
def _caster() -> Shape:
    """A coarse body for the shadow."""
    return _upright(
        loft(
            [
                (0.01, 0.0, 0.0, 0.0, 0.0),
                (0.03, 0.15, 0.11, 0.0, 0.0),
                (1.38, 0.21, 0.12, 0.0, 0.0),
                (1.50, 0.09, 0.09, 0.0, 0.0),
                (1.74, 0.0, 0.0, 0.0, 0.0),
            ],
            sectors=6,
        )
    )


def _upright(shape: Shape) -> Shape:
    """A loft along z set up along y; x stays to the left of the figure, y turns backwards."""
    x, y, z = shape.vertices.T
    return Shape(np.stack([x, z, -y], axis=1), shape.faces)


def _crowd_look(count: int, template: Shape, part: NDArray[np.int64], walls: Shape) -> Look:
    people = np.arange(count)
    clothes = style.linear(style.PALETTE)[people % len(style.PALETTE)]
    clothes = 0.62 * clothes + 0.38 * style.linear(style.CLOTH)
    legs = 0.55 * clothes + 0.45 * style.linear(style.SOFT_INK)
    skin = style.linear(style.SKIN)
    is_head = template.vertices[:, 1] > 1.485
    colours = np.where(((part == 1) | (part == 2))[None, :, None], legs[:, None], clothes[:, None])
    colours = np.where(is_head[None, :, None], skin, colours)
    # Nearer the ground one sees less of the sky.
    sky = 0.45 + 0.55 * np.clip(template.vertices[:, 1] / 1.4, 0, 1)
    seen = np.stack([np.ones_like(sky), sky], axis=1)
    stone = np.broadcast_to(style.linear(style.WALL), walls.vertices.shape)
    return Look(
        faces=_copied(template, count, walls),
        colours=np.concatenate([colours.reshape(-1, 3), stone]),
        casters=_copied(_caster(), count, walls),
        seen=np.concatenate([np.tile(seen, (count, 1)), np.ones((len(walls.vertices), 2))]),
        closed=True,
    )


def _copied(figure: Shape, count: int, walls: Shape) -> NDArray[np.int32]:
    """Faces of `count` figures and then of the walls."""
    first = np.arange(count)[:, None, None] * len(figure.vertices)
    own = (figure.faces + first).reshape(-1, 3)
    return np.concatenate([own, walls.faces + count * len(figure.vertices)]).astype(np.int32)
