"""Codecs to compare, each as points of bytes and error: marey's, an ACL-style coder, plain baselines.

Errors are distances of joints in the world, end sites left out: engines do not store them, and errors of an
ACL-style clip are larger there. Clips are those of the CMU data base at hand.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import _acl_style
import numpy as np
from _compression_baselines import floats_with_xz, reduced_keys, rounded_with_zstd, text_with_xz

import marey
from marey.body import compress
from marey.body.codec import engine_bytes
from marey.body.compare import Distortion, joint_errors, relative_distortion
from marey.body.motion import Motion
from marey.errors import MareyWarning

OURS, ACL = "marey", "ACL-style"
# Metres, from what nobody sees to what everybody does.
TOLERANCES = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2)
# Metres, for ours alone: as far off as Tournier's codec.
COARSE = (0.1, 0.2, 0.4)
ROUNDED_BITS = (16, 14, 12, 10, 8, 7)


@dataclass(frozen=True)
class Point:
    """A clip stored with one setting of one codec; errors in metres, `within` the share below a threshold."""

    codec: str
    setting: str
    size: int
    ratio: float
    mean: float
    maximum: float
    percentile_99: float
    within: float
    distortion: Distortion
    decoding_microseconds: float = float("nan")


def measured(
    codec: str, setting: str, motion: Motion, size: int, decoded: Motion, *, threshold: float = 0.01
) -> Point:
    """Size against ten float32 a joint and frame, and errors of the joints."""
    errors = joint_errors(motion, decoded)[:, : motion.joints]
    return Point(
        codec,
        setting,
        size,
        engine_bytes(motion) / size,
        float(errors.mean()),
        float(errors.max()),
        float(np.percentile(errors, 99)),
        float((errors <= threshold).mean()),
        relative_distortion(motion, decoded),
    )


def acl_style(motion: Motion, precision: float) -> Point:
    data = _acl_style.encode(motion, precision)
    decoded = _acl_style.decode(data, motion.skeleton)
    return measured(ACL, f"{100 * precision:g} cm", motion, len(data), decoded, threshold=precision)


def ours(
    motion: Motion, max_error: float, *, mean_error: float | None = None, threshold: float = 0.01
) -> Point:
    small = compress(motion, max_error=max_error, mean_error=mean_error)
    small.decode(slice(0, 2))  # compiled code is loaded now
    start = time.process_time()
    decoded = small.decode()
    microseconds = 1e6 * (time.process_time() - start) / motion.frames
    point = measured(OURS, f"{100 * max_error:.3g} cm", motion, small.bytes, decoded, threshold=threshold)
    return replace(point, decoding_microseconds=microseconds)


def ours_no_worse(
    motion: Motion, than: Point, *, threshold: float, enough: float, trials: int = 8
) -> Point | None:
    """Ours with mean and largest joint error not above those of `than`; None if no trial is so exact.

    The first trial has these errors as bounds, on end sites and shells too. Looser bounds, as far as the
    errors of joints leave room, are tried only until the clip is `enough` times smaller: encoding is slow.
    """
    best: Point | None = None
    max_error, mean_error = than.maximum, than.mean
    for _ in range(trials):
        point = ours(motion, max_error, mean_error=mean_error, threshold=threshold)
        no_worse = point.mean <= than.mean and point.maximum <= than.maximum
        if no_worse and (best is None or point.size < best.size):
            best = point
        if best is not None and than.size >= enough * best.size:
            break
        max_error *= than.maximum / point.maximum
        mean_error *= than.mean / point.mean
    return best


def curves(motion: Motion, path: Path | None) -> Iterator[Point]:
    """All codecs at all settings; `path` is the BVH file if the clip is as it has it."""
    for tolerance in (*TOLERANCES, *COARSE):
        yield ours(motion, tolerance)
    for tolerance in TOLERANCES:
        yield acl_style(motion, tolerance)
    yield from baselines(motion, path, bits=ROUNDED_BITS, tolerances=TOLERANCES)


def baselines(
    motion: Motion, path: Path | None, *, bits: tuple[int, ...], tolerances: tuple[float, ...]
) -> Iterator[Point]:
    """Rounding + zstd, key reduction, xz."""
    for delta, codec in ((False, "16 bit + zstd"), (True, "16 bit, delta + zstd")):
        for number in bits:
            coded = rounded_with_zstd(motion, number, delta=delta)
            yield measured(codec, f"{number} of 16 bits", motion, *coded)
    for tolerance in tolerances:
        coded = reduced_keys(motion, tolerance)
        yield measured("key reduction + zstd", f"{100 * tolerance:g} cm", motion, *coded)
    yield measured("xz -9e of float32", "", motion, *floats_with_xz(motion))
    yield measured("xz -9e of BVH text", "", motion, *text_with_xz(motion, path))


def clip_paths(data: Path | None) -> dict[str, Path]:
    """CMU clips by name, from `data`, `MAREY_DATA` or the folder beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = data or Path(os.environ.get("MAREY_DATA", beside))
    return {path.stem: path for path in sorted((folder / "skeleton" / "cmu_bvh").glob("*.bvh"))}


def load(path: Path, *, clean: bool = True) -> Motion:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MareyWarning)
        return marey.load(path, clean=clean)
