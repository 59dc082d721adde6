"""Files that can be made of the body that is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from marey._work import Progress
from marey.body.motion import Motion
from marey.io import save
from marey.io._files import atomic_write
from marey.studio.body.state import State
from marey.studio.panel import Export

# Metres, of a compressed file that nobody chose an error for.
USUAL_ERROR = 0.01


def exports(state: State, name: str) -> list[Export]:
    """The files of a state; `name` is that of what was opened."""
    stem = Path(name).stem or "body"
    motion = state.motion
    figure: Any = motion if state.character is None else state.character.with_motion(motion)

    def saved(thing: Any) -> Any:
        return lambda path, progress: save(thing, path, progress=progress)

    def viewed(path: Path, progress: Progress) -> None:
        from marey.views.render import view

        view(figure, path, progress=progress)

    def compressed(path: Path, progress: Progress) -> None:
        from marey.body.codec import compress

        small = state.small.clip if state.small is not None else None
        save(small or compress(motion, max_error=USUAL_ERROR, progress=progress), path)

    def table(path: Path, progress: Progress) -> None:
        write_positions(motion, path)

    return [
        Export("motion (BVH)", f"{stem}.bvh", saved(motion)),
        Export("figure (GLB)", f"{stem}.glb", saved(figure)),
        Export("film (MP4)", f"{stem}.mp4", viewed),
        Export("picture (PNG)", f"{stem}.png", viewed),
        Export("page (HTML)", f"{stem}.html", viewed),
        Export("small (MRY)", f"{stem}.mry", compressed),
        Export("table (CSV)", f"{stem}.csv", table),
    ]


def write_positions(motion: Motion, path: Path) -> None:
    """A table of where every joint is: a row a frame, seconds and then x, y, z of each joint in metres.

    >>> import marey, tempfile
    >>> out = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> write_positions(marey.samples.walk(seconds=0.1), out)
    >>> out.read_text().splitlines()[0][:26]
    'time,Hips.x,Hips.y,Hips.z,'
    """
    names = [name.replace(",", " ").replace('"', "'") for name in motion.skeleton.names]
    header = ",".join(["time", *(f"{name}.{axis}" for name in names for axis in "xyz")])
    times = np.arange(motion.frames)[:, None] / motion.frame_rate
    rows = np.concatenate([times, motion.positions().reshape(motion.frames, -1)], axis=1)
    with atomic_write(path) as draft:
        np.savetxt(draft, rows, fmt="%.6g", delimiter=",", header=header, comments="", encoding="utf-8")
