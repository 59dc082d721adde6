"""`marey crowd capture`: the motion in a film of people."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from marey._progress import Progress
from marey.cli._typer import Frames, Json, Rate, cut, emit, errors, load_with_bar, note, parse_frames
from marey.crowd.capture import METHODS, capture_to, plan_capture
from marey.crowd.footage import Footage
from marey.errors import InputError
from marey.io import cameras
from marey.io.drafts import FieldDraft
from marey.io.images import read_image

NAME = "capture"


def run(
    source: Annotated[
        Path, typer.Argument(metavar="VIDEO", help="A video, a folder of pictures, or frame_%04d.jpg.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The fields: .zarr, .mry or flow_%04d.flo.")],
    method: Annotated[
        str, typer.Option(metavar="|".join(METHODS), help="Estimator; divcurl keeps vortices and sources.")
    ] = METHODS[0],
    alpha: Annotated[
        float | None,
        typer.Option(metavar="A", help="Weight of smoothness (divcurl, hs); from the pictures if not given."),
    ] = None,
    motion: Annotated[
        str | None,
        typer.Option(
            metavar="crowd|seen",
            help="The steady flow people follow, or what each pixel shows (divcurl, hs). "
            "crowd if not given; with --alpha, seen.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="WxH|N|full",
            help="Working grid: 320x240, or N for the longer side, or full. 320 if not given.",
        ),
    ] = None,
    mask: Annotated[
        Path | None, typer.Option(metavar="M.png", help="Picture of any size; what is white counts.")
    ] = None,
    area: Annotated[
        list[str] | None,
        typer.Option(metavar="C,R C,R …", help="Corners of a polygon in the video; what is inside counts."),
    ] = None,
    camera: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Calibration (Tsai XML, camera.json) or homography (text)."),
    ] = None,
    plane_height: Annotated[
        float, typer.Option(metavar="M", help="Metres above the ground at which bodies are seen, e.g. 0.9.")
    ] = 0.0,
    presence: Annotated[
        bool, typer.Option("--presence/--no-presence", help="Also find who is seen where.")
    ] = True,
    frames: Frames = None,
    from_frame_rate: Rate = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the draft of an interrupted capture, OUT.partial.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Threads; one a core if not given.")] = None,
    json: Json = False,
) -> None:
    """Capture the motion in a video as velocity fields.

    [bold]Examples[/bold]

    marey crowd capture street.mp4 street.zarr

    marey crowd capture street.mp4 street.zarr --size 640 --mask walkable.png

    marey crowd capture few.mp4 few.zarr --motion seen              each person's own motion

    marey crowd capture view.avi view.zarr --camera View_001.xml --plane-height 0.9

    marey crowd capture hours.mp4 hours.zarr --resume               go on after an interruption

    marey crowd capture pilgrims/ flow.zarr --method hs --alpha 250 --frames 0:20

    marey view street.zarr -o street.mp4                            look at it
    """
    started = time.perf_counter()
    footage = _footage(source, from_frame_rate, frames)
    plan = plan_capture(
        footage,
        method=method,
        size=_parse_size(size, footage),
        mask=_mask(mask, area),
        camera=None if camera is None else cameras.read(camera),
        plane_height=plane_height,
        alpha=alpha,
        motion=motion,
        presence=presence,
    )
    draft = FieldDraft(target, resume=resume)
    with _told_how_to_resume(draft.draft), _bar(f"capturing {source.name}") as progress:
        report = capture_to(plan, draft, jobs=jobs, progress=progress)
    seconds = time.perf_counter() - started
    if report.repeated:
        note(f"{report.repeated} pictures are the same as the one before; their fields are zero")
    emit(
        {
            "frames": report.frames,
            "rows": plan.rows,
            "columns": plan.columns,
            "seconds": round(seconds, 3),
            "method": plan.method,
            "alpha": alpha,
            "motion": plan.motion,
            "speed_mean": round(report.speed_mean, 4),
            "speed_max": round(report.speed_max, 4),
            "presence_share": None if report.presence_share is None else round(report.presence_share, 4),
            "repeated": report.repeated,
            "resumed_at": report.resumed_at,
            "frames_per_second": round((report.frames - report.resumed_at) / seconds, 2),
            "path": str(target),
        },
        as_json=json,
    )


def _footage(source: Path, frame_rate: float | None, frames: str | None) -> Footage:
    thing = load_with_bar(source, clip=None, frame_rate=frame_rate)
    if not isinstance(thing, Footage):
        raise InputError(f"{source}: holds a {type(thing).__name__}, not a video or pictures")
    footage: Footage = cut(thing, parse_frames(frames))
    return footage


def _parse_size(text: str | None, footage: Footage) -> int | tuple[int, int] | None:
    """(columns, rows), or the longer side; None if nothing was asked for."""
    if text is None:
        return None
    if text.strip().lower() == "full":
        return footage.columns, footage.rows
    found = re.fullmatch(r"(\d{1,5})(?:[x×](\d{1,5}))?", text.strip().lower())
    if found is None:
        raise InputError(f"--size {text}: write it as 320x240, or 320 for the longer side, or full")
    columns, rows = found.groups()
    return int(columns) if rows is None else (int(columns), int(rows))


def _mask(path: Path | None, areas: list[str] | None) -> Any:
    """What counts, as an image or as polygons."""
    if path is not None and areas:
        raise InputError("--mask and --area: give one of them")
    if path is not None:
        return read_image(path).mean(axis=2).astype(np.uint8)
    return [_parse_polygon(text) for text in areas] if areas else None


def _parse_polygon(text: str) -> NDArray[np.float64]:
    """Corners `(n, 2)`, (column, row).

    >>> _parse_polygon("0,0 10,0 10,5.5").tolist()
    [[0.0, 0.0], [10.0, 0.0], [10.0, 5.5]]
    """
    number = r"-?\d+(?:\.\d+)?"
    if not re.fullmatch(rf"\s*{number},{number}(?:[\s;]+{number},{number}){{2,}}\s*", text):
        raise InputError(f"--area {text}: write three corners or more, e.g. '100,50 600,50 600,400'")
    return np.array([float(value) for value in re.findall(number, text)]).reshape(-1, 2)


@contextmanager
def _told_how_to_resume(draft: Path) -> Iterator[None]:
    """If the work is interrupted, say that it is not lost."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if draft.exists():
            note(f"interrupted; what is done lies in {draft}, --resume goes on with it")
        raise


@contextmanager
def _bar(label: str) -> Iterator[Progress]:
    """A bar on standard error (when that is a terminal) that also says how fast it goes."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bars:
        task = bars.add_task(label, total=None, rate="")

        def move(done: int, total: int) -> None:
            speed = bars.tasks[0].speed
            rate = "" if speed is None else f"{speed:.1f} a second"
            bars.update(task, completed=done, total=total, rate=rate)

        yield move
