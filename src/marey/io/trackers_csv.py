"""Tables of trackers: a row a frame, columns named after what is tracked (CSV).

`time` (seconds) or `frame` if there is one, then for each tracker `NAME_x, NAME_y, NAME_z` in metres and,
for those that report a direction, `NAME_qw, NAME_qx, NAME_qy, NAME_qz`. NAME is a joint, `JOINT_end`, or any
name that is mapped to one. Empty cells are missing samples.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey._arrays import Array
from marey.body.markers import Markers
from marey.body.trackers import Trackers
from marey.errors import FormatError
from marey.io._files import quoted
from marey.io._tables import Table, read_table, write_table

POSITION, ROTATION = ("_x", "_y", "_z"), ("_qw", "_qx", "_qy", "_qz")


@np.errstate(all="ignore")  # what overflows is refused as not finite
def read(path: Path, *, frame_rate: float | None = None) -> Trackers:
    """Trackers of a table.

    Args:
        frame_rate: Frames per second; from the column `time` if None.
    """
    path = Path(path)
    table = read_table(path)
    names = tracker_names(table.header)
    if not names:
        raise FormatError(
            "no tracker found: columns must be called NAME_x, NAME_y, NAME_z (and NAME_qw … NAME_qz), "
            f"got {', '.join(map(quoted, table.header[:6]))}",
            path=path,
            line=1,
        )
    positions = np.stack([_block(table, name, POSITION) for name in names], axis=1)
    rotations = np.stack([_block(table, name, ROTATION) for name in names], axis=1)
    norms = np.linalg.norm(rotations, axis=-1, keepdims=True)
    rotations = np.where(norms > 1e-9, rotations / norms, np.nan)
    turned = any(name + ROTATION[0] in table.header for name in names)
    rate = _rate(table) if frame_rate is None else frame_rate
    return Trackers(names, positions, rate, rotations if turned else None, name=path.stem)


def write(data: Trackers | Markers, path: Path) -> None:
    """A table that :func:`read` takes back, as trackers; cells of what was not seen are empty."""
    trackers = Trackers(data.names, data.positions, data.frame_rate) if isinstance(data, Markers) else data
    header, blocks = ["time"], [np.arange(trackers.frames)[:, None] / trackers.frame_rate]
    for i, name in enumerate(trackers.names):
        for ends, values in ((POSITION, trackers.positions), (ROTATION, trackers.rotations)):
            if values is not None and (ends is POSITION or np.isfinite(values[:, i]).all(axis=1).any()):
                header += [name + end for end in ends]
                blocks.append(np.asarray(values[:, i]))
    rows = np.concatenate(blocks, axis=1).tolist()
    write_table(path, header, ([f"{v:.9g}" if np.isfinite(v) else "" for v in row] for row in rows))


def tracker_names(header: list[str]) -> tuple[str, ...]:
    """Trackers that the columns of a table are named after.

    >>> tracker_names(["time", "hand_x", "hand_y", "hand_z", "x"])
    ('hand',)
    """
    columns = set(header)
    stems = [name[:-2] for name in header if name.endswith("_x")]
    return tuple(stem for stem in stems if stem and all(stem + end in columns for end in POSITION))


def _block(table: Table, name: str, ends: tuple[str, ...]) -> Array:
    """Numbers `(rows, ends)` of a tracker; NaN if it lacks the columns."""
    columns = [name + end for end in ends]
    if not set(columns) <= set(table.header):
        return np.full((len(table.rows), len(ends)), np.nan)
    return table.numbers(columns, with_gaps=True)


def _rate(table: Table) -> float:
    has_times = "time" in table.header
    if not has_times or len(table.rows) < 2:
        missing = "no second row" if has_times else "no column `time`"
        message = f"cannot infer the frame rate: {missing}; give it, e.g. --from-frame-rate 60"
        raise FormatError(message, path=table.path)
    times = table.numbers(["time"])[:, 0]
    steps = np.diff(times)
    if steps.min() <= 0:
        raise table.error("the times must rise from row to row", int(np.argmax(steps <= 0)) + 1)
    if steps.max() > 1.5 * np.median(steps):
        message = "the times are not evenly spaced; write missing frames as rows with empty cells"
        raise table.error(message, int(np.argmax(steps)) + 1)
    return float((len(times) - 1) / (times[-1] - times[0]))
