"""Joints above the one that travels: a root that only carries the figure, as engines and exporters add.

A codec stores one path, that of the root. Where a joint below the root travels by itself, the joints above it
are set aside, the travelling one becomes the root, and the clip is put together again on decoding. Carriers
usually stand still; those that move (root motion of engines) are stored beside the clip, rounded, as second
differences. Errors of theirs do not reach the figure, whose path in the world is stored. Cost: linear.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import Array, FloatArray
from marey.body.codec._channel_codes import Channels, can_pack, pack_channels, read_channels, spread
from marey.body.codec._packing import Reader, pack_float64, pack_text, pack_varint
from marey.body.codec._tree_text import Tree, dictionary, tree_of_text, tree_text
from marey.body.codec.header import with_fixed_joints
from marey.body.kinematics import global_frames, local_positions
from marey.body.motion import Motion
from marey.body.root_travel import travelling_joint
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError
from marey.geometry import rotations as so3

# Radians and metres: carriers that move less stand still.
_UNMOVED = 1e-6
# Metres that moving carriers may be off, if nobody says.
_ERROR = 0.01
# Bytes of their motion that are unpacked at the most: a day of one carrier.
_LONGEST = 1 << 28
_LARGEST_NUMBER = 1 << 50


@dataclass(frozen=True, eq=False)
class Carriers:
    """A chain of joints, root first, above the joint that travels.

    rotations: `(frames, carriers, 4)`; positions: `(frames, carriers, 3)`, each in its parent's frame; one
        frame if they stand still
    offsets: `(carriers + 1, 3)`, in the skeleton, those of the carriers and of the travelling joint
    channels: of the carriers, or None
    error: metres that moving carriers may be off when they are stored
    """

    names: tuple[str, ...]
    rotations: Array
    positions: Array
    offsets: Array
    channels: Channels | None
    error: float = _ERROR

    @property
    def moving(self) -> bool:
        """Whether they do not stand still."""
        return len(self.rotations) > 1


def set_aside(motion: Motion, *, error: float = _ERROR) -> tuple[Motion, Carriers | None]:
    """The clip with a travelling root and no sliding joint, and the carriers above that root, if any.

    error: metres that carriers which move themselves may be off
    Joints that slide otherwise are an :class:`InputError`.
    """
    top = travelling_joint(motion)
    if top == 0:
        return with_fixed_joints(motion), None
    names, channels = motion.skeleton.names, motion.channels
    turns, places = _doubles(motion.rotations[:, :top]), _doubles(local_positions(motion)[:, :top])
    if max(so3.distance(turns, turns[:1]).max(), np.ptp(places, axis=0).max()) <= _UNMOVED:
        turns, places = turns[:1], places[:1]
    carriers = Carriers(
        names[:top],
        turns,
        places,
        _doubles(motion.skeleton.offsets[: top + 1]),
        None if channels is None else channels[:top],
        error,
    )
    core = with_fixed_joints(motion.subtree(names[top]))
    return replace(core, channels=None if channels is None else channels[top:]), carriers


def put_back(core: Motion, carriers: Carriers, *, start: int = 0) -> Motion:
    """Inverse of :func:`set_aside`, for a clip that begins in frame `start` of the whole."""
    count, frames = len(carriers.names), core.frames
    here = slice(start, start + frames) if carriers.moving else slice(None)
    turns, places = carriers.rotations[here], carriers.positions[here]
    below = core.skeleton
    skeleton = Skeleton(
        carriers.names + below.names,
        np.concatenate([np.arange(-1, count), below.parents[1:] + count]),
        np.concatenate([carriers.offsets, below.offsets[1:]]),
        below.end_parents + count,
        below.end_offsets,
    )
    above = global_frames(np.arange(-1, count - 1), places, turns, places[:, 0])
    unturn = so3.inverse(above.rotations[:, -1])
    rotations = np.concatenate([np.broadcast_to(turns, (frames, count, 4)), core.rotations], axis=1)
    rotations[:, count] = so3.multiply(unturn, core.rotations[:, 0])
    translations = np.concatenate(
        [np.broadcast_to(places, (frames, count, 3)), local_positions(core)], axis=1
    )
    translations[:, count] = so3.rotate(unturn, core.root - above.positions[:, -1])
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
    at_rest = not carriers.positions.any() and np.array_equal(carriers.rotations[0], so3.identity(count))
    channels = carriers.channels if can_pack(carriers.channels) else None
    marks = carriers.moving * _MOVING | (at_rest and not carriers.moving) * _AT_REST
    parts = [
        pack_varint(marks | (channels is not None) * _CHANNELS),
        pack_text(tree_text(chain, limb_by_limb=True, usual_ends=0), dictionary()),
        b"" if channels is None else pack_channels(channels),
        carriers.offsets.astype("<f4").tobytes(),
    ]
    if carriers.moving:
        parts.append(_pack_motion(carriers))
    elif not at_rest:
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
    if marks & _MOVING:
        rotations, positions = _read_motion(reader, count)
    elif marks & _AT_REST:
        rotations, positions = so3.identity((1, count)), np.zeros((1, count, 3))
    else:
        rotations = _floats(reader, "<f8", 1, count, 4)
        if (np.abs(np.linalg.norm(rotations, axis=-1) - 1) > _UNMOVED).any():
            raise FormatError("the compressed clip is damaged: a rotation is none")
        positions = _floats(reader, "<f8", 1, count, 3)
    return Carriers(chain.names, rotations, positions, offsets, channels)


_AT_REST, _CHANNELS, _MOVING = 1, 2, 4


def _pack_motion(carriers: Carriers) -> bytes:
    """Rotation vectors and positions as multiples of a quantum, in second differences, deflated."""
    frames, count = carriers.positions.shape[:2]
    # A carrier is off by at most √3/2 quanta in its place, and as much again by the turn of each above it.
    quantum = 0.25 * carriers.error / count
    reach = max(1.0, float(np.linalg.norm(carriers.positions, axis=-1).max()))
    values = np.concatenate([so3.log(carriers.rotations) * reach, carriers.positions], axis=-1)
    scaled = values.reshape(frames, 6 * count) / quantum
    if np.abs(scaled).max() >= _LARGEST_NUMBER:
        raise InputError(
            f"{carriers.names[0]!r} goes as far as {np.abs(values).max():.3g} m, too far to be stored to "
            f"{carriers.error:.3g} m; allow more"
        )
    numbers = np.diff(
        np.rint(scaled).astype(np.int64), n=2, axis=0, prepend=np.zeros((2, 6 * count), np.int64)
    )
    # Signs go to the lowest bit; then all lowest bytes, all second ones, …
    folded = (numbers << 1 ^ numbers >> 63).T.astype("<u8").ravel()
    width = max(1, -(-int(folded.max()).bit_length() // 8))
    packed = zlib.compress(folded.view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes(), 9)
    sizes = b"".join(map(pack_varint, (frames, width, len(packed))))
    return sizes + pack_float64(quantum) + pack_float64(reach) + packed


def _read_motion(reader: Reader, count: int) -> tuple[Array, Array]:
    frames, width, length = reader.varint(), reader.varint(), reader.varint()
    quantum, reach = reader.float64(), reader.float64()
    size = 6 * count * frames * width
    packed = reader.take(length)
    if not (frames > 1 and 1 <= width <= 8 and size <= _LONGEST and 0 < quantum < 1e6 and 1 <= reach < 1e12):
        raise FormatError("the compressed clip is damaged: the joints that carry it move in no way")
    try:
        unpacker = zlib.decompressobj()
        planes = unpacker.decompress(packed, size + 1)
    except zlib.error as error:
        raise FormatError(f"the compressed clip is damaged ({error})") from error
    if len(planes) != size:
        raise FormatError("the compressed clip is damaged: the joints that carry it do not unpack")
    folded = np.zeros((6 * count * frames, 8), np.uint8)
    folded[:, :width] = np.frombuffer(planes, np.uint8).reshape(width, -1).T
    numbers = folded.view("<u8").reshape(6 * count, frames).T
    steps = (numbers >> np.uint64(1)).astype(np.int64) ^ -(numbers & np.uint64(1)).astype(np.int64)
    values = np.cumsum(np.cumsum(steps, axis=0), axis=0) * quantum
    if np.abs(values).max() > 1e12:
        raise FormatError("the compressed clip is damaged: a number is not finite")
    values = values.reshape(frames, count, 6)
    return so3.exp(values[..., :3] / reach), values[..., 3:]


def _doubles(values: FloatArray) -> Array:
    return np.asarray(values, dtype=np.float64)


def _floats(reader: Reader, dtype: str, *shape: int) -> Array:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    values = np.frombuffer(reader.take(size), dtype).astype(np.float64).reshape(shape)
    if not np.isfinite(values).all() or np.abs(values).max() > 1e12:
        raise FormatError("the compressed clip is damaged: a number is not finite")
    return values
