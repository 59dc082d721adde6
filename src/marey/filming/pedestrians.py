"""Pedestrians of a video: the walking figures of `stage`, frame by frame, in outfits that differ nearby.

Courty 2013, section 6.3.2, renders 26 characters so that identical neighbours are rare; here are 48 outfits,
assigned greedily so that equal ones neither start close to each other nor meet often. Cost: that of
:func:`marey.stage.walk.walk.walk`, some 12 µs a person and frame, and the skinning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey._random import Rng, as_generator, seed_number
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.geometry.colour import from_srgb
from marey.stage.walk.figure import OUTFITS, figure, outfits
from marey.stage.walk.walk import walk
from marey.views.pedestrians import skinned

START_DISTANCE, DISTANCE = 3.0, 1.5
"""Metres: equal looks never start closer than the first, and hardly ever come closer than the second."""


class Bodies(NamedTuple):
    """The posed bodies of a frame, person after person, as the kernels take them.

    Attributes:
        faces: `(people · body faces, 3)`.
        points, normals: `(people · body vertices, 3)`, metres, y up: (x, height, -y of the plan).
        following: likewise, positions in the next frame.
        parts: `(body faces,)`, which of :data:`marey.stage.walk.figure.PARTS` each is.
        rest: `(body vertices, 3)`, of the body at rest.
        looks: `(people,)`, rows of `colours`.
        colours: `(looks, parts, 3)`, linear.
        focal: pixels, of the camera.
    """

    faces: NDArray[np.int32]
    points: Array
    normals: Array
    following: Array
    parts: Integers
    rest: Array
    looks: Integers
    colours: Array
    focal: float


class RenderedPedestrians:
    """The bodies of tracks.

    Attributes:
        tracks: positions over time, 10 to 120 frames a second.
        crowd: their walking bodies; one frame more than the tracks, for the motion of the last.
        looks: `(people,)`, outfit of each.

    >>> from marey import samples
    >>> people = RenderedPedestrians(samples.crowd(people=4, seconds=1))
    >>> people.bodies(0).points.shape == people.bodies(0).following.shape
    True
    """

    def __init__(self, tracks: Tracks, *, rng: Rng = 0) -> None:
        seed = seed_number(rng)
        longer = np.concatenate([tracks.positions, np.full((1, tracks.agents, 2), np.nan)])
        self.tracks, self.present = tracks, tracks.present
        self.crowd = walk(
            Tracks(longer, tracks.frame_rate, tracks.ids), frame_rate=tracks.frame_rate, rng=seed
        )
        if self.crowd.people != tracks.agents:
            raise InputError("tracks: a person jumps by metres within a frame, or is never present")
        self.looks = assign_looks(tracks, seed)
        self._latest: tuple[tuple[int, int, bytes], Array] | None = None
        self._colours = np.ascontiguousarray(from_srgb(outfits()))

    def bodies(self, frame: int, *, level: int = 0, focal: float = 1.0, with_normals: bool = True) -> Bodies:
        """The bodies of those present at a frame.

        People who are gone in the next frame go on along their path.

        Args:
            frame: number.
            level: of detail, 0 (734 vertices) to 3 (40 vertices).
            focal: see :class:`Bodies`.
            with_normals: whether normals are needed; else they are 0.
        """
        from marey.views._light_kernels import surface_normals

        here = np.flatnonzero(self.present[frame])
        body = figure(level)
        count = len(body.skin.vertices)
        points, following = (self._vertices(at, here, level) for at in (frame, frame + 1))
        faces = (body.skin.faces + count * np.arange(len(here))[:, None, None]).reshape(-1, 3)
        faces = faces.astype(np.int32)
        flat, normals = np.empty(faces.shape), np.zeros(points.shape)
        if with_normals:
            surface_normals(points, faces, np.arange(len(points)), flat, normals)
        return Bodies(
            faces, points, normals, following, np.array(body.parts), np.array(body.skin.vertices),
            self.looks[here], self._colours, focal,
        )  # fmt: skip

    def _vertices(self, frame: int, people: Integers, level: int) -> Array:
        """Vertices `(people · vertices, 3)`; what followed one frame is kept for the next."""
        key = frame, level, people.tobytes()
        if self._latest is None or self._latest[0] != key:
            self._latest = key, skinned(self.crowd, frame, people, level=level).reshape(-1, 3)
        return self._latest[1]


def assign_looks(tracks: Tracks, rng: Rng = 0) -> Integers:
    """A look for everyone, `(people,)`.

    Greedy colouring: each one takes the look whose wearers start far away and meet them least, and of those
    the one worn least. Cost: the pairs of people who come close, found with a tree twice a second.

    >>> row = Tracks(np.stack([np.arange(60) * 0.8, np.zeros(60)], axis=1)[None], 25)
    >>> looks = assign_looks(row)
    >>> bool(all(looks[i] != looks[j] for i in range(60) for j in range(i) if i - j < 4))
    True
    """
    from scipy.sparse import coo_array

    generator = as_generator(rng)
    pairs, costs = _meetings(tracks)
    people = tracks.agents
    near = coo_array((costs, (pairs[:, 0], pairs[:, 1])), shape=(people, people)).tocsr()
    near = (near + near.T).tocsr()
    looks = np.full(people, -1, dtype=np.int64)
    worn = np.zeros(OUTFITS)
    for one in np.argsort(-np.diff(near.indptr), kind="stable"):
        mine = slice(near.indptr[one], near.indptr[one + 1])
        theirs = looks[near.indices[mine]]
        cost = worn + 0.5 * generator.random(OUTFITS)
        np.add.at(cost, theirs[theirs >= 0], near.data[mine][theirs >= 0])
        looks[one] = int(np.argmin(cost))
        worn[looks[one]] += 1
    return looks


def _meetings(tracks: Tracks) -> tuple[Integers, Array]:
    """Pairs `(pairs, 2)` who start or come close, and the cost of equal looks for each."""
    from scipy.spatial import cKDTree

    present = tracks.present
    first = present.argmax(axis=0)
    twice_a_second = np.arange(0, tracks.frames, max(1, round(tracks.frame_rate / 2)))
    found, cost = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)]
    for frame in np.union1d(twice_a_second, first):
        here = np.flatnonzero(present[frame])
        newcomers = first[here] == frame
        reach = START_DISTANCE + 0.01 if newcomers.any() else 1.2 * DISTANCE
        pairs = cKDTree(tracks.positions[frame, here]).query_pairs(reach, output_type="ndarray")
        apart = np.linalg.norm(np.diff(tracks.positions[frame, here][pairs], axis=1)[:, 0], axis=-1)
        fresh = newcomers[pairs].any(axis=1)
        found.append(here[pairs])
        cost.append(np.where(fresh, 1e9, 0.0) + np.where(apart < 1.2 * DISTANCE, 1e3, 0.0))
    return np.concatenate(found), np.concatenate(cost)
