"""BVH, the Biovision hierarchy: a skeleton and its motion as text, in and out.

Joints may have any channels in any order; a rotation is the product of its channels' in the order given
(intrinsic), and position channels take the place of the joint's OFFSET. The file says neither its unit of
length nor which axis is up: :func:`read` guesses (see `_bvh_guesses`) unless told. Cost: about a
nanosecond a byte and 5 an angle; memory beyond the result is the file's bytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import handed_over
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, MareyWarning
from marey.geometry.convention import UNITS, Convention, UpAxis, unit_size
from marey.io._bvh_channels import channel_table
from marey.io._bvh_guesses import convention_read_back, exact_rate, guess_unit, guess_up
from marey.io._bvh_header import CHANNELS, Header, read_header
from marey.io._bvh_text import depth_first, hierarchy_text, printed_frame_time, write_table
from marey.io._files import read_bytes, write_beside
from marey.io._numbers import NumberText, parse_numbers, trimmed
from marey.io._sizes import check_poses_fit

Array = NDArray[np.float64]

# Joints that stay this close to their OFFSET, as a share of the skeleton's size, do not slide.
STAYS = 1e-6

# Numbers parsed at a time: a block that stays in the processor's cache.
BLOCK = 1 << 15


def read(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: UpAxis | None = None,
    root: str | None = None,
) -> Motion:
    """The motion in a BVH file.

    unit: of the file's lengths (`"cm"`, `"in"`, metres per unit); None: by the names of the joints (CMU) or
        the size of the figure, and cm where it is not that of a person
    up: the axis that points up; None: y, unless the rest pose and the clip clearly stand along z
    root: name of the root to read, in a file that has several

    The motion has the rows that are there: a warning says so if the file declares another number. A row
    that is too short or too long is an error, the last one too, unless the file breaks its rows into
    several lines throughout.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "arm.bvh"
    >>> _ = path.write_text('''HIERARCHY
    ... ROOT shoulder
    ... {
    ...   OFFSET 0 140 0
    ...   CHANNELS 1 Zrotation
    ...   End Site
    ...   {
    ...     OFFSET 30 0 0
    ...   }
    ... }
    ... MOTION
    ... Frames: 2
    ... Frame Time: .0333333
    ... 0
    ... 90
    ... ''')
    >>> arm = read(path)
    >>> arm.frame_rate, arm.root[0].round(6).tolist(), arm.rotations[1, 0].round(4).tolist()
    (30.0, [0.0, 1.4, 0.0], [0.7071, 0.0, 0.0, 0.7071])
    """
    path = Path(path)
    given_unit = None if unit is None else unit_size(unit)
    header, (rotations, root_path, translations) = _read_poses(path, root)
    skeleton = Skeleton(header.names, header.parents, header.offsets, header.end_parents, header.end_offsets)
    with np.errstate(all="ignore"):
        if given_unit is None:
            given_unit = guess_unit(skeleton, header.offsets if translations is None else translations[0])
        if up is None:
            up = guess_up(skeleton, rotations, root_path, translations)
    convention = Convention(unit=given_unit, up=up)
    return Motion(
        skeleton=replace(
            skeleton,
            offsets=convention.to_marey(skeleton.offsets),
            end_offsets=convention.to_marey(skeleton.end_offsets),
        ),
        rotations=handed_over(convention.rotations_to_marey(rotations)),
        root=handed_over(convention.to_marey(root_path)),
        frame_rate=exact_rate(header.frame_time),
        translations=None if translations is None else handed_over(convention.to_marey(translations)),
        convention=convention,
        channels=header.channels,
        name=path.stem,
    )


def write(
    motion: Motion, path: str | Path, *, unit: str | float | None = None, up: UpAxis | None = None
) -> None:
    """Write a motion as BVH, in the unit and with the up axis of the file it came from unless told.

    Joints keep the channels they were read with; where those cannot hold the motion (a hinge that has
    been turned otherwise, a joint that slides) they become three rotations, or positions and rotations.
    Angles run without jumps. Numbers are printed to 1e-9 m and 1e-8 degrees. The format has no place for
    the unit and the up axis: a warning says so where :func:`read` would guess others than those written.

    >>> from tempfile import mkdtemp
    >>> still = Motion(Skeleton(("hips",), [-1], [[0, 0, 0]]), [[[1, 0, 0, 0]]], [[0, 0.9, 0]], 30)
    >>> path = Path(mkdtemp()) / "still.bvh"
    >>> write(still, path, unit="cm")
    >>> path.read_text().split()[-6:]
    ['0', '90', '0', '0', '0', '0']
    """
    path = Path(path)
    convention = replace(
        motion.convention,
        unit=motion.convention.unit if unit is None else unit_size(unit),
        up=motion.convention.up if up is None else up,
    )
    with np.errstate(over="ignore"):
        channels, values = channel_table(motion, convention)
    order = depth_first(motion.skeleton)
    table = np.concatenate([values[joint] for joint in order], axis=1)
    is_angle = [channel.endswith("rotation") for joint in order for channel in channels[joint]]
    with write_beside(path) as draft, draft.open("wb") as file:
        file.write(hierarchy_text(motion.skeleton, convention, channels, order).encode())
        file.write(f"MOTION\nFrames: {motion.frames}\n".encode())
        file.write(f"Frame Time: {printed_frame_time(motion.frame_rate)}\n".encode())
        write_table(file, table, is_angle, convention.unit)
    _warn_if_misread(motion, convention, path)


def _warn_if_misread(motion: Motion, convention: Convention, path: Path) -> None:
    with np.errstate(all="ignore"):
        guessed = convention_read_back(motion, convention)
    unit = convention.unit_name if convention.unit_name in UNITS else f"{convention.unit:.9g}"
    hints = []
    if not np.isclose(guessed.unit, convention.unit, rtol=1e-6):
        hints.append(f"unit={unit!r} (--from-unit {unit}), not {guessed.unit_name}")
    if guessed.up != convention.up:
        hints.append(f"up={convention.up!r} (--from-up {convention.up}), not {guessed.up}")
    if hints:
        message = f"{path}: BVH does not say how it measures; read this file with {' and '.join(hints)}"
        warnings.warn(MareyWarning(message), stacklevel=3)


class _Poses(NamedTuple):
    """In the file's units; `translations` if a joint slides."""

    rotations: Array
    root: Array
    translations: Array | None


def _read_poses(path: Path, root: str | None) -> tuple[Header, _Poses]:
    data = read_bytes(path)
    header = read_header(data, path, root=root)
    text = memoryview(data)[header.start :]
    check_poses_fit(len(text) // (2 * header.columns) + 1, len(header.names), path)
    try:
        poses = _poses(header, lambda: NumberText(text, path=path, first_line=header.first_line))
    except FormatError:
        if not _breaks_rows(text, header):
            raise
        numbers = parse_numbers(text, path=path, first_line=header.first_line)
        poses = _poses(header, lambda: numbers.reshape(-1, header.columns))
    frames = len(poses.root)
    if frames == 0:
        raise FormatError("no frame follows 'Frame Time:'", path=path, line=header.first_line)
    if frames != header.frames:
        message = f"{path}: declares {header.frames} frames and has {frames}; all {frames} were read"
        warnings.warn(MareyWarning(message), stacklevel=4)
    return header, poses


def _poses(header: Header, table: Callable[[], NumberText | Array], *, slides: bool = False) -> _Poses:
    """Poses from a file's table of numbers, which is gone through again if a joint turns out to slide."""
    from marey.io._bvh_kernels import pose

    codes = np.zeros(header.columns, dtype=np.int64)
    starts = header.skipped + np.cumsum([0, *map(len, header.channels)])
    codes[starts[0] : starts[-1]] = [CHANNELS.index(c) for channels in header.channels for c in channels]
    tolerance = STAYS * float(np.linalg.norm(header.offsets, axis=1).max())

    source = table()
    capacity = source.most_rows(header.columns) if isinstance(source, NumberText) else len(source)
    joints = len(header.names)
    rotations, root = np.empty((capacity, joints, 4)), np.empty((capacity, 3))
    translations = np.empty((capacity if slides else 0, joints, 3))
    frames = 0
    for rows in _blocks(source, header.columns):
        moved = pose(rows, frames, starts, codes, header.offsets, tolerance, rotations, root, translations)
        if moved and not slides:
            del rotations, root
            return _poses(header, table, slides=True)
        frames += len(rows)
    return _Poses(
        trimmed(rotations, frames),
        trimmed(root, frames),
        trimmed(translations, frames) if slides else None,
    )


def _blocks(source: NumberText | Array, columns: int) -> Iterator[Array]:
    if isinstance(source, NumberText):
        block = np.empty((max(1, BLOCK // columns), columns))
        while count := source.fill(block.reshape(-1), columns):
            yield block[: count // columns]
    elif len(source):
        yield source


def _breaks_rows(text: memoryview, header: Header) -> bool:
    """Whether the file breaks its rows into several lines, or joins them, and still holds what it declares.

    Either each frame begins on a new line, or no line is as long as a frame; else a number is missing in
    one row and too many in another.
    """
    from marey.io._bvh_kernels import layout

    count, frames_begin_lines, some_line_is_a_frame = layout(np.frombuffer(text, np.uint8), header.columns)
    declared = header.frames * header.columns
    return count == declared and (frames_begin_lines or not some_line_is_a_frame)
