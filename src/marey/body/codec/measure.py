"""Sizes of a compressed clip, and errors of what is decoded from its very bytes."""

from __future__ import annotations

import time
from dataclasses import dataclass

from marey._report import Report
from marey.body.codec.clip import CompressedMotion, engine_bytes
from marey.body.compare import joint_error, relative_distortion
from marey.body.motion import Motion


@dataclass(frozen=True)
class CompressionReport(Report):
    """What compression saved and lost; `share_within` counts joints within the error allowed."""

    bytes: int
    raw_bytes: int
    ratio: float
    error_mean_cm: float
    error_max_cm: float
    error_p99_cm: float
    share_within: float
    method: str
    modes: int
    segments: int
    frames: int
    joints: int
    published_ratio: float | None
    ratio_acl_raw: float
    distortion_f: float
    distortion_squared: float
    decode_milliseconds_per_frame: float


def measure(motion: Motion, compressed: CompressedMotion, threshold: float) -> CompressionReport:
    """Compare a clip with its compressed form; `threshold` in metres is the error allowed."""
    again = CompressedMotion(compressed.data)
    again.decode(0)  # so that compilation is not counted
    started = time.perf_counter()
    decoded = again.decode()
    seconds = time.perf_counter() - started
    error = joint_error(motion, decoded, threshold=threshold)
    distortion = relative_distortion(motion, decoded)
    tournier = compressed.method == "tournier"
    return CompressionReport(
        compressed.bytes,
        compressed.raw_bytes,
        round(compressed.ratio, 2),
        round(100 * error.mean, 5),
        round(100 * error.maximum, 5),
        round(100 * error.percentile_99, 5),
        round(error.share_within, 6),
        compressed.method,
        compressed.modes,
        len(compressed.segments),
        compressed.frames,
        compressed.joints,
        round(compressed.tournier.ratio, 2) if tournier else None,
        round(engine_bytes(motion) / compressed.bytes, 2),
        round(distortion.frobenius, 5),
        round(distortion.squared, 5),
        round(1e3 * seconds / compressed.frames, 5),
    )
