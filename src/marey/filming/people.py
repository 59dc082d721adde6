"""Everyone of a crowd as a posed body, frame by frame: tracks and looks in, vertices out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey.crowd.tracks import Tracks
from marey.filming.figure import figure
from marey.filming.gaits import gait_of, pose_tables
from marey.filming.wardrobe import given_out, wardrobe

Array = NDArray[Any]


class People:
    """The bodies of tracks.

    looks: `(people,)`, which look each one has
    statures: `(people,)`, metres

    >>> from marey import samples
    >>> crowd = People(samples.crowd(people=4, seconds=1))
    >>> here, vertices, normals, following = crowd.bodies(0)
    >>> vertices.shape == following.shape == (len(here), *vertices.shape[1:])
    True
    """

    def __init__(self, tracks: Tracks, *, rng: np.random.Generator | int = 0) -> None:
        generator = np.random.default_rng(rng)
        self.tracks = tracks
        self.looks = given_out(tracks, generator)
        self.statures = wardrobe().statures[self.looks]
        self.gait = gait_of(tracks, self.statures, generator)
        self._present = tracks.present

    def bodies(self, frame: int, *, coarse: bool = False) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """Who is there, their vertices and normals, and the vertices one frame later.

        Arrays are `(people there, vertices, 3)`, y up: (x, height, -y). Who is gone in the next frame, or
        in the last one, goes on at the velocity he has.
        """
        here = np.flatnonzero(self._present[frame])
        vertices, normals = self._posed(here, self._state(here, frame), coarse)
        later = self._state(here, frame)
        if frame + 1 < self.tracks.frames:
            staying = self._present[frame + 1, here]
            later[staying] = self._state(here[staying], frame + 1)
        else:
            staying = np.zeros(len(here), dtype=bool)
        if not staying.all() and frame > 0:
            came = ~staying & self._present[frame - 1, here]
            before = self._state(here[came], frame - 1)
            later[came] += later[came] - before
        following, _ = self._posed(here, later, coarse)
        return here, vertices, normals, following

    def _state(self, here: NDArray[np.int64], frame: int) -> Array:
        gait, at = self.gait, self.tracks.positions[frame, here]
        columns = [
            part[frame, here] for part in (gait.heading, gait.phase, gait.walking, gait.pace, gait.idle)
        ]
        return np.stack([at[:, 0], -at[:, 1], *columns], axis=1)

    def _posed(self, here: NDArray[np.int64], state: Array, coarse: bool) -> tuple[Array, Array]:
        from marey.filming import _body_kernels

        person, clothes = figure(coarse), wardrobe(coarse)
        vertices = np.empty((len(here), *person.vertices.shape))
        normals = np.empty_like(vertices)
        looks, statures = self.looks[here], self.statures[here]

        def part(start: int, stop: int) -> None:
            _body_kernels.pose(
                pose_tables(),
                clothes.vertices,
                clothes.normals,
                clothes.joints,
                person.bones,
                person.weights,
                looks,
                statures,
                state,
                start,
                stop,
                vertices,
                normals,
            )

        _work.spread(part, len(here), least=16)
        return vertices, normals
