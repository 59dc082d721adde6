"""What a compressed clip holds besides the motion: skeleton, rate, unit, axes, channels, name.

JSON, deflated with a dictionary of the joint trees of known tools and databases: some 170 bytes for a human
figure, most of them its bone lengths. Reading trusts nothing: whatever is no header raises
:class:`FormatError`. Cost: under a millisecond.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import cycle, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marey._arrays import FloatArray, checked_rate, derived
from marey._report import Displayed
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError, MareyError
from marey.geometry.convention import Convention

# Bytes of text, unpacked: joint names and offsets of ten thousand joints.
LONGEST_TEXT = 1 << 20
# Metres: a joint whose position in its parent's frame varies by less does not slide.
STILL = 1e-4


@dataclass(frozen=True)
class Header:
    """What a compressed clip holds besides the motion.

    Args:
        skeleton, frame_rate, convention, channels, name: as in :class:`Motion`.
        frames: number of frames.
        quantum: metres that offsets of the skeleton are multiples of; None if they have all digits.
        sliding: joints whose position varies: the root, then those that slide in their parent's frame.
        content: what the codec needs to read the payload; JSON.
    """

    skeleton: Skeleton
    frames: int
    frame_rate: float
    convention: Convention = field(default_factory=Convention)
    channels: tuple[tuple[str, ...], ...] | None = None
    name: str = ""
    quantum: float | None = None
    sliding: tuple[int, ...] = (0,)
    content: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(motion: Motion, *, quantum: float | None = None, still: float = STILL) -> Header:
        """The header of a clip.

        Args:
            motion: the clip; translations of joints that do not slide become their offsets.
            quantum: metres; offsets are rounded to multiples of it. None keeps all digits.
            still: metres, joints whose position varies by less do not slide.

        >>> import marey
        >>> header = Header.of(marey.samples.walk(), quantum=0.0005)
        >>> data = pack_header(header)
        >>> again, rest = unpack_header(data + b"motion")
        >>> len(data) < 200, again.skeleton.names == header.skeleton.names, rest
        (True, True, b'motion')
        """
        if quantum is not None and not (np.isfinite(quantum) and quantum > 0):
            raise InputError(f"quantum: must be positive and finite, got {quantum}")
        skeleton, sliding = motion.skeleton, [0]
        offsets = skeleton.offsets
        if motion.translations is not None:
            least, most = motion.translations.min(axis=0), motion.translations.max(axis=0)
            slides = (most - least).max(axis=1) > still
            slides[0] = True
            sliding = np.flatnonzero(slides).tolist()
            offsets = np.where(slides[:, None], offsets, (least + most) / 2)
        ends = skeleton.end_offsets
        if quantum is not None:
            offsets, ends = (np.rint(points / quantum) * quantum for points in (offsets, ends))
        skeleton = Skeleton(skeleton.names, skeleton.parents, offsets, skeleton.end_parents, ends)
        written = motion.convention, motion.channels, motion.name
        return Header(skeleton, motion.frames, motion.frame_rate, *written, quantum, tuple(sliding))

    def motion(
        self, rotations: FloatArray, positions: FloatArray, *, frame_rate: float | None = None
    ) -> Motion:
        """A clip of this figure.

        Args:
            rotations: `(frames, joints, 4)`.
            positions: `(frames, sliding, 3)`, metres, of the joints that slide, the root first.
            frame_rate: frames a second; that of the clip if None.
        """
        translations = None
        if len(self.sliding) > 1:
            translations = np.tile(self.skeleton.offsets, (len(positions), 1, 1))
            translations[:, self.sliding] = positions
        rate, as_written = frame_rate or self.frame_rate, (translations, self.convention, self.channels)
        return Motion(self.skeleton, rotations, positions[:, 0], rate, *as_written, name=self.name)

    def with_content(self, **content: object) -> Header:
        """The header with what a codec needs to read its payload."""
        return replace(self, content=content)


class Headed(Displayed):
    """Base of the compressed clips, which have a `header`."""

    header: Header

    @property
    def skeleton(self) -> Skeleton:
        """The joints, as they will be decoded."""
        return self.header.skeleton

    frames = derived(int, "header.frames", "Number of frames.")

    frame_rate = derived(float, "header.frame_rate", "Frames a second.")


def pack_header(header: Header) -> bytes:
    """The header in few bytes; they end by themselves, so that the payload may follow."""
    text = _text(header).encode()
    if len(text) > LONGEST_TEXT:
        raise InputError(f"a skeleton of {len(text)} bytes is too large to be stored, at most {LONGEST_TEXT}")
    # Filtered: short matches cost more than the digits of bone lengths.
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 8, zlib.Z_FILTERED, _dictionary())
    return packer.compress(text) + packer.flush()


def unpack_header(data: bytes) -> tuple[Header, bytes]:
    """Inverse of :func:`pack_header`: the header, and what follows it."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_dictionary())
    try:
        text = unpacker.decompress(data, LONGEST_TEXT + 1)
        if not unpacker.eof:
            raise FormatError("the compressed clip is damaged: its header does not unpack")
        return _header(json.loads(text)), unpacker.unused_data
    except FormatError:
        raise
    except (zlib.error, MareyError, ValueError, TypeError, LookupError, RecursionError, OverflowError) as bad:
        raise FormatError(f"the compressed clip is damaged: no header ({bad})") from bad


def whole(value: object, least: int = 0) -> int:
    """A whole number out of a header, `least` or more; anything else is a :class:`FormatError`."""
    if type(value) is not int or value < least:
        raise FormatError(f"the compressed clip is damaged: {value!r} where a whole number belongs")
    return value


def _text(header: Header) -> str:
    skeleton, quantum = header.skeleton, header.quantum
    points = np.concatenate([skeleton.offsets, skeleton.end_offsets]).ravel()
    offsets = points if quantum is None else [int(number) for number in np.rint(points / quantum)]
    runs = [(words, len(list(run))) for words, run in groupby(header.channels or ())]
    fields = {
        "names": skeleton.names,
        "parents": skeleton.parents.tolist(),
        "end_parents": skeleton.end_parents.tolist(),
        "channels": None if header.channels is None else runs,
        "quantum": quantum,
        "offsets": list(offsets),
        "sliding": header.sliding[1:],
        "unit": header.convention.unit,
        "up": header.convention.up,
        "frame_rate": header.frame_rate,
        "frames": header.frames,
        "name": header.name,
        "content": header.content,
    }
    return json.dumps(fields, separators=(",", ":"))


def _header(fields: dict[str, Any]) -> Header:
    names, quantum = fields["names"], fields["quantum"]
    points = np.array(fields["offsets"], dtype=np.float64).reshape(-1, 3)
    points = points if quantum is None else points * quantum
    joints, end_parents = len(names), fields["end_parents"]
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise FormatError("the compressed clip is damaged: its joints have no names")
    if len(points) != joints + len(end_parents):
        raise FormatError(f"the compressed clip is damaged: {len(points)} offsets for {joints} joints")
    sliding = (0, *(whole(joint, 1) for joint in fields["sliding"]))
    if list(sliding) != sorted(set(sliding)) or sliding[-1] >= joints:
        raise FormatError("the compressed clip is damaged: joints slide that are none")
    channels, runs = None, fields["channels"]
    if runs is not None:
        if sum(whole(count, 1) for _, count in runs) != joints:
            raise FormatError(
                f"the compressed clip is damaged: its channels are not those of {joints} joints"
            )
        channels = tuple(tuple(map(str, words)) for words, count in runs for _ in range(count))
    parents = np.array([whole(parent, -1) for parent in fields["parents"]], dtype=np.int64)
    end_parents = np.array([whole(parent) for parent in end_parents], dtype=np.int64)
    skeleton = Skeleton(tuple(names), parents, points[:joints], end_parents, points[joints:])
    frames, rate = whole(fields["frames"], 1), checked_rate(fields["frame_rate"])
    convention, name = Convention(float(fields["unit"]), fields["up"]), str(fields["name"])
    content = dict(fields["content"])
    return Header(skeleton, frames, rate, convention, channels, name, quantum, sliding, content)


@cache
def _dictionary() -> bytes:
    """What deflate may refer to: headers of known figures, the most likely last. Part of the format."""
    moves = ("Xposition", "Yposition", "Zposition")
    content = {"method": "transform", "segments": [[100, 1000, 10]]}
    texts: list[str] = []
    # From the end, so that trees put first change nothing after them.
    orders = cycle(("ZYX", "ZXY", "XYZ", "YXZ"))
    for tree, order in zip(reversed(joint_trees().values()), orders, strict=False):
        joints, leaves = len(tree.names), np.setdiff1d(np.arange(len(tree.names)), tree.parents)
        bones, ends = np.zeros((joints, 3)), np.zeros((len(leaves), 3))
        turns = tuple(f"{axis}rotation" for axis in order)
        figure = Skeleton(tree.names, np.array(tree.parents), bones, leaves, ends)
        channels = (moves + turns,) + (turns,) * (joints - 1)
        texts.append(_text(Header(figure, 100, 120.0, Convention(0.01), channels, "", 0.0005, (0,), content)))
    return "".join(reversed(texts)).encode()


class JointTree(NamedTuple):
    """Names of joints, parents before children, and the index of each joint's parent, -1 for the root."""

    names: tuple[str, ...]
    parents: tuple[int, ...]


@cache
def joint_trees() -> dict[str, JointTree]:
    """Trees by the name of the tool or database; the most frequent is the last.

    All trees of `joint_trees.json` are the dictionary of compressed clips: put new ones first, change none.

    >>> joint_trees()["smpl"].names[:3]
    ('Pelvis', 'L_Hip', 'R_Hip')
    """
    stored = json.loads(Path(__file__).with_name("joint_trees.json").read_text(encoding="utf-8"))
    return {tool: JointTree(tuple(tree["names"]), tuple(tree["parents"])) for tool, tree in stored.items()}
