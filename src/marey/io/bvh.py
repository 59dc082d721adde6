"""BVH, the Biovision hierarchy: a skeleton and its motion as text, in and out.

Joints may have any channels in any order; a rotation is the product of its channels' in the order given
(intrinsic), and position channels take the place of the joint's OFFSET. The file says neither its unit of
length nor which axis is up: :func:`read` infers both (:func:`infer_unit`, :func:`infer_up`) unless they are
given. Cost: about a nanosecond a byte and 5 an angle; memory beyond the result is the file's bytes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from marey._arrays import Array, IntArray, read_only
from marey.body.kinematics import global_frames
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.convention import CMU_UNIT, UNITS, Convention, UpAxis, unit_size
from marey.io._bvh_header import CHANNELS, Header, read_header
from marey.io._bvh_write import channel_table, depth_first, hierarchy_text, write_table
from marey.io._files import atomic_write, check_poses_fit, read_bytes
from marey.io._numbers import NumberText, parse_numbers, parse_small_table, trimmed

# Joints that stay this close to their OFFSET, as a share of the skeleton's size, do not slide.
STAYS = 1e-6

# Numbers parsed at a time: a block that stays in the processor's cache.
BLOCK = 1 << 15

# So many numbers are turned into poses sooner than a kernel is loaded, let alone compiled.
FEW = 1 << 17

# The joints that only the skeletons of the CMU database have, in its ASF and in its BVH files.
CMU_JOINTS = {"lhipjoint", "rhipjoint", "lowerback"}

# A grown or half-grown person, metres. No two of the units below put one figure into it.
STATURES = (1.0, 2.2)
HUMAN_UNITS = ("m", "dm", "cm", "mm", "in")

# Stature over the longest chain of bones, hand to foot: 0.66-0.75 on rigs with hands and feet.
STATURE_OF_SPAN = 0.7

# How much longer than wide a figure must be along z to stand along it.
CLEARLY = 1.5

# How near the lowest joint of a figure on the floor is to it, as a share of the figure's height.
ON_FLOOR = 0.06

# Places of joints this short, as a share of their OFFSETs, are counted from these.
COUNTED_FROM_OFFSETS = 0.05
USUAL_RATES = (10, 12, 15, 20, 24, 25, 30, 40, 48, 50, 60, 72, 75, 90, 100, 120, 125, 144, 150, 180, 200)
FAST_RATES = (240, 250, 300, 360, 400, 480, 500, 600, 1000)
BROADCAST_RATES = tuple(rate * 1000 / 1001 for rate in (24, 30, 48, 60, 120, 240))


def read(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: UpAxis | None = None,
    root: str | None = None,
) -> Motion:
    """The motion in a BVH file.

    unit: of the file's lengths (`"cm"`, `"in"`, metres per unit); None: by the names of the joints (CMU) or
        the size of the figure; cm, with a warning, where it is not that of a person
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
            found = infer_unit(skeleton, header.offsets if translations is None else translations[0])
            given_unit = found or UNITS["cm"]
            if found is None:
                message = "in no unit is this figure as tall as a person: centimetres are assumed"
                warnings.warn(MareyWarning(f"{path}: {message}; else give unit= (--from-unit)"), stacklevel=2)
        if up is None:
            up = infer_up(skeleton, rotations, root_path, translations)
    convention = Convention(unit=given_unit, up=up)
    return Motion(
        skeleton=replace(
            skeleton,
            offsets=convention.to_marey(skeleton.offsets),
            end_offsets=convention.to_marey(skeleton.end_offsets),
        ),
        rotations=read_only(convention.rotations_to_marey(rotations)),
        root=read_only(convention.to_marey(root_path)),
        frame_rate=snap_frame_rate(header.frame_time),
        translations=None if translations is None else read_only(convention.to_marey(translations)),
        convention=convention,
        channels=header.channels,
        name=path.stem,
    )


def write(
    motion: Motion, path: str | Path, *, unit: str | float | None = None, up: UpAxis | None = None
) -> None:
    """Write a motion as BVH, in the unit and with the up axis of the file it came from unless they are given.

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
    with atomic_write(path) as draft, draft.open("wb") as file:
        file.write(hierarchy_text(motion.skeleton, convention, channels, order).encode())
        file.write(f"MOTION\nFrames: {motion.frames}\n".encode())
        file.write(f"Frame Time: {printed_frame_time(motion.frame_rate)}\n".encode())
        write_table(file, table, is_angle, convention.unit)
    _warn_if_misread(motion, convention, path)


def _warn_if_misread(motion: Motion, convention: Convention, path: Path) -> None:
    """Warn if our reader would take another convention for that of the file."""
    some = motion[:: -(-motion.frames // 32)]
    offsets = convention.from_marey(some.skeleton.offsets)
    end_offsets = convention.from_marey(some.skeleton.end_offsets)
    skeleton = replace(some.skeleton, offsets=offsets, end_offsets=end_offsets)
    slid = None if some.translations is None else convention.from_marey(some.translations)
    rotations = convention.rotations_from_marey(some.rotations.astype(np.float64))
    with np.errstate(all="ignore"):
        inferred = Convention(
            infer_unit(skeleton, offsets if slid is None else slid[0]) or UNITS["cm"],
            infer_up(skeleton, rotations, convention.from_marey(some.root), slid),
        )
    unit = convention.unit_name if convention.unit_name in UNITS else f"{convention.unit:.9g}"
    hints = []
    if not np.isclose(inferred.unit, convention.unit, rtol=1e-6):
        hints.append(f"unit={unit!r} (--from-unit {unit}), not {inferred.unit_name}")
    if inferred.up != convention.up:
        hints.append(f"up={convention.up!r} (--from-up {convention.up}), not {inferred.up}")
    if hints:
        message = f"{path}: BVH stores no unit and no up axis; read it back with {' and '.join(hints)}"
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
    small = parse_small_table(text, header.columns)
    try:
        read_text = partial(NumberText, text, path=path, first_line=header.first_line)
        poses = _poses(header, read_text if small is None else lambda: small)
    except FormatError:
        if not _breaks_rows(text, header):
            raise
        numbers = parse_numbers(text, path=path, first_line=header.first_line)
        poses = _poses(header, lambda: numbers.reshape(-1, header.columns))
    frames = len(poses.root)
    if frames == 0:
        raise FormatError("no frame follows 'Frame Time:'", path=path, line=header.first_line)
    _count_from_parents(header, poses.translations, path)
    if frames != header.frames:
        message = f"{path}: declares {header.frames} frames and has {frames}; all {frames} were read"
        warnings.warn(MareyWarning(message), stacklevel=4)
    return header, poses


def _poses(header: Header, table: Callable[[], NumberText | Array], *, slides: bool = False) -> _Poses:
    """Poses from a file's table of numbers, which is gone through again if a joint turns out to slide."""
    codes = np.zeros(header.columns, dtype=np.int64)
    starts = header.skipped + np.cumsum([0, *map(len, header.channels)])
    codes[starts[0] : starts[-1]] = [CHANNELS.index(c) for channels in header.channels for c in channels]
    tolerance = STAYS * float(np.linalg.norm(header.offsets, axis=1).max())

    source = table()
    if not isinstance(source, NumberText) and source.size <= FEW:
        return _few_poses(header, source, starts, codes, tolerance)
    from marey.io._bvh_kernels import pose

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


def _count_from_parents(header: Header, translations: Array | None, path: Path) -> None:
    """Add the OFFSETs to places that are counted from these, as in poses of MakeHuman; in place."""
    if translations is None:
        return
    joints = [joint for joint, names in enumerate(header.channels) if joint and "Xposition" in names]
    farthest = sum(float(np.abs(translations[:, joint]).max()) for joint in joints)
    if farthest < COUNTED_FROM_OFFSETS * np.linalg.norm(header.offsets[joints], axis=1).sum():
        translations[:, joints] += header.offsets[joints]
        message = (
            f"{path}: the places of its joints are all near 0; they are read as counted from the OFFSETs"
        )
        warnings.warn(MareyWarning(message), stacklevel=5)


def _few_poses(header: Header, table: Array, starts: IntArray, codes: IntArray, tolerance: float) -> _Poses:
    """As the kernel `pose` has them, to rounding, by NumPy: nothing is compiled."""
    # Whole half turns are exact.
    turns = np.rint(np.fmod(table, 720.0) / 180.0)
    angles = np.radians(np.fmod(table, 720.0) - 180.0 * turns) / 2
    quarter = np.array([1, 1j, -1, -1j])[np.mod(turns, 4).astype(np.int64)]
    half = quarter * (np.cos(angles) + 1j * np.sin(angles))
    joints = len(header.names)
    rotations = np.empty((len(table), joints, 4))
    places = np.broadcast_to(header.offsets, (len(table), joints, 3)).copy()
    for joint in range(joints):
        q = np.zeros((len(table), 4))
        q[:, 0] = 1.0
        for column in range(starts[joint], starts[joint + 1]):
            code = codes[column]
            if code < 3:
                places[:, joint, code] = table[:, column]
            else:
                turn = np.zeros((len(table), 4))
                turn[:, 0], turn[:, code - 2] = half[:, column].real, half[:, column].imag
                q = so3.multiply(q, turn)
        sides = np.where(np.einsum("fi,fi->f", q[1:], q[:-1]) < 0.0, -1.0, 1.0)
        rotations[:, joint] = q * np.append(1.0, np.cumprod(sides))[: len(q), None]
    slides = (np.abs(places - header.offsets)[:, 1:] > tolerance).any()
    return _Poses(rotations, places[:, 0].copy(), places if slides else None)


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
    lines = re.finditer(rb"[^\r\n]*[^\s][^\r\n]*", text)
    counts = np.fromiter((len(line[0].split()) for line in lines), np.int64)
    begin_frames = (np.cumsum(counts) - counts) % header.columns == 0
    declared = header.frames * header.columns
    return bool(
        counts.sum() == declared
        and (begin_frames.sum() == header.frames or not (counts == header.columns).any())
    )


def infer_unit(skeleton: Skeleton, positions: Array) -> float | None:
    """Metres per unit of a file, from the names of its joints or the size of its figure.

    A CMU rig counts in CMU's own unit. Otherwise it is the unit (m, dm, cm, mm or in) in which the figure is
    as tall as a person; None where none is: a hand, a mug.

    positions: `(joints, 3)`, of the joints in their parents' frames, in the file's unit
    """
    stature = STATURE_OF_SPAN * longest_chain(skeleton, positions)
    if {name.lower() for name in skeleton.names} >= CMU_JOINTS and 0.8 <= stature * CMU_UNIT <= 2.5:
        return CMU_UNIT
    fitting = [UNITS[u] for u in HUMAN_UNITS if STATURES[0] <= stature * UNITS[u] <= STATURES[1]]
    return fitting[0] if fitting else None


def infer_up(skeleton: Skeleton, rotations: Array, root: Array, translations: Array | None) -> UpAxis:
    """z if the typical pose stands along z, clearly so, and the rest pose does or the floor is z = 0; else y.

    The typical pose alone is not enough: a crawling or lying figure of a y-up file is long along z too, but
    on the floor y = 0. Joints above the first one that branches are left out: they carry the figure, from
    anywhere.
    """
    top = int(np.argmax(np.bincount(skeleton.parents[1:], minlength=1) > 1))
    some = slice(None, None, -(-len(root) // 32))
    slid = None if translations is None else translations[some]
    pose = global_frames(skeleton.parents, skeleton.offsets, rotations[some], root[some], translations=slid)
    figure = pose.positions[:, top:]
    if not _clearly_along_z(figure):
        return "y"
    _, above_y, above_z = np.abs(np.median(figure.min(axis=1), axis=0)) / np.median(
        np.ptp(figure[..., 2], axis=1)
    )
    stands = above_z < ON_FLOOR < above_y
    return "z" if stands or _clearly_along_z(skeleton.rest_positions()[None, top:]) else "y"


def snap_frame_rate(frame_time: str) -> float:
    """Frames per second of a printed frame time: a usual or whole rate where the printed digits allow it.

    >>> snap_frame_rate(".0083333"), snap_frame_rate("0.033333"), round(snap_frame_rate("0.0333667"), 6)
    (120.0, 30.0, 29.97003)
    """
    seconds = float(frame_time)
    last_digit = float(Decimal(frame_time).as_tuple().exponent)
    # Digits may be cut off instead of rounded; some files print all digits of a 32-bit float.
    doubt = max(10.0 ** min(last_digit, 0.0), 6e-8 * seconds)
    for rates, share in (
        (USUAL_RATES + FAST_RATES, 1.0),
        ((round(1 / seconds),), 0.5),
        (BROADCAST_RATES, 0.5),
    ):
        errors = [abs(1 / rate - seconds) if rate else np.inf for rate in rates]
        best = int(np.argmin(errors))
        if errors[best] <= share * doubt and errors[best] < 0.05 * seconds:
            return float(rates[best])
    return 1.0 / seconds


def printed_frame_time(frame_rate: float) -> str:
    """Seconds a frame, with as many digits as the reader needs to find the rate again.

    >>> printed_frame_time(120.0)
    '0.0083333333'
    """
    for decimals in range(10, 18):
        text = f"{1 / frame_rate:.{decimals}f}"
        if float(text) > 0 and abs(snap_frame_rate(text) - frame_rate) <= 1e-12 * frame_rate:
            return text
    return repr(1 / frame_rate)


def longest_chain(skeleton: Skeleton, positions: Array) -> float:
    """Length of the longest chain of bones from one end to another: the same in every pose."""
    lengths = np.linalg.norm(positions, axis=1).tolist()
    ends: dict[int, list[float]] = {}
    for joint, length in zip(skeleton.end_parents.tolist(), np.linalg.norm(skeleton.end_offsets, axis=1)):
        ends.setdefault(joint, []).append(float(length))
    longest = 0.0
    # The longest branch below each joint; none yet.
    reach = [-np.inf] * skeleton.joints
    for joint in range(skeleton.joints - 1, -1, -1):
        for branch in ends.get(joint, []):
            longest = max(longest, reach[joint] + branch)
            reach[joint] = max(reach[joint], branch)
        parent = int(skeleton.parents[joint])
        if parent >= 0:
            branch = max(reach[joint], 0.0) + lengths[joint]
            longest = max(longest, reach[parent] + branch)
            reach[parent] = max(reach[parent], branch)
    return longest


def _clearly_along_z(positions: Array) -> bool:
    """Whether the typical pose of `(frames, joints, 3)` is much longer along z than along y."""
    _, along_y, along_z = np.median(np.ptp(positions, axis=1), axis=0)
    return bool(along_z > CLEARLY * along_y)
