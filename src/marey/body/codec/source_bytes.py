"""Bytes of a clip of the source's codec: self-contained, versioned, checked by a CRC.

A fixed head (magic, version, CRC-32, raw size), then one deflated block: a JSON description, then all arrays
as float32, split into byte planes, which deflate better. Cost: linear in the bytes.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.body.codec.end_joints import EndJoint
from marey.body.codec.sizes import coarse_length
from marey.body.codec.source import MOST_DROPPED, SourceClip
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, MareyError
from marey.geometry.convention import Convention

MAGIC = b"MRYSRC"
VERSION = 1
_HEAD = struct.Struct("<6sHIIQ")
# Deflate cannot do better: a block that claims more is damaged.
_LARGEST_GAIN = 1040
_DAMAGE = (MareyError, ValueError, TypeError, LookupError, RecursionError, OverflowError, struct.error)


def to_bytes(clip: SourceClip) -> bytes:
    """The clip as bytes; equal clips give equal bytes."""
    skeleton = clip.skeleton
    description = {
        "names": skeleton.names,
        "parents": skeleton.parents.tolist(),
        "end_parents": skeleton.end_parents.tolist(),
        "frames": clip.frames,
        "frame_rate": clip.frame_rate,
        "modes": clip.modes,
        "ends": [[end.joint, end.part] for end in clip.ends],
        "dropped": clip.dropped,
        "noise": clip.noise,
        "improved": clip.improved,
        "unit": clip.convention.unit,
        "up": clip.convention.up,
        "channels": clip.channels,
        "name": clip.name,
    }
    text = json.dumps(description, separators=(",", ":"), allow_nan=False).encode()
    arrays = [
        skeleton.offsets,
        skeleton.end_offsets,
        np.array([end.point for end in clip.ends]),
        clip.mean[1:],
        clip.directions[:, 1:],
        clip.variances,
        clip.root,
        clip.root_turns,
        *clip.curves,
    ]
    numbers = np.concatenate([np.asarray(array, dtype="<f4").ravel() for array in arrays])
    planes = numbers.view(np.uint8).reshape(-1, 4).T.tobytes()
    raw = struct.pack("<I", len(text)) + text + planes
    payload = zlib.compress(raw, 9)
    return _HEAD.pack(MAGIC, VERSION, zlib.crc32(payload), len(payload), len(raw)) + payload


def from_bytes(data: bytes) -> SourceClip:
    """The clip that :func:`to_bytes` wrote; anything else is a :class:`FormatError`."""
    raw = _payload(data)
    try:
        return _clip(raw)
    except FormatError:
        raise
    except _DAMAGE as error:
        raise FormatError(f"the stored clip is damaged ({error})") from error


def _payload(data: bytes) -> bytes:
    if len(data) < _HEAD.size or not data.startswith(MAGIC):
        raise FormatError("not a clip of the source's codec")
    _, version, crc, size, raw_size = _HEAD.unpack_from(data)
    if version != VERSION:
        raise FormatError(
            f"a clip of version {version}; this marey reads version {VERSION}: install a newer marey"
        )
    payload = data[_HEAD.size :]
    if len(payload) != size:
        raise FormatError(f"the stored clip has {len(payload)} bytes where {size} are announced")
    if zlib.crc32(payload) != crc:
        raise FormatError("the stored clip is damaged: its checksum does not fit")
    if raw_size > _LARGEST_GAIN * size + 64:
        raise FormatError("the stored clip is damaged: it claims to unpack to more than it can")
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(payload, raw_size + 1)
    except zlib.error as error:
        raise FormatError(f"the stored clip is damaged ({error})") from error
    if len(raw) != raw_size or not unpacker.eof:
        raise FormatError("the stored clip is damaged: it does not unpack to what is announced")
    return raw


def _clip(raw: bytes) -> SourceClip:
    (length,) = struct.unpack_from("<I", raw)
    about = json.loads(raw[4 : 4 + length].decode())
    frames, modes, dropped = _whole(about["frames"]), _whole(about["modes"]), about["dropped"]
    names, end_parents, ends = about["names"], about["end_parents"], about["ends"]
    joints = len(names)
    if frames < 1 or joints < 1 or not all(0 <= _whole(p) <= MOST_DROPPED for p in dropped):
        raise FormatError("the stored clip is damaged: its description makes no sense")
    numbers = _Numbers(raw[4 + length :])
    skeleton_offsets = numbers.take(joints, 3)
    end_offsets = numbers.take(len(end_parents), 3)
    points = numbers.take(len(ends), 3)
    mean = numbers.take(joints - 1, 3)
    directions = numbers.take(modes, joints - 1, 3)
    variances = numbers.take(modes)
    lengths = [coarse_length(frames, p) for p in dropped]
    root, root_turns = numbers.take(lengths[0], 3), numbers.take(lengths[1], 3)
    curves = tuple(numbers.take(length, 3 if ends else modes) for length in lengths[2:])
    numbers.finish()
    channels = about["channels"]
    return SourceClip(
        skeleton=Skeleton(tuple(names), about["parents"], skeleton_offsets, end_parents, end_offsets),
        frame_rate=about["frame_rate"],
        frames=frames,
        mean=np.concatenate([np.zeros((1, 3)), mean]),
        directions=np.concatenate([np.zeros((modes, 1, 3)), directions], axis=1),
        variances=variances,
        ends=tuple(
            EndJoint(_whole(joint), tuple(point), str(part))
            for (joint, part), point in zip(ends, points.tolist(), strict=True)
        ),
        root=root,
        root_turns=root_turns,
        curves=curves,
        dropped=tuple(dropped),
        noise=float(about["noise"]),
        improved=bool(about["improved"]),
        convention=Convention(float(about["unit"]), about["up"]),
        channels=None if channels is None else tuple(tuple(map(str, names)) for names in channels),
        name=str(about["name"]),
    )


class _Numbers:
    """Arrays one after the other out of a block of byte planes."""

    def __init__(self, planes: bytes) -> None:
        if len(planes) % 4:
            raise FormatError("the stored clip is damaged: its arrays are cut off")
        split = np.frombuffer(planes, dtype=np.uint8).reshape(4, -1)
        self._values: NDArray[np.float32] = np.ascontiguousarray(split.T).view("<f4").ravel()
        self._used = 0

    def take(self, *shape: int) -> NDArray[np.float64]:
        start, self._used = self._used, self._used + math.prod(shape)
        if min(shape) < 0 or self._used > len(self._values):
            raise FormatError("the stored clip is damaged: its arrays are shorter than announced")
        return self._values[start : self._used].astype(np.float64).reshape(shape)

    def finish(self) -> None:
        if self._used != len(self._values):
            raise FormatError("the stored clip is damaged: its arrays are longer than announced")


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise FormatError(f"the stored clip is damaged: {value!r} where a whole number belongs")
    return value
