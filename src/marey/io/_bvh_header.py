"""The text before a BVH file's numbers: the tree of joints, their channels, and how many frames there are.

Keywords are taken in any case and spacing; a name is the rest of its line, so it may hold blanks. The tree
is walked without recursion, so nesting is bounded by the number of joints alone. Cost: microseconds a joint.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError, InputError, MareyWarning
from marey.io._files import decoded, line_number, quoted, unique_names
from marey.io._limits import LIMITS

CHANNELS = ("Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation")

_WORD = re.compile(rb"[{}]|[^\s{}]{1,1000}")
_REST_OF_LINE = re.compile(rb"[^\r\n{]*")
_FRAMES = re.compile(rb"\s*frames[ \t]*:?[ \t]*([^\s:]+)", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"\s*frame[ \t]*time[ \t]*:?[ \t]*([^\s:]+)", re.IGNORECASE)
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CHANNEL_OF = {name.upper().encode(): name for name in CHANNELS}


@dataclass(frozen=True)
class Header:
    """What a BVH file says about its numbers; lengths as the file counts them.

    names, parents, channels: one entry per joint, in the order of the file; a root's parent is -1
    offsets: `(joints, 3)`
    end_parents, end_offsets: one entry per end site
    skipped: numbers of each row that come before those of the first joint
    columns: numbers in a row
    frames: as declared
    frame_time: the declared seconds, as written
    start, first_line: where the numbers begin, as an index into the file's bytes and as a line
    """

    names: tuple[str, ...]
    parents: NDArray[np.int64]
    offsets: NDArray[np.float64]
    channels: tuple[tuple[str, ...], ...]
    end_parents: NDArray[np.int64]
    end_offsets: NDArray[np.float64]
    skipped: int
    columns: int
    frames: int
    frame_time: str
    start: int
    first_line: int


def read_header(data: bytes, path: Path, *, root: str | None = None) -> Header:
    """The header of a BVH file; of several roots, `root` says which.

    >>> text = b"HIERARCHY ROOT a\\n{ OFFSET 0 0 0 CHANNELS 1 Xrotation } MOTION Frames: 1 Frame Time: .1"
    >>> read_header(text, Path("a.bvh")).channels
    (('Xrotation',),)
    """
    words = _Words(data, path)
    words.expect(b"HIERARCHY")
    tree = _read_tree(words)
    frames = words.number_after(_FRAMES, "Frames")
    if not frames.isdecimal():
        raise words.error(f"'Frames:' needs a whole number, found {frames!r}")
    frame_time = words.number_after(_FRAME_TIME, "Frame Time")
    if not (_NUMBER.fullmatch(frame_time.encode()) and 1e-9 < float(frame_time) < 1e9):
        raise words.error(f"'Frame Time:' needs a positive number of seconds, found {frame_time!r}")
    first, stop = tree.range_of(root, path)
    counts = [len(joint.channels) for joint in tree.joints]
    if sum(counts[first:stop]) == 0:
        raise FormatError("no joint has a channel, so there is no motion", path=path)
    joints = tree.joints[first:stop]
    ends = [end for end in tree.ends if first <= end.parent < stop]
    return Header(
        names=_renamed_apart([joint.name for joint in joints], path),
        parents=np.array([-1] + [joint.parent - first for joint in joints[1:]], dtype=np.int64),
        offsets=np.array([joint.offset for joint in joints], dtype=np.float64),
        channels=tuple(joint.channels for joint in joints),
        end_parents=np.array([end.parent - first for end in ends], dtype=np.int64),
        end_offsets=np.array([end.offset for end in ends], dtype=np.float64).reshape(-1, 3),
        skipped=sum(counts[:first]),
        columns=sum(counts),
        frames=int(frames[:18]),
        frame_time=frame_time,
        start=words.position,
        first_line=words.line(),
    )


@dataclass
class _Node:
    """A joint or an end site while it is being read."""

    name: str
    parent: int
    position: int
    offset: tuple[float, ...] | None = None
    channels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"joint {self.name!r}" if self.name else "the End Site"


class _Words:
    """A cursor over the header's words."""

    def __init__(self, data: bytes, path: Path):
        self.data, self.path = data, path
        self.position = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.word_start = self.position

    def take(self) -> bytes:
        """The next word or brace; nothing at the end."""
        found = _WORD.search(self.data, self.position)
        self.word_start, self.position = found.span() if found else (len(self.data), len(self.data))
        return found.group() if found else b""

    def expect(self, wanted: bytes) -> None:
        word = self.take()
        if word.upper() != wanted:
            raise self.error(f"expected {wanted.decode()!r}, found {_shown(word)}")

    def rest_of_line(self) -> bytes:
        """What stands before the end of the line or an opening brace."""
        found = _REST_OF_LINE.match(self.data, self.position)
        assert found is not None
        self.word_start, self.position = self.position, found.end()
        return found.group().strip()

    def number(self, what: str) -> float:
        word = self.take()
        if not _NUMBER.fullmatch(word) or not abs(float(word)) < LIMITS.length:
            raise self.error(f"{what} needs a number, found {_shown(word)}")
        return float(word)

    def number_after(self, pattern: re.Pattern[bytes], title: str) -> str:
        found = pattern.match(self.data, self.position)
        if found is None:
            word = self.take()
            raise self.error(f"expected '{title}:' and a number, found {_shown(word)}")
        self.word_start, self.position = found.start(1), found.end()
        return found.group(1)[:100].decode("latin-1")

    def line(self, position: int | None = None) -> int:
        """Line number of the last word, or of another position."""
        return line_number(self.data, self.word_start if position is None else position)

    def error(self, message: str, position: int | None = None) -> FormatError:
        return FormatError(message, path=self.path, line=self.line(position))


@dataclass(frozen=True)
class _Tree:
    joints: list[_Node]
    ends: list[_Node]

    def range_of(self, root: str | None, path: Path) -> tuple[int, int]:
        """First joint of the root's tree and the first one after it."""
        roots = [i for i, joint in enumerate(self.joints) if joint.parent < 0]
        names = [self.joints[i].name for i in roots]
        listed = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        if root is not None and root not in names:
            raise InputError(f"{path}: there is no root {root!r}; the file has {listed}")
        if root is None and len(roots) > 1:
            raise FormatError(
                f"the file has {len(roots)} roots ({listed}); "
                f"pick one: root={names[0]!r}, on the command line --root {names[0]}",
                path=path,
            )
        chosen = 0 if root is None else names.index(root)
        return roots[chosen], [*roots, len(self.joints)][chosen + 1]


def _read_tree(words: _Words) -> _Tree:
    """The hierarchy up to and with the word MOTION."""
    joints: list[_Node] = []
    ends: list[_Node] = []
    # Indices of open joints; an open end site is on top as None.
    open_nodes: list[int | None] = []
    while True:
        word = words.take()
        keyword = word.upper()
        top = open_nodes[-1] if open_nodes else -1
        node = ends[-1] if top is None else joints[top] if top >= 0 else None
        if node is None:
            if keyword == b"MOTION" and joints:
                return _Tree(joints, ends)
            if keyword != b"ROOT":
                raise words.error(
                    "the file ends before its MOTION section"
                    if not word
                    else f"expected {'ROOT' if not joints else 'ROOT or MOTION'}, found {_shown(word)}"
                )
            open_nodes.append(_open_joint(words, joints, -1))
        elif keyword == b"}":
            if node.offset is None:
                raise words.error(f"{node.title} has no OFFSET", node.position)
            open_nodes.pop()
        elif keyword == b"OFFSET":
            node.offset = tuple(words.number(f"OFFSET of {node.title}") for _ in range(3))
        elif keyword == b"CHANNELS":
            if node.channels:
                raise words.error(f"{node.title} has CHANNELS twice")
            node.channels = _read_channels(words, node)
        elif top is not None and keyword == b"JOINT":
            open_nodes.append(_open_joint(words, joints, top))
        elif top is not None and keyword in (b"END", b"ENDSITE"):
            if len(ends) == LIMITS.joints:
                raise words.error(f"more than {LIMITS.joints} end sites")
            ends.append(_Node("", top, words.word_start))
            words.rest_of_line()
            words.expect(b"{")
            open_nodes.append(None)
        elif not word or keyword == b"MOTION":
            raise words.error(
                f"{'the file ends' if not word else 'MOTION begins'} inside {node.title}, "
                f"opened on line {words.line(node.position)}: a '}}' is missing"
            )
        else:
            raise words.error(f"expected OFFSET, CHANNELS, JOINT, End Site or '}}', found {_shown(word)}")


def _open_joint(words: _Words, joints: list[_Node], parent: int) -> int:
    position = words.word_start
    name = words.rest_of_line()
    if not name:
        raise words.error("a joint has no name", position)
    if len(name) > LIMITS.name:
        raise words.error(f"a joint's name has {len(name)} bytes; at most {LIMITS.name} are read", position)
    if len(joints) == LIMITS.joints:
        raise words.error(f"more than {LIMITS.joints} joints", position)
    words.expect(b"{")
    joints.append(_Node(decoded(name), parent, position))
    return len(joints) - 1


def _read_channels(words: _Words, node: _Node) -> tuple[str, ...]:
    count = words.take()
    if not (count.isdigit() and len(count) <= 2):
        raise words.error(f"CHANNELS of {node.title} needs a small whole number, found {_shown(count)}")
    channels: list[str] = []
    for _ in range(int(count)):
        word = words.take()
        channel = _CHANNEL_OF.get(word.upper())
        if channel is None:
            raise words.error(
                f"{node.title} declares {int(count)} channels; expected one of {', '.join(CHANNELS)}, "
                f"found {_shown(word)}"
            )
        if channel in channels and channel.endswith("position"):
            raise words.error(f"{node.title} has the channel {channel} twice")
        channels.append(channel)
    if channels and not node.name:
        raise words.error("an End Site has no channels; make it a JOINT")
    return tuple(channels)


def _renamed_apart(names: list[str], path: Path) -> tuple[str, ...]:
    """The names, all different, and a warning if some were not."""
    different = unique_names(names)
    renamed = [f"{old!r} to {new!r}" for old, new in zip(names, different, strict=True) if old != new]
    if renamed:
        listed = ", ".join(renamed[:3]) + (", …" if len(renamed) > 3 else "")
        message = f"{path}: joints share a name; renamed {listed} ({len(renamed)} in all)"
        warnings.warn(MareyWarning(message), stacklevel=2)
    return tuple(different)


def _shown(word: bytes) -> str:
    return quoted(word) if word else "the end of the file"
