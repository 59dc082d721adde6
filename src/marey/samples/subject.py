"""The built-in subject of surface animation: the human's walks, turns, run, jump and standing, as meshes.

Everything is made by formula, so that distances, transitions and graphs can be tried without any file. Cost:
about four seconds the first time, most of it for the human itself; kept in memory.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from marey.body.motion import Motion
from marey.samples.bent_walk import bent
from marey.samples.gait import walk
from marey.samples.leaps import jump, run, stand
from marey.samples.mannequin import human
from marey.surface.decimation import Decimation
from marey.surface.library import Library


@lru_cache(maxsize=4)
def locomotion(*, vertices: int = 2000, frame_rate: float = 30.0) -> Library:
    """Ten sequences of one human, with the behaviours walk, turn-left, turn-right, run, jump and idle.

    vertices: of the mesh; the human itself has some 7,600
    frame_rate: frames per second

    >>> library = locomotion(vertices=800)
    >>> len(library), library.vertices(0).shape
    (10, (800, 3))
    """
    labels, motions = zip(*_motions(frame_rate), strict=True)
    person = human()
    poses = np.concatenate(
        [person.pose(motion, frames=motion.frames // 2).vertices for motion in motions[-3:] + motions[:2]]
    )
    skin = Decimation.of(person.skin, vertices=vertices, poses=poses).apply(person.skin)
    small = replace(person, skin=skin)
    return Library(tuple(small.pose(motion, dtype=np.float32) for motion in motions), labels)


def _motions(frame_rate: float) -> list[tuple[str, Motion]]:
    """Clips and the behaviours they show."""

    def named(name: str, label: str, motion: Motion) -> tuple[str, Motion]:
        return label, replace(motion, name=name)

    made = [
        named(name, "walk", walk(cycles=2, speed=speed, frame_rate=frame_rate))
        for name, speed in (("walk-slow", 0.9), ("walk", 1.3), ("walk-brisk", 1.7))
    ]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        easy = bent(
            walk(seconds=3.2, speed=1.2, frame_rate=frame_rate), turn=sign * np.pi / 2, start=0.5, stop=3.4
        )
        tight = bent(
            walk(seconds=2.8, speed=1.0, frame_rate=frame_rate), turn=sign * 2.4, start=0.4, stop=2.4
        )
        made += [
            named(f"turn-{side}-gentle", f"turn-{side}", easy),
            named(f"turn-{side}-sharp", f"turn-{side}", tight),
        ]
    return [
        *made,
        named("stand", "idle", stand(2.0, frame_rate=frame_rate)),
        named("run", "run", run(3, frame_rate=frame_rate)),
        named("jump", "jump", jump(frame_rate=frame_rate)),
    ]
