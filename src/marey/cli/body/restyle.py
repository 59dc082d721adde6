"""`marey body restyle`: timing and style of another clip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from marey.body.restyle import TIMINGS, restyle
from marey.cli._typer import (
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

NAME = "restyle"


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The clip to change.")],
    reference: Annotated[
        Path,
        typer.Argument(metavar="REFERENCE", help="Another clip of the same gestures, same skeleton."),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The clip in the style of the reference.")],
    timing: Annotated[
        str, typer.Option(metavar="reference|own", help="Whose timing the result has.")
    ] = "reference",
    spatial: Annotated[
        float,
        typer.Option(metavar="0..1", help="How much of the reference's posture and fine detail to take."),
    ] = 0.0,
    modes: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="Coordinates to align by; those of 90 % of the variance if not given."
        ),
    ] = None,
    band: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="How far from even pace the alignment may go, e.g. 0.2; any if not given."
        ),
    ] = None,
    open_ends: Annotated[
        bool,
        typer.Option("--open", help="All of one may match a part of the other: walks of different length."),
    ] = False,
    derivative: Annotated[
        float, typer.Option(metavar="S", help="Compare rates of change too, times so many seconds.")
    ] = 0.0,
    raw: Annotated[
        bool, typer.Option("--raw", help="Take clips as they are, artificial T-pose and glitches included.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option(metavar="X.png", help="Also draw the three clips in step.")
    ] = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Replay a clip in the timing, and the style if wanted, of another clip.

    [bold]Examples[/bold]

    marey body restyle neutral.bvh angry.bvh out.bvh                     neutral poses, angry timing

    marey body restyle angry.bvh neutral.bvh out.bvh                     the other way round

    marey body restyle walk.bvh old.bvh out.bvh --timing own --spatial 1   own timing, old posture

    marey body restyle walk.bvh happy.bvh out.bvh --open --picture steps.png
    """
    check_clip(target)
    check_plot(picture)
    check_apart(target, source, reference)
    if timing not in TIMINGS:
        raise InputError(f"--timing {timing}: one of {', '.join(TIMINGS)}")
    options: dict[str, Any] = {"unit": from_unit, "up": from_up, "frame_rate": from_frame_rate, "root": root}
    motion, other = (load_whole_clip(path, raw=raw, **options) for path in (source, reference))
    with progress_bar("aligning"):
        found = restyle(
            motion,
            other,
            timing=timing,
            spatial=spatial,
            modes=modes,
            band=band,
            open_ends=open_ends,
            derivative=derivative,
        )
    with progress_bar(f"writing {target.name}") as progress:
        save(found.motion, target, progress=progress)
    if picture is not None:
        from marey.views import figures, style

        names = source.stem, reference.stem, target.stem
        style.save(figures.aligned_clips(motion, other, found, names=names), picture)
    emit({**found.as_dict(), "timing": timing, "spatial": spatial, "path": str(target)}, as_json=json)
