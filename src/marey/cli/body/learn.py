"""`marey body learn`: how a clip moves, as a model to simulate, steer and stream from."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from marey.body.cleanup import clean
from marey.body.dynamics import METHODS, MotionModel
from marey.body.motion import Motion
from marey.body.root_travel import travelling_joint
from marey.character import Character
from marey.cli._console import Clip, Json, Unit, Up, check_apart, emit, load_with_bar, note
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
    clip: Clip = None,
    json: Json = False,
) -> None:
    """Learn how a clip moves: its poses, its cycle, and how one frame follows from those before.

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
    check_apart(out, source)
    motion = clip_of(load_with_bar(source, clip=clip, unit=from_unit, up=from_up), source, raw=raw)
    started = time.perf_counter()
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


def clip_of(thing: Any, path: Path, *, raw: bool) -> Motion:
    """The clip of what a file holds: without joints that only carry the figure, and cleaned."""
    motion = thing.motion if isinstance(thing, Character) else thing
    if not isinstance(motion, Motion):
        raise InputError(f"{path}: skeleton motion is needed, not a {type(thing).__name__}")
    if top := travelling_joint(motion):
        names = motion.skeleton.names
        note(f"left out {', '.join(names[:top])}: {names[top]} below travels by itself")
        motion = motion.subtree(names[top])
    if not raw:
        motion, report = clean(motion)
        for line in report.lines():
            note(f"{path}: {line}")
    return motion


def _period(text: str) -> float | Literal["auto"] | None:
    if text == "auto":
        return "auto"
    if text == "none":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    if not seconds > 0:
        raise InputError(f"--period {text}: seconds, or auto, or none")
    return seconds
