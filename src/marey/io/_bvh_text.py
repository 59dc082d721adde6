"""The text of a BVH file: its hierarchy, its frame time and its table of numbers.

Numbers are rounded to a fixed number of decimals by a compiled loop, about 20 ns each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry.convention import Convention
from marey.io._bvh_guesses import exact_rate
from marey.io._bvh_header import LONGEST_NAME
from marey.io._text import all_different

Array = NDArray[np.float64]

ANGLE_DECIMALS = 8
# Positions to a billionth of a metre.
LENGTH_DECIMALS = 9

# Deeper lines are not indented further: a chain of thousands would otherwise be mostly tabs.
DEEPEST_INDENT = 60

# Numbers turned into text at a time.
BLOCK = 1 << 16


def depth_first(skeleton: Skeleton) -> list[int]:
    """Joints in the order in which a BVH file lists them."""
    children: list[list[int]] = [[] for _ in range(skeleton.joints)]
    for joint in range(1, skeleton.joints):
        children[int(skeleton.parents[joint])].append(joint)
    order, waiting = [], [0]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting.extend(reversed(children[joint]))
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


def printed_frame_time(frame_rate: float) -> str:
    """Seconds a frame, with as many digits as the reader needs to find the rate again.

    >>> printed_frame_time(120.0)
    '0.0083333333'
    """
    for decimals in range(10, 18):
        text = f"{1 / frame_rate:.{decimals}f}"
        if float(text) > 0 and abs(exact_rate(text) - frame_rate) <= 1e-12 * frame_rate:
            return text
    return repr(1 / frame_rate)


def write_table(file: BinaryIO, table: Array, is_angle: Sequence[bool], unit: float) -> None:
    """`table` as text, one row a line."""
    if not np.isfinite(table).all():
        raise InputError(
            f"the motion is too large to be written in units of {unit:g} m; choose a larger unit"
        )
    lengths = min(max(math.ceil(LENGTH_DECIMALS + math.log10(unit)), 3), 15)
    decimals = np.where(is_angle, ANGLE_DECIMALS, lengths).astype(np.int64)
    if (np.abs(table).max(axis=0) >= 9e18 / 10.0**decimals).any():
        for row in table.tolist():
            file.write((" ".join(map(repr, row)) + "\n").encode())
        return
    from marey.io._bvh_kernels import write_rows

    rows = max(1, BLOCK // table.shape[1])
    out = np.empty(24 * rows * table.shape[1], dtype=np.uint8)
    for start in range(0, len(table), rows):
        size = write_rows(table[start : start + rows], decimals, out)
        file.write(out[:size].data)


def _indent(depth: int) -> str:
    return "\t" * min(depth, DEEPEST_INDENT)


def _offset_line(offset: Sequence[float]) -> str:
    return "OFFSET " + " ".join(f"{value + 0.0:.12g}" for value in offset)


def _printable(names: Sequence[str]) -> list[str]:
    """Names that survive a line of a BVH file, still all different."""
    printable = []
    for name in names:
        plain = "".join("_" if c in "{}" or ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 else c for c in name)
        printable.append(plain.encode()[: LONGEST_NAME - 20].decode(errors="ignore").strip() or "joint")
    return all_different(printable)
