"""`marey body learn`: how a clip moves, as a model to simulate, steer and stream from."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from marey.body.dynamics import METHODS, MotionModel
from marey.cli._typer import (
    Clip,
    Json,
    Rate,
    Root,
    Unit,
    Up,
    check_apart,
    check_folder,
    emit,
    progress_bar,
)
from marey.cli.body._inputs import load_clip
from marey.errors import InputError
from marey.io import format_to_write, save

NAME = "learn"


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The clip to learn from.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="The model, a .mry file.")],
    method: Annotated[
        str,
        typer.Option(metavar="METHOD", help="joint: limbs move together; gp: each mode by itself (source)."),
    ] = "joint",
    modes: Annotated[int | None, typer.Option(metavar="K", help="Keep this many modes.")] = None,
    variance: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Keep this share of the variance; usually 0.99.")
    ] = None,
    period: Annotated[
        str, typer.Option(metavar="SECONDS", help="Length of a cycle; auto finds it, none has none.")
    ] = "auto",
    raw: Annotated[
        bool, typer.Option("--raw", help="Learn from the clip as it is, T-pose and glitches included.")
    ] = False,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    clip: Clip = None,
    json: Json = False,
) -> None:
    """Learn the dynamics of a clip: its poses, its cycle, and how frames follow.

    [bold]Examples[/bold]

    marey body learn walk.bvh -o walk.mry

    marey body learn walk.bvh -o walk.mry --modes 20 --period none

    marey body learn walk.bvh -o walk.mry --method gp              the source's model

    marey body stream walk.mry --characters 10 --seconds 5         characters that go on moving
    """
    if "MotionModel" not in format_to_write(out).writes:
        raise InputError(f"{out}: a motion model is stored as .mry")
    if method not in METHODS:
        raise InputError(f"--method {method}: one of {', '.join(METHODS)}")
    cycle = _period(period)
    check_folder(out)
    check_apart(out, source)
    motion = load_clip(
        source, raw=raw, clip=clip, unit=from_unit, up=from_up, frame_rate=from_frame_rate, root=root
    )
    started = time.perf_counter()
    with progress_bar("learning"):
        model = MotionModel.fit(motion, modes=modes, variance=variance, period=cycle, method=method)
    milliseconds = 1e3 * (time.perf_counter() - started)
    save(model, out)
    found = model.trend.period
    result: dict[str, Any] = {
        "modes": model.modes,
        "log_likelihood": round(model.log_likelihood(motion), 3),
        "method": model.method,
        "order": model.dynamics.order,
        "radius": round(model.radius, 6),
        "period": None if found is None else round(found, 4),
        "frames": motion.frames,
        "milliseconds": round(milliseconds, 1),
        "path": str(out),
    }
    if not json and found is None:
        result["period"] = "none"
    emit(result, as_json=json)


def _period(text: str) -> float | Literal["auto"] | None:
    if text == "auto":
        return "auto"
    if text == "none":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    if not (math.isfinite(seconds) and seconds > 0):
        raise InputError(f"--period {text}: seconds, or auto, or none")
    return seconds
