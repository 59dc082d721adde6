"""What a compressed clip says besides the motion: skeleton, frames, rate, units, names, in under 100 bytes.

Common joint trees are known by number (`marey.body.conventions`), others deflated with those as dictionary;
offsets are rounded to a quantum and each limb predicted by its mirror image. The layout belongs to version 1
of the file. Reading trusts nothing: it raises :class:`FormatError` and allocates no more than the data can
fill. Cost: under a millisecond for a human figure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import FloatArray
from marey.body.codec._channel_codes import Channels, can_pack, pack_channels, read_channels, spread
from marey.body.codec._offset_bits import pack_offsets, unpack_offsets
from marey.body.codec._packing import Reader, pack_float64, pack_text, pack_varint
from marey.body.codec._rate_codes import pack_rate, read_rate
from marey.body.codec._tree_text import (
    Tree,
    dictionary,
    is_limb_by_limb,
    known_trees,
    mirrored_by_name,
    tree_of_text,
    tree_text,
)
from marey.body.motion import Motion
from marey.body.root_travel import STILL
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError, MareyError
from marey.geometry.convention import CMU_UNIT, Convention


@dataclass(frozen=True)
class Header:
    """What a compressed clip says besides the motion; offsets are as they were rounded.

    skeleton, frame_rate, convention, channels, name: as in :class:`Motion`
    frames: how many
    """

    skeleton: Skeleton
    frames: int
    frame_rate: float
    convention: Convention
    channels: Channels | None = None
    name: str = ""

    def motion(self, rotations: FloatArray, root: FloatArray, *, frame_rate: float | None = None) -> Motion:
        """A clip of this figure: rotations `(frames, joints, 4)`, root `(frames, 3)`."""
        return Motion(
            self.skeleton,
            rotations,
            root,
            self.frame_rate if frame_rate is None else frame_rate,
            convention=self.convention,
            channels=self.channels,
            name=self.name,
        )


def pack_header(motion: Motion, *, quantum: float | None) -> bytes:
    """Everything about a clip that is not motion.

    quantum: metres; offsets are rounded to multiples of it (itself rounded down to a whole 0.01 mm).
        None, or less than 0.01 mm, keeps every digit

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> packed = pack_header(walk, quantum=0.0005)
    >>> header, rest = unpack_header(packed + b"motion")
    >>> len(packed) < 80, header.skeleton.names == walk.skeleton.names, rest
    (True, True, b'motion')
    """
    skeleton = with_fixed_joints(motion).skeleton
    limb_by_limb = is_limb_by_limb(skeleton.parents.tolist())
    counts = np.bincount(skeleton.end_parents, minlength=skeleton.joints)
    branching = np.isin(np.arange(skeleton.joints), skeleton.parents)
    usual_ends = int((counts[~branching] > 0).any())
    tree = Tree(
        skeleton.names,
        tuple(skeleton.parents.tolist()),
        tuple(counts.tolist()),
        mirrored_by_name(skeleton.names),
    )
    order = np.argsort(skeleton.end_parents, kind="stable")
    in_order = bool((np.diff(skeleton.end_parents) >= 0).all())
    unit = _UNITS.index(motion.convention.unit) if motion.convention.unit in _UNITS else 0
    # What is no BVH channel is left out: channels only say how to write the clip back.
    channels = motion.channels if can_pack(motion.channels) else None
    flags = (
        (motion.convention.up == "z") * _UP_Z
        | limb_by_limb * _LIMB_BY_LIMB
        | usual_ends * _USUAL_ENDS
        | (channels is not None) * _CHANNELS
        | unit * _UNIT
        | (not in_order) * _END_ORDER
    )
    points = np.concatenate([skeleton.offsets, skeleton.end_offsets[order]])
    offsets = pack_offsets(points, _counterparts(tree), quantum=quantum, unit=motion.convention.unit)
    parts = [
        pack_varint(flags),
        b"" if unit else pack_float64(motion.convention.unit),
        b"" if channels is None else pack_channels(channels),
        pack_rate(motion.frame_rate),
        pack_varint(motion.frames),
        pack_text(motion.name, dictionary()),
        _pack_tree(tree_text(tree, limb_by_limb=limb_by_limb, usual_ends=usual_ends)),
        b"" if in_order else b"".join(pack_varint(int(place)) for place in order),
        offsets,
    ]
    return b"".join(parts)


def unpack_header(data: bytes) -> tuple[Header, bytes]:
    """Inverse of :func:`pack_header`: the header, and what follows it."""
    reader = Reader(data)
    try:
        header = _read(reader)
    except FormatError:
        raise
    except MareyError as error:
        raise FormatError(f"the compressed clip is damaged ({error})") from error
    return header, data[reader.place :]


def with_fixed_joints(motion: Motion) -> Motion:
    """The clip with constant translations made offsets; joints that do slide are an error."""
    slid = motion.translations
    if slid is None:
        return motion
    ranges = np.ptp(slid[:, 1:], axis=0).max(axis=1, initial=0.0)
    if (ranges > STILL).any():
        joint = 1 + int(ranges.argmax())
        raise InputError(
            f"{motion.name or 'the clip'}: joint {motion.skeleton.names[joint]!r} slides by "
            f"{100 * ranges.max():.3g} cm; only rotations and one root path can be compressed"
        )
    middle = slid.min(axis=0) + np.ptp(slid, axis=0) / 2
    middle[0] = motion.skeleton.offsets[0]
    skeleton = motion.skeleton
    fixed = Skeleton(skeleton.names, skeleton.parents, middle, skeleton.end_parents, skeleton.end_offsets)
    return Motion(
        fixed,
        motion.rotations,
        motion.root,
        motion.frame_rate,
        convention=motion.convention,
        channels=motion.channels,
        name=motion.name,
    )


def _read(reader: Reader) -> Header:
    flags = reader.varint()
    if flags >= _END_ORDER << 1:
        raise FormatError("the compressed clip is damaged: its header sets marks that mean nothing")
    size = _UNITS[flags // _UNIT % 8] or reader.float64()
    convention = Convention(size, "z" if flags & _UP_Z else "y")
    channels = read_channels(reader) if flags & _CHANNELS else None
    frame_rate = read_rate(reader)
    frames = reader.varint()
    if frames < 1:
        raise FormatError("the compressed clip has no frames")
    name = reader.text(dictionary())
    tree = tree_of_text(
        _read_tree(reader), limb_by_limb=bool(flags & _LIMB_BY_LIMB), usual_ends=bool(flags & _USUAL_ENDS)
    )
    joints = len(tree.names)
    end_parents = np.repeat(np.arange(joints), tree.ends)
    order = np.arange(len(end_parents))
    if flags & _END_ORDER:
        order = np.array([reader.varint() for _ in order], dtype=np.int64)
        if not np.array_equal(np.sort(order), np.arange(len(order))):
            raise FormatError("the compressed clip is damaged: its end sites are in no order")
    points = unpack_offsets(reader, _counterparts(tree), unit=size)
    back = np.argsort(order)
    skeleton = Skeleton(
        tree.names, np.array(tree.parents), points[:joints], end_parents[back], points[joints:][back]
    )
    if channels is not None:
        channels = spread(channels, joints)
    return Header(skeleton, frames, frame_rate, convention, channels, name)


# Marks of the first number.
_UP_Z, _LIMB_BY_LIMB, _USUAL_ENDS, _CHANNELS, _UNIT, _END_ORDER = 1, 2, 4, 8, 16, 128
_UNITS = (0.0, 1.0, 0.01, 0.001, 0.0254, 0.3048, CMU_UNIT, 0.1)


def _counterparts(tree: Tree) -> list[int]:
    """For each joint, then end site, the index of the one before that it is likely to mirror, or -1."""
    joints = len(tree.names)
    found = [j - back if back else -1 for j, back in enumerate(tree.mirrored)]
    starts = np.concatenate([[0], np.cumsum(tree.ends)]).tolist()
    for joint, count in enumerate(tree.ends):
        pair = found[joint]
        found += [
            joints + starts[pair] + i if pair >= 0 and i < tree.ends[pair] else -1 for i in range(count)
        ]
    return found


def _pack_tree(text: str) -> bytes:
    if text in known_trees():
        return pack_varint(1 + known_trees().index(text))
    return pack_varint(0) + pack_text(text, dictionary())


def _read_tree(reader: Reader) -> str:
    number = reader.varint()
    if number > len(known_trees()):
        raise FormatError(f"joint tree number {number} is not known: install a newer marey")
    return known_trees()[number - 1] if number else reader.text(dictionary())
