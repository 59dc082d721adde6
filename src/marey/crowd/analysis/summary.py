"""What velocity fields hold, in a few numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from marey.crowd.analysis.derivatives import divergence, vorticity
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.crowd.spectrum import error_curve

# Shares of the temporal frequencies whose energy is given, and frames whose derivatives are computed.
SHARES, SAMPLED_FRAMES = (0.01, 0.05, 0.1), 400


def summary(fields: FieldSeries) -> dict[str, Any]:
    """Sizes, speeds (pixels a frame), direction, derivatives and compressibility of velocity fields."""
    inside = slice(None) if fields.mask is None else fields.mask
    speed = np.concatenate(
        [np.hypot(v[..., 0], v[..., 1])[inside].ravel() for v in fields.velocities[:: _step(fields)]]
    )
    speed = speed if len(speed) else np.zeros(1)
    mean = fields.velocities.mean(axis=0, dtype=np.float64)[inside].reshape(-1, 2)
    drift = mean.mean(axis=0) if len(mean) else np.zeros(2)
    sample = fields.velocities[:: _step(fields)].astype(np.float64)
    curve = error_curve(fields)
    return {
        "frames": fields.frames,
        "rows": fields.rows,
        "columns": fields.columns,
        "frame_rate": fields.frame_rate,
        "duration": round(fields.duration, 6),
        "raw_bytes": 8 * fields.frames * fields.rows * fields.columns,
        "masked_share": None if fields.mask is None else _rounded(1 - fields.mask.mean()),
        "calibrated": fields.homography is not None,
        "speed": {
            "mean": _rounded(speed.mean()),
            "median": _rounded(np.median(speed)),
            "p99": _rounded(np.quantile(speed, 0.99)),
            "max": _rounded(speed.max()),
        },
        # 0 is to the right, 90 downwards in the image.
        "direction_degrees": _rounded(np.degrees(np.arctan2(drift[1], drift[0]))) if drift.any() else None,
        "drift": [_rounded(part) for part in drift],
        "divergence": _extremes(divergence(sample, fields.mask)),
        "vorticity": _extremes(vorticity(sample, fields.mask)),
        "information": {
            f"{share:.0%}": round(100 * (1 - curve[max(1, round(share * fields.frames)) - 1]), 3)
            for share in SHARES
        },
        "presence_share": _presence_share(fields),
    }


def _presence_share(fields: FieldSeries) -> float | None:
    """Over where presence is known."""
    known = np.empty(0) if fields.presence is None else fields.presence[fields.presence != UNKNOWN]
    return _rounded(known.mean() / 255) if known.size else None


def _step(fields: FieldSeries) -> int:
    return -(-fields.frames // SAMPLED_FRAMES)


def _extremes(values: Any) -> dict[str, float]:
    return {"min": _rounded(values.min()), "max": _rounded(values.max())}


def _rounded(value: Any) -> float:
    return round(float(value), 5)
