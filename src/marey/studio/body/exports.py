"""Files that can be made of the body that is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey._arrays import FloatArray
from marey._work import Progress
from marey.io._tables import write_table
from marey.studio.body.state import State
from marey.studio.exports import files_of, made
from marey.studio.room import Export


def exports(state: State, stem: str) -> list[Export]:
    """The files of a state, named after what was opened."""
    motion = state.motion
    figure = motion if state.character is None else state.character.with_motion(motion)

    def compressed(progress: Progress) -> object:
        from marey.body.codec import compress

        found = state.compressed
        return compress(motion, max_error=0.01, progress=progress) if found is None else found.clip

    def positions(path: Path) -> None:
        write_points(motion.skeleton.names, motion.positions(), motion.frame_rate, path)

    return [
        *files_of("motion", motion, stem)[:1],
        *files_of("figure", figure, stem, without=(".bvh", ".mry")),
        made("compressed", f"{stem}.mry", compressed),
        Export("positions (CSV)", f"{stem}.csv", lambda path, _: positions(path)),
    ]


def write_points(names: tuple[str, ...], points: FloatArray, frame_rate: float, path: Path) -> None:
    """A table of named points `(frames, points, 3)`: a row a frame, seconds and then x, y, z in metres.

    >>> import marey, tempfile
    >>> out, walk = Path(tempfile.mkdtemp()) / "walk.csv", marey.samples.walk(seconds=0.1)
    >>> write_points(walk.skeleton.names, walk.positions(), walk.frame_rate, out)
    >>> out.read_text().splitlines()[0][:26]
    'time,Hips.x,Hips.y,Hips.z,'
    """
    columns = [name.replace(",", " ").replace('"', "'") for name in names]
    header = ["time", *(f"{name}.{axis}" for name in columns for axis in "xyz")]
    times = np.arange(len(points))[:, None] / frame_rate
    rows = np.concatenate([times, points.reshape(len(points), -1)], axis=1)
    write_table(path, header, ([f"{value:.6g}" for value in row] for row in rows))
