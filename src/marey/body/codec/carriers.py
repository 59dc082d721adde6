"""Joints above the one that travels: a still root that only carries the figure, as engines and exporters add.

A codec stores one path, that of the root. Where the root stays put and a joint below it travels, the still
joints are set aside, the travelling one becomes the root, and the clip is put together again on decoding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.body.codec._channel_codes import Channels, can_pack, pack_channels, read_channels, spread
from marey.body.codec._packing import Reader, pack_text, pack_varint
from marey.body.codec._tree_text import Tree, dictionary, tree_of_text, tree_text
from marey.body.codec.header import STILL, with_fixed_joints
from marey.body.kinematics import global_frames, local_positions
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError
from marey.geometry import rotations as so3

Array = NDArray[np.float64]

# Radians and metres: carriers that move less stand still.
_UNMOVED = 1e-6


@dataclass(frozen=True, eq=False)
class Carriers:
    """A chain of still joints, root first, above the joint that travels.

    rotations: `(carriers, 4)`; positions: `(carriers, 3)`, each in its parent's frame
    offsets: `(carriers + 1, 3)`, in the skeleton, those of the carriers and of the travelling joint
    channels: of the carriers, or None
    """

    names: tuple[str, ...]
    rotations: Array
    positions: Array
    offsets: Array
    channels: Channels | None


def set_aside(motion: Motion) -> tuple[Motion, Carriers | None]:
    """The clip with a travelling root and no sliding joint, and the carriers above that root, if any.

    Joints that slide otherwise are an :class:`InputError`.
    """
    slid = motion.translations
    if slid is None:
        return motion, None
    ranges = np.ptp(slid, axis=0).max(axis=1)
    top = int(ranges[1:].argmax()) + 1 if motion.joints > 1 else 0
    if top == 0 or ranges[top] <= STILL or not _only_carried(motion, top):
        return with_fixed_joints(motion), None
    names, channels = motion.skeleton.names, motion.channels
    carriers = Carriers(
        names[:top],
        _doubles(motion.rotations[0, :top]),
        _doubles(slid[0, :top]),
        _doubles(motion.skeleton.offsets[: top + 1]),
        None if channels is None else channels[:top],
    )
    core = with_fixed_joints(motion.subtree(names[top]))
    return replace(core, channels=None if channels is None else channels[top:]), carriers


def put_back(core: Motion, carriers: Carriers) -> Motion:
    """Inverse of :func:`set_aside`."""
    count, frames = len(carriers.names), core.frames
    below = core.skeleton
    skeleton = Skeleton(
        carriers.names + below.names,
        np.concatenate([np.arange(-1, count), below.parents[1:] + count]),
        np.concatenate([carriers.offsets, below.offsets[1:]]),
        below.end_parents + count,
        below.end_offsets,
    )
    still = global_frames(
        np.arange(-1, count - 1), carriers.positions, carriers.rotations[None], carriers.positions[None, 0]
    )
    unturn = so3.inverse(still.rotations[0, -1])
    rotations = np.concatenate(
        [np.broadcast_to(carriers.rotations, (frames, count, 4)), core.rotations], axis=1
    )
    rotations[:, count] = so3.multiply(unturn, core.rotations[:, 0])
    translations = np.concatenate(
        [np.broadcast_to(carriers.positions, (frames, count, 3)), local_positions(core)], axis=1
    )
    translations[:, count] = so3.rotate(unturn, core.root - still.positions[0, -1])
    known = carriers.channels is not None and core.channels is not None
    return replace(
        core,
        skeleton=skeleton,
        rotations=rotations,
        root=translations[:, 0],
        translations=translations,
        channels=carriers.channels + core.channels if known else None,  # type: ignore[operator]
    )


def pack_carriers(carriers: Carriers) -> bytes:
    """The carriers in a few bytes; their pose is usually that of rest at the origin."""
    count = len(carriers.names)
    chain = Tree(carriers.names, tuple(range(-1, count - 1)), (0,) * count, (0,) * count)
    at_rest = not carriers.positions.any() and np.array_equal(carriers.rotations, so3.identity(count))
    channels = carriers.channels if can_pack(carriers.channels) else None
    parts = [
        pack_varint(at_rest * _AT_REST | (channels is not None) * _CHANNELS),
        pack_text(tree_text(chain, limb_by_limb=True, usual_ends=0), dictionary()),
        b"" if channels is None else pack_channels(channels),
        carriers.offsets.astype("<f4").tobytes(),
    ]
    if not at_rest:
        parts += [carriers.rotations.astype("<f8").tobytes(), carriers.positions.astype("<f8").tobytes()]
    return b"".join(parts)


def read_carriers(reader: Reader) -> Carriers:
    """Inverse of :func:`pack_carriers`; offsets come back in single precision."""
    marks = reader.varint()
    chain = tree_of_text(reader.text(dictionary()), limb_by_limb=True, usual_ends=0)
    count = len(chain.names)
    if chain.parents != tuple(range(-1, count - 1)) or any(chain.ends):
        raise FormatError("the compressed clip is damaged: the joints that carry it are no chain")
    channels = spread(read_channels(reader), count) if marks & _CHANNELS else None
    offsets = _floats(reader, "<f4", count + 1, 3)
    if marks & _AT_REST:
        return Carriers(chain.names, so3.identity(count), np.zeros((count, 3)), offsets, channels)
    rotations = _floats(reader, "<f8", count, 4)
    if (np.abs(np.linalg.norm(rotations, axis=1) - 1) > _UNMOVED).any():
        raise FormatError("the compressed clip is damaged: a rotation is none")
    return Carriers(chain.names, rotations, _floats(reader, "<f8", count, 3), offsets, channels)


_AT_REST, _CHANNELS = 1, 2


def _only_carried(motion: Motion, top: int) -> bool:
    """Whether everything above joint `top` is a chain that stands still, and all else hangs below it."""
    skeleton = motion.skeleton
    if skeleton.ancestors(top) != tuple(range(top, -1, -1)) or (skeleton.end_parents < top).any():
        return False
    if len(skeleton.descendants(top)) != motion.joints - top:
        return False
    turned = so3.distance(motion.rotations[:, :top], motion.rotations[:1, :top]).max()
    moved = np.ptp(local_positions(motion)[:, :top], axis=0).max()
    return bool(max(turned, moved) <= _UNMOVED)


def _doubles(values: FloatArray) -> Array:
    return np.asarray(values, dtype=np.float64)


def _floats(reader: Reader, dtype: str, *shape: int) -> Array:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    values = np.frombuffer(reader.take(size), dtype).astype(np.float64).reshape(shape)
    if not np.isfinite(values).all() or np.abs(values).max() > 1e12:
        raise FormatError("the compressed clip is damaged: a number is not finite")
    return values
