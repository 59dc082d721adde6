"""What the BVH writer prints: which channels each joint needs, their values, and the text of the file.

Hinges and two-axis joints are solved in closed form from the quaternion's products of half angles and
checked against it, so that a joint keeps few channels only if they hold its motion. Numbers are rounded to
a fixed number of decimals, about 200 ns each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import BinaryIO

import msgspec
import numpy as np

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry.convention import Convention
from marey.geometry.matrices import ORDERS, to_euler, unwrap_euler
from marey.io._bvh_header import CHANNELS
from marey.io._files import unique_names
from marey.io._limits import LIMITS

Channels = tuple[str, ...]
POSITIONS = CHANNELS[:3]
ROTATIONS = ("Zrotation", "Yrotation", "Xrotation")

# What may be lost: radians between a rotation and its channels, metres between a joint and its OFFSET.
ANGLE_TOLERANCE = 1e-9
LENGTH_TOLERANCE = 1e-9
ANGLE_DECIMALS = 8

# Positions to a billionth of a metre.
LENGTH_DECIMALS = 9

# Deeper lines are not indented further: a chain of thousands would otherwise be mostly tabs.
DEEPEST_INDENT = 60

# Numbers turned into text at a time.
BLOCK = 1 << 16


def channel_table(motion: Motion, convention: Convention) -> tuple[list[Channels], list[Array]]:
    """Channels of each joint and their values `(frames, channels)`, degrees and the convention's lengths.

    The channels are the motion's own where they can hold it. Without any, the root has six, the others
    three, or six where the motion has translations.
    """
    rotations = convention.rotations_from_marey(np.asarray(motion.rotations, dtype=np.float64))
    offsets = convention.from_marey(motion.skeleton.offsets)
    paths: list[Array | None] = [None] * motion.joints
    if motion.translations is not None:
        paths = list(np.moveaxis(convention.from_marey(motion.translations), 1, 0))
    paths[0] = convention.from_marey(motion.root)

    wanted = _wanted_channels(motion)
    position_channels = [
        _position_channels(wanted[j], paths[j], offsets[j], LENGTH_TOLERANCE / convention.unit)
        for j in range(motion.joints)
    ]
    if not any(wanted) and not any(position_channels):
        position_channels[0] = POSITIONS
    orders, angles = _angles(rotations, [_order(channels) for channels in wanted])

    channels = [_layout(*three) for three in zip(wanted, position_channels, orders, strict=True)]
    tables = []
    for own, turns, path, offset in zip(channels, angles, paths, offsets, strict=True):
        places = np.tile(offset, (motion.frames, 1)) if path is None else path
        turned = iter(turns.T)
        columns = [next(turned) if c.endswith("rotation") else places[:, POSITIONS.index(c)] for c in own]
        tables.append(np.stack(columns, axis=1) if columns else np.empty((motion.frames, 0)))
    return channels, tables


def _wanted_channels(motion: Motion) -> list[Channels]:
    if motion.channels is None:
        slides = motion.translations is not None
        return [(*POSITIONS, *ROTATIONS) if j == 0 or slides else ROTATIONS for j in range(motion.joints)]
    known = {name.upper(): name for name in CHANNELS}
    wanted = []
    for name, channels in zip(motion.skeleton.names, motion.channels, strict=True):
        unknown = [channel for channel in channels if channel.upper() not in known]
        if unknown:
            raise InputError(
                f"channels of joint {name!r}: unknown {unknown[0]!r}; choose from {', '.join(CHANNELS)}"
            )
        wanted.append(tuple(known[channel.upper()] for channel in channels))
    return wanted


def _order(channels: Channels) -> str:
    """The axes of the rotation channels, e.g. 'ZYX'."""
    return "".join(channel[0] for channel in channels if channel.endswith("rotation"))


def _position_channels(wanted: Channels, path: Array | None, offset: Array, tolerance: float) -> Channels:
    """The position channels a joint has, or all three if it moves along an axis that has none."""
    own = tuple(dict.fromkeys(channel for channel in wanted if channel in POSITIONS))
    if path is None:
        return own
    moves = np.abs(path - offset).max(axis=0) > tolerance
    lacks = any(moves[axis] and POSITIONS[axis] not in own for axis in range(3))
    return POSITIONS if lacks else own


def _layout(wanted: Channels, positions: Channels, order: str) -> Channels:
    """The channels in the order they were wanted; where others are needed, positions come first."""
    rotations = tuple(f"{letter}rotation" for letter in order)
    if order == _order(wanted) and positions == tuple(c for c in wanted if c in POSITIONS):
        return wanted
    return (*positions, *rotations)


def _angles(rotations: Array, orders: Sequence[str]) -> tuple[list[str], list[Array]]:
    """Orders that can hold the rotations, each as wanted or completed, and the angles in degrees."""
    resolved_orders = list(orders)
    angles: list[Array] = [np.empty(0)] * len(resolved_orders)
    for joint, order in enumerate(orders):
        if order in ORDERS:
            continue
        few = _few_angles(rotations[:, joint], order)
        if few is None:
            resolved_orders[joint] = "".join(dict.fromkeys(order + "ZYX"))
        else:
            angles[joint] = np.degrees(np.unwrap(few, axis=0))
    for order in sorted({order for order in resolved_orders if order in ORDERS}):
        joints = [j for j, other in enumerate(resolved_orders) if other == order]
        turned = np.degrees(unwrap_euler(to_euler(rotations[:, joints], order), order))
        for column, joint in enumerate(joints):
            angles[joint] = turned[:, column]
    return resolved_orders, angles


def _few_angles(q: Array, order: str) -> Array | None:
    """Angles `(frames, len(order))` of fewer than three axes, or None if they do not give `q`.

    With half angles, q = (cos a cos b, sin a cos b, cos a sin b, ± sin a sin b) for two axes.
    """
    if len(order) > 2 or len(set(order)) < len(order):
        return None
    axes = [1 + "XYZ".index(letter) for letter in order]
    rest = [axis for axis in (1, 2, 3) if axis not in axes]
    if len(axes) < 2:
        if np.abs(q[:, rest]).max() > ANGLE_TOLERANCE:
            return None
        return (
            np.stack([2.0 * np.arctan2(q[:, axis], q[:, 0]) for axis in axes], axis=1) if axes else q[:, :0]
        )
    sign = 1.0 if (axes[1] - axes[0]) % 3 == 1 else -1.0
    w, x, y, z = q[:, 0], q[:, axes[0]], q[:, axes[1]], sign * q[:, rest[0]]
    first_is_clear = np.hypot(w, x) >= np.hypot(y, z)
    first = np.where(first_is_clear, np.arctan2(x, w), np.arctan2(z, y))
    c, s = np.cos(first), np.sin(first)
    second = np.arctan2(y * c + z * s, w * c + x * s)
    cb, sb = np.cos(second), np.sin(second)
    misses = np.abs([c * cb - w, s * cb - x, c * sb - y, s * sb - z]).max()
    return None if misses > ANGLE_TOLERANCE else 2.0 * np.stack([first, second], axis=1)


def depth_first(skeleton: Skeleton) -> list[int]:
    """Joints in the order in which a BVH file lists them."""
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(skeleton.children(order[-1])))
    return order


def hierarchy_text(
    skeleton: Skeleton, convention: Convention, channels: Sequence[tuple[str, ...]], order: Sequence[int]
) -> str:
    """The HIERARCHY section; `order` is that of :func:`depth_first`."""
    names = _printable(skeleton.names)
    offsets = convention.from_marey(skeleton.offsets).tolist()
    ends: dict[int, list[list[float]]] = {}
    for joint, offset in zip(skeleton.end_parents.tolist(), convention.from_marey(skeleton.end_offsets)):
        ends.setdefault(joint, []).append(offset.tolist())

    lines = ["HIERARCHY"]
    depths = [0] * skeleton.joints
    open_depth = -1
    for joint in order:
        parent = int(skeleton.parents[joint])
        depth = depths[joint] = depths[parent] + 1 if parent >= 0 else 0
        lines += [_indent(d) + "}" for d in range(open_depth, depth - 1, -1)]
        open_depth = depth
        inner = _indent(depth + 1)
        lines += [_indent(depth) + ("JOINT " if depth else "ROOT ") + names[joint], _indent(depth) + "{"]
        lines.append(inner + _offset_line(offsets[joint]))
        lines.append(inner + " ".join(["CHANNELS", str(len(channels[joint])), *channels[joint]]))
        for offset in ends.get(joint, []):
            lines += [inner + "End Site", inner + "{", inner + "\t" + _offset_line(offset), inner + "}"]
    lines += [_indent(d) + "}" for d in range(open_depth, -1, -1)]
    return "\n".join(lines) + "\n"


def write_table(file: BinaryIO, table: Array, is_angle: Sequence[bool], unit: float) -> None:
    """`table` as text, one row a line."""
    if not np.isfinite(table).all():
        raise InputError(
            f"the motion is too large to be written in units of {unit:g} m; choose a larger unit"
        )
    lengths = min(max(math.ceil(LENGTH_DECIMALS + math.log10(unit)), 3), 15)
    # Rounded to these decimals, the shortest text shows them all; huge numbers have none to round.
    huge = np.abs(table).max() >= 1e8
    encoder, blanks = msgspec.json.Encoder(), bytes.maketrans(b",", b" ")
    for rows in np.array_split(table, 1 + table.size // BLOCK):
        rounded = rows if huge else np.where(is_angle, rows.round(ANGLE_DECIMALS), rows.round(lengths)) + 0.0
        text = encoder.encode_lines(rounded.tolist()).replace(b".0,", b",").replace(b".0]", b"]")
        file.write(text.translate(blanks, b"[]"))


def _indent(depth: int) -> str:
    return "\t" * min(depth, DEEPEST_INDENT)


def _offset_line(offset: Sequence[float]) -> str:
    return "OFFSET " + " ".join(f"{value + 0.0:.12g}" for value in offset)


def _printable(names: Sequence[str]) -> list[str]:
    """Names that survive a line of a BVH file, still all different."""
    printable = []
    for name in names:
        plain = "".join("_" if c in "{}" or ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 else c for c in name)
        printable.append(plain.encode()[: LIMITS.name - 20].decode(errors="ignore").strip() or "joint")
    return unique_names(printable)
