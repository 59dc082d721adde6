"""`marey body filter`: take noise out of captured rotations."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

import typer

from marey.body.filter import CUTOFF, METHODS, FilterSettings, filter_motion
from marey.cli._console import (
    Clip,
    Json,
    Rate,
    Root,
    Unit,
    Up,
    check_apart,
    emit,
    progress_bar,
)
from marey.cli.body._inputs import load_whole_clip
from marey.cli.body._pictures import check_clip, check_plot
from marey.errors import InputError
from marey.io import save

NAME = "filter"

OFFERED = tuple(method for method in METHODS if method != "mask")


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Skeleton motion of any format we read.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The filtered clip.")],
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD", help="bilateral (keeps quick motion quick), gaussian, binomial or butterworth."
        ),
    ] = "bilateral",
    sigma: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Width in time: 10ms, 0.01s, 0.01 (seconds), or 2f (frames). 1f if not given.",
        ),
    ] = None,
    angle: Annotated[
        float | None,
        typer.Option(
            metavar="DEGREES",
            help="Bilateral: rotations farther apart do not mix. From the noise if not given.",
        ),
    ] = None,
    passes: Annotated[
        int | None, typer.Option(metavar="N", help="How often; 5 for bilateral and gaussian, else 1.")
    ] = None,
    cutoff: Annotated[
        float, typer.Option(metavar="HZ", help="Butterworth: take away what is faster.")
    ] = CUTOFF,
    order: Annotated[
        int, typer.Option(metavar="N", help="Butterworth: of the filter, run forth and back.")
    ] = 2,
    joints: Annotated[
        str | None, typer.Option(metavar="J1,J2,…", help="Only these joints; all if not given.")
    ] = None,
    keep_root: Annotated[
        bool, typer.Option("--keep-root", help="Leave positions alone, filter rotations only.")
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Bilateral as published: no smoothed guide, mirrored ends.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Take the clip as it is, artificial T-pose and glitches included.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option(metavar="X.png", help="Also draw angles and speeds before and after.")
    ] = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    clip: Clip = None,
    json: Json = False,
) -> None:
    """Take noise out of a captured clip, and leave what is quick as quick as it was.

    [bold]Examples[/bold]

    marey body filter noisy.bvh clean.bvh

    marey body filter noisy.bvh clean.bvh --method butterworth --cutoff 8

    marey body filter noisy.bvh clean.bvh --method gaussian --sigma 20ms --passes 1

    marey body filter noisy.bvh clean.bvh --joints LeftHand,RightHand --angle 6 --picture compare.png

    Scales come from the noise of each joint: a clean clip hardly changes.
    """
    _check_options(source, target, method, angle, picture)
    motion = load_whole_clip(
        source, raw=raw, clip=clip, unit=from_unit, up=from_up, frame_rate=from_frame_rate, root=root
    )
    settings = FilterSettings(
        method,
        sigma=_seconds(sigma, motion.frame_rate),
        # The filter measures half angles, as its source does; people mean whole ones.
        sigma_g=None if angle is None else 0.5 * math.radians(angle),
        passes=passes,
        cutoff=cutoff,
        order=order,
        guided=not plain,
        boundary="mirror" if plain else "extrapolate",
    )
    names = None if joints is None else [name.strip() for name in joints.split(",") if name.strip()]
    with progress_bar("filtering"):
        filtered, report = filter_motion(motion, settings, joints=names, root_path=not keep_root)
    with progress_bar(f"writing {target.name}") as progress:
        save(filtered, target, progress=progress)
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.before_and_after(motion, filtered, list(report.joints)), picture)
    emit({**report.as_dict(), "method": method, "frames": filtered.frames, "path": str(target)}, as_json=json)


def _check_options(
    source: Path, target: Path, method: str, angle: float | None, picture: Path | None
) -> None:
    check_clip(target)
    check_plot(picture)
    check_apart(target, source)
    if method not in OFFERED:
        raise InputError(f"--method {method}: one of {', '.join(OFFERED)}")
    if angle is not None and not 0.0 < angle <= 360.0:
        raise InputError(f"--angle {angle:g}: degrees, above 0")


def _seconds(text: str | None, frame_rate: float) -> float | None:
    """Seconds of `10ms`, `0.01s`, `0.01` or, at this frame rate, `2f`."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(ms|s|f|)\s*", text)
    if found is None:
        raise InputError(f"--sigma {text}: write a time, e.g. 10ms, 0.01s or 2f (frames)")
    return float(found.group(1)) * {"ms": 1e-3, "f": 1.0 / frame_rate}.get(found.group(2), 1.0)
