"""`marey crowd info`: what is in a captured flow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.cli._typer import Json, emit
from marey.cli.crowd._series import check_picture, load_fields
from marey.crowd.analysis.derivatives import divergence, vorticity
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.crowd.spectrum import error_curve

NAME = "info"

SHARES = (0.01, 0.05, 0.1)
# Frames whose derivatives are looked at.
LOOKED_AT = 400


def run(
    source: Annotated[Path, typer.Argument(metavar="FIELD", help="Velocity fields: .zarr, .mry, .flo.")],
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="X.png", help="Also draw a pixel over time, and the error against numbers kept."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Speeds, direction, divergence and vorticity of a flow, and how it compresses.

    [bold]Examples[/bold]

    marey crowd info street.zarr

    marey crowd info small.mry --json

    marey crowd info street.zarr --picture spectrum.png

    Information is the energy that the lowest 1, 5 and 10 % of the temporal frequencies keep, in per cent.
    """
    check_picture(picture)
    fields = load_fields(source)
    facts = _facts(fields)
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.spectrum(fields), picture)
    emit({"file": str(source), **facts}, as_json=json)


def _facts(fields: FieldSeries) -> dict[str, Any]:
    inside = slice(None) if fields.mask is None else fields.mask
    speed = np.concatenate(
        [np.hypot(v[..., 0], v[..., 1])[inside].ravel() for v in fields.velocities[:: _step(fields)]]
    )
    speed = speed if len(speed) else np.zeros(1)
    mean = fields.velocities.mean(axis=0, dtype=np.float64)[inside].reshape(-1, 2)
    drift = mean.mean(axis=0) if len(mean) else np.zeros(2)
    some = fields.velocities[:: _step(fields)].astype(np.float64)
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
        "divergence": _extremes(divergence(some, fields.mask)),
        "vorticity": _extremes(vorticity(some, fields.mask)),
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
    return -(-fields.frames // LOOKED_AT)


def _extremes(values: Any) -> dict[str, float]:
    return {"min": _rounded(values.min()), "max": _rounded(values.max())}


def _rounded(value: Any) -> float:
    return round(float(value), 5)
