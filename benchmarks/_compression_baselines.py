"""Plain ways to store a clip, to compare codecs with: rounded channels + zstd, xz, key reduction.

Each is decoded again before its error is measured. Names, parents and offsets of the skeleton are not
counted, which favours them. `xz` here is `xz -9e`, zstd is level 19. zstd comes with zarr (numcodecs).
"""

from __future__ import annotations

import lzma
import struct
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numcodecs.zstd import Zstd  # type: ignore[import-untyped]
from numpy.typing import NDArray

import marey
from marey._compiling import njit
from marey.body.compare import joint_errors
from marey.body.motion import Motion
from marey.geometry import rotations as so3

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Metres from each joint where key reduction looks at errors.
SHELL = 0.03
# Halvings of the tolerance of single tracks in search of the error of the whole figure.
SEARCH_STEPS = 6


def rounded_with_zstd(motion: Motion, bits: int, *, delta: bool) -> tuple[int, Motion]:
    """Rotation vectors and root, each channel in `bits` bits of its range, high and low bytes apart.

    delta: store differences from frame to frame, modulo 65536
    """
    channels = _channels(motion)
    low, high = channels.min(axis=0).astype(np.float32), channels.max(axis=0).astype(np.float32)
    width = np.maximum(high - low, np.float32(1e-9)).astype(np.float64)
    steps = 2**bits - 1
    numbers = np.clip(np.rint((channels - low) / width * steps), 0, steps).astype(np.uint16)
    words = np.diff(numbers, axis=0, prepend=np.uint16(0)) if delta else numbers
    head = struct.pack("<IIfBB", motion.frames, motion.joints, motion.frame_rate, bits, delta)
    planes = np.ascontiguousarray(words.T).view(np.uint8).reshape(-1, 2).T
    data = head + _zstd(low.tobytes() + high.tobytes() + planes.tobytes())

    body = Zstd().decode(data[len(head) :])
    count = channels.shape[1]
    bounds = np.frombuffer(body, np.float32, 2 * count).reshape(2, count)
    again = np.ascontiguousarray(np.frombuffer(body, np.uint8, offset=8 * count).reshape(2, -1).T)
    back = again.view(np.uint16).reshape(count, motion.frames).T
    if delta:
        back = np.cumsum(back, axis=0, dtype=np.uint16)
    width = np.maximum(bounds[1] - bounds[0], np.float32(1e-9)).astype(np.float64)
    return len(data), _from_channels(motion, bounds[0] + back / steps * width)


def text_with_xz(motion: Motion, path: Path | None) -> tuple[int, Motion]:
    """The BVH file itself, or the one marey writes if the clip is not as a file has it; no error."""
    if path is not None:
        return len(_xz(path.read_bytes())), motion
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "clip.bvh"
        marey.save(motion, written)
        return len(_xz(written.read_bytes())), motion


def floats_with_xz(motion: Motion) -> tuple[int, Motion]:
    """Rotation vectors and root in float32, channel after channel."""
    data = _xz(np.ascontiguousarray(_channels(motion).T.astype("<f4")).tobytes())
    back = np.frombuffer(lzma.decompress(data), "<f4").reshape(-1, motion.frames).T
    return len(data), _from_channels(motion, back.astype(np.float64))


def reduced_keys(motion: Motion, tolerance: float) -> tuple[int, Motion]:
    """Keys per joint with lines between them, points 3 cm from joints within `tolerance` metres; then zstd.

    A track keeps a key where the line between its neighbours would miss by more than its tolerance, seen at
    the end of the longest limb below. That tolerance is the largest which keeps the whole figure within the
    one asked for. A key is a frame number and the smallest three of a quaternion, or the root, in 16 bits.
    """
    arms = _limb_lengths(motion)
    fits, fails, best = 0.0, tolerance, _with_keys(motion, arms, tolerance / 2**SEARCH_STEPS)
    trial = tolerance
    for _ in range(SEARCH_STEPS):
        found = _with_keys(motion, arms, trial)
        if joint_errors(motion, found[1], shell=SHELL)[:, : motion.joints].max() <= tolerance:
            fits, best = trial, found
            if trial == tolerance:
                break
        else:
            fails = trial
        trial = (fits + fails) / 2
    return best


def _with_keys(motion: Motion, arms: Array, tolerance: float) -> tuple[int, Motion]:
    rotations = np.ascontiguousarray(motion.rotations.swapaxes(0, 1))
    frames = np.arange(motion.frames)
    counts, times, numbers = [], [], []
    decoded = np.empty_like(rotations)
    for j, track in enumerate(rotations):
        keys = np.flatnonzero(_needed_rotations(track, arms[j], tolerance))
        which, words = _smallest_three(track[keys])
        counts.append(len(keys))
        times.append(keys)
        # The index of the largest component rides on the frame number's two highest bits.
        numbers.append(np.column_stack([keys | which << 14, words]))
        decoded[j] = _between(_from_smallest_three(which, words), keys, frames)
    low, width = motion.root.min(axis=0), np.maximum(np.ptp(motion.root, axis=0), 1e-9)
    keys = np.flatnonzero(_needed_points(np.ascontiguousarray(motion.root), tolerance))
    words = np.rint((motion.root[keys] - low) / width * 65535).astype(np.int64)
    root = np.column_stack(
        [np.interp(frames, keys, low[i] + words[:, i] / 65535 * width[i]) for i in range(3)]
    )
    head = struct.pack("<IIfI6f", motion.frames, motion.joints, motion.frame_rate, len(keys), *low, *width)
    table = np.concatenate([*numbers, np.column_stack([keys, words])])
    # Clips longer than 16,383 frames would need wider frame numbers; two bytes are counted all the same.
    planes = np.ascontiguousarray((table & 0xFFFF).astype("<u2").T).view(np.uint8).reshape(-1, 2).T
    size = len(head) + len(_zstd(np.array(counts, "<u4").tobytes() + planes.tobytes()))
    return size, replace(motion, rotations=so3.normalise(decoded.swapaxes(0, 1)), root=root)


def _smallest_three(quaternions: Array) -> tuple[Whole, Whole]:
    """Index of the largest component and the other three in 16 bits each."""
    which = np.abs(quaternions).argmax(axis=-1)
    rows = np.arange(len(quaternions))
    signed = quaternions * np.sign(quaternions[rows, which])[:, None]
    others = (which[:, None] + np.arange(1, 4)) % 4
    return which, np.rint((signed[rows[:, None], others] * np.sqrt(0.5) + 0.5) * 65535).astype(np.int64)


def _from_smallest_three(which: Whole, words: Whole) -> Array:
    three = (words / 65535 - 0.5) / np.sqrt(0.5)
    rows = np.arange(len(which))
    quaternions = np.empty((len(which), 4))
    quaternions[rows[:, None], (which[:, None] + np.arange(1, 4)) % 4] = three
    quaternions[rows, which] = np.sqrt(np.maximum(0.0, 1 - (three**2).sum(axis=-1)))
    return quaternions


def _between(values: Array, keys: Whole, frames: Whole) -> Array:
    before = np.searchsorted(keys, frames, side="right") - 1
    after = np.minimum(before + 1, len(keys) - 1)
    t = ((frames - keys[before]) / np.maximum(1, keys[after] - keys[before]))[:, None]
    a, b = values[before], values[after]
    sign = np.where((a * b).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return so3.normalise((1 - t) * a + t * sign * b)


def _channels(motion: Motion) -> Array:
    """`(frames, 3 joints + 3)`: rotation vectors of at most π, then the root."""
    rotations = np.where(motion.rotations[..., :1] < 0, -motion.rotations, motion.rotations)
    return np.concatenate([so3.log(rotations).reshape(motion.frames, -1), motion.root], axis=1)


def _from_channels(motion: Motion, channels: Array) -> Motion:
    vectors = channels[:, :-3].reshape(motion.frames, motion.joints, 3)
    return replace(motion, rotations=so3.exp(vectors), root=channels[:, -3:])


def _limb_lengths(motion: Motion) -> Array:
    lengths = np.full(motion.joints, SHELL)
    for j in range(motion.joints - 1, 0, -1):
        p = motion.skeleton.parents[j]
        lengths[p] = max(lengths[p], lengths[j] + np.linalg.norm(motion.skeleton.offsets[j]))
    return lengths


def _zstd(data: bytes) -> bytes:
    return bytes(Zstd(level=19).encode(data))


def _xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


@njit(cache=True)
def _needed_rotations(track: Array, arm: float, tolerance: float) -> NDArray[np.bool_]:
    """Frames `(frames,)` to keep so that lines between them miss none by more (Douglas and Peucker 1973)."""
    frames = len(track)
    kept = np.zeros(frames, dtype=np.bool_)
    kept[0] = kept[-1] = True
    stack = [(0, frames - 1)]
    while len(stack) > 0:
        first, last = stack.pop()
        worst, where = tolerance, -1
        for f in range(first + 1, last):
            t = (f - first) / (last - first)
            dot = 0.0
            for i in range(4):
                dot += track[first, i] * track[last, i]
            sign = 1.0 if dot >= 0 else -1.0
            norm = near = 0.0
            for i in range(4):
                value = (1 - t) * track[first, i] + t * sign * track[last, i]
                norm += value * value
                near += value * track[f, i]
            # 2 arm sin(θ / 2), with cos(θ / 2) the scalar product.
            error = 2 * arm * np.sqrt(max(0.0, 1 - near * near / norm))
            if error > worst:
                worst, where = error, f
        if where >= 0:
            kept[where] = True
            stack.append((first, where))
            stack.append((where, last))
    return kept


@njit(cache=True)
def _needed_points(track: Array, tolerance: float) -> NDArray[np.bool_]:
    frames = len(track)
    kept = np.zeros(frames, dtype=np.bool_)
    kept[0] = kept[-1] = True
    stack = [(0, frames - 1)]
    while len(stack) > 0:
        first, last = stack.pop()
        worst, where = tolerance, -1
        for f in range(first + 1, last):
            t = (f - first) / (last - first)
            error = 0.0
            for i in range(3):
                error += ((1 - t) * track[first, i] + t * track[last, i] - track[f, i]) ** 2
            error = np.sqrt(error)
            if error > worst:
                worst, where = error, f
        if where >= 0:
            kept[where] = True
            stack.append((first, where))
            stack.append((where, last))
    return kept
