"""`marey body steer`: hands and feet reach given points at given times; the clip around them follows."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.body.chain import ChainResult, chain
from marey.body.motion import Motion
from marey.body.steer import TimedReach, steer
from marey.body.steer.requests import targets
from marey.cli._typer import (
    Clip,
    Json,
    Rate,
    Root,
    Unit,
    Up,
    check_apart,
    emit,
    note,
    progress_bar,
)
from marey.cli.body._inputs import load_clip
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.io._files import atomic_write

NAME = "steer"

EXAMPLE = "JOINT@TIME=X,Y,Z, metres, or JOINT@TIME=+X,Y,Z for an offset"
# Poses of a picture, and its size.
SHOWN = 5
SIZE = (1280, 400)
# Repetitions, and seconds between two.
MOST, LONGEST = 1000, 60.0


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Clip to steer.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Clip to write.")],
    reach: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINT@TIME=X,Y,Z",
            help="Where a joint is at a time, metres and seconds; with a +, how far from where it was. "
            "X,Y,Z/X,Y,Z/…: for each repetition.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="displace: change the clip smoothly; joint or gp: simulate it anew, all together or each "
            "coordinate by itself.",
        ),
    ] = "displace",
    deviation: Annotated[
        float, typer.Option(metavar="S", help="Random change beside displace; 1: as in the clip's dynamics.")
    ] = 0.0,
    interval: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="How long the change may take; as long as needed if not given."),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(metavar="N", help="The clip N times in a row, each from where it ended.")
    ] = None,
    turn: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Degrees to turn before each further repetition.")
    ] = None,
    transition: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Between repetitions; as long as needed if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of what is simulated.")] = 0,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Poses around each target: the clip above, the new below."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Take the clip as it is, artificial T-pose and glitches included.")
    ] = False,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    clip: Clip = None,
    json: Json = False,
) -> None:
    """Re-aim an action: hands and feet reach given points at given times.

    [bold]Examples[/bold]

    marey body steer catch.bvh higher.bvh --reach LeftHand@3.1=+0,0.15,0 --reach RightHand@3.1=+0,0.15,0

    marey body steer walk.bvh wave.bvh --reach RightHand@1.5=0.4,1.7,0.3 --picture wave.png

    marey body steer walk.bvh other.bvh --reach LeftHand@2=+0.1,0.1,0 --deviation 0.5 --seed 7

    marey body steer kick.bvh three.bvh --reach LeftToeBase@1.4=+0,0,0/+0,-0.2,0.1/+0,-0.4,0 --turn 20,-30

    marey body steer walk.bvh far.bvh --repeat 3                     the clip three times in a row

    Frames outside the changed intervals stay as they are; feet in contact stay where they are.
    """
    check_apart(out, source)
    if "Motion" not in format_to_write(out).writes:
        raise InputError(f"{out}: write a clip (.bvh, .glb, .usd, .mry)")
    if picture is not None and picture.suffix.lower() != ".png":
        raise InputError(f"--picture {picture}: pictures are written as .png")
    if transition is not None and not 0 < transition <= LONGEST:
        raise InputError(f"--transition {transition:g}: seconds above 0, at most {LONGEST:g}")
    options: dict[str, Any] = {"unit": from_unit, "up": from_up, "frame_rate": from_frame_rate, "root": root}
    motion = load_clip(source, clip=clip, raw=raw, **options)
    parsed = [_parsed(text) for text in reach or []]
    times = _repetitions(parsed, repeat)
    if not parsed and times == 1:
        raise InputError(f"nothing to do: give --reach {EXAMPLE}, or --repeat N")
    wanted = [[ways[i if len(ways) > 1 else 0] for ways in parsed] for i in range(times)]
    asked = [[one for one in some if one is not None] for some in wanted]
    facts: dict[str, Any]
    if times > 1:
        if method != "displace" or interval is not None:
            raise InputError("--method and --interval are for a clip that is not repeated")
        with progress_bar("chaining"):
            chained = chain(
                motion, asked, turns=_turns(turn, times), transition=transition, deviation=deviation, rng=seed
            )
        result, facts = chained.motion, _reported(chained, motion)
        before, requests = chained.before, _at_their_times(asked, chained)
    else:
        if turn is not None or transition is not None:
            raise InputError("--turn and --transition are for a clip that is repeated (--repeat N)")
        with progress_bar("steering"):
            found = steer(motion, asked[0], method=method, deviation=deviation, interval=interval, rng=seed)
        for line in found.lines():
            note(line)
        result, before, requests = found.motion, motion, asked[0]
        facts = {
            "residual_cm": [round(miss, 4) for miss in found.residual_cm],
            "peak_acceleration_ratio": round(found.peak_acceleration_ratio, 4),
            "intervals": [[a / motion.frame_rate, b / motion.frame_rate] for a, b in found.intervals],
        }
    with progress_bar(f"writing {out.name}") as progress:
        save(result, out, progress=progress)
    if picture is not None:
        _draw(before, result, requests, picture)
    emit({**facts, "frames": result.frames, "path": str(out)}, as_json=json)


def _reported(chained: ChainResult, motion: Motion) -> dict[str, Any]:
    steered = chained.steered
    for line in steered.lines() if steered else ():
        note(line)
    return {
        "residual_cm": [round(miss, 4) for miss in steered.residual_cm] if steered else [],
        "peak_acceleration_ratio": round(steered.peak_acceleration_ratio, 4) if steered else 0.0,
        "starts": [start / motion.frame_rate for start in chained.starts],
        "transitions": [[a / motion.frame_rate, b / motion.frame_rate] for a, b in chained.transitions],
    }


def _parsed(text: str) -> list[TimedReach | None]:
    """One request, or one for each repetition (None where nothing is asked)."""
    name, equals, rest = text.partition("=")
    joint, at, when = name.rpartition("@")
    try:
        time = float(when)
    except ValueError:
        time = math.nan
    if not (joint.strip() and at and equals and math.isfinite(time)):
        raise InputError(f"--reach {text}: write it as {EXAMPLE}")
    return [_place(text, joint.strip(), time, part) for part in rest.split("/")]


def _place(text: str, joint: str, time: float, part: str) -> TimedReach | None:
    if not part.strip():
        return None
    words = [word.strip() for word in part.split(",")]
    try:
        values = np.array([float(word.removeprefix("+")) for word in words])
    except ValueError:
        values = np.empty(0)
    if values.shape != (3,) or not np.isfinite(values).all():
        raise InputError(f"--reach {text}: write it as {EXAMPLE}")
    return TimedReach(joint, time, values, relative=any(word.startswith("+") for word in words))


def _repetitions(parsed: list[list[TimedReach | None]], repeat: int | None) -> int:
    counts = {len(ways) for ways in parsed if len(ways) > 1}
    if repeat is not None and repeat < 1:
        raise InputError(f"--repeat {repeat}: at least once")
    if repeat is not None and repeat > MOST:
        raise InputError(f"--repeat {repeat}: at most {MOST} times")
    if len(counts | ({repeat} if repeat is not None else set())) > 1:
        told = sorted(counts | ({repeat} if repeat is not None else set()))
        raise InputError(f"--reach and --repeat name different numbers of repetitions: {told}")
    return repeat if repeat is not None else max(counts, default=1)


def _turns(text: str | None, times: int) -> list[float] | None:
    if text is None:
        return None
    try:
        angles = [math.radians(float(word)) for word in text.split(",")]
    except ValueError:
        angles = []
    if len(angles) != times - 1 or not all(math.isfinite(angle) for angle in angles):
        raise InputError(f"--turn {text}: {times - 1} angles in degrees, one before each further repetition")
    return angles


def _at_their_times(asked: list[list[TimedReach]], chained: ChainResult) -> list[TimedReach]:
    """Requests of all repetitions at the times of the whole."""
    rate = chained.motion.frame_rate
    return [
        replace(one, time=one.time + start / rate)
        for some, start in zip(asked, chained.starts, strict=True)
        for one in some
    ]


def _draw(before: Motion, after: Motion, requests: list[TimedReach], out: Path) -> None:
    """Poses around the targets, the original above, the result below, balls where targets are."""
    from marey.io.images import encode_image
    from marey.views.actors import side_by_side
    from marey.views.shots import strip

    asked = targets(before, requests) if requests else []
    frames = _shown(after.frames, [goal.frame for goal in asked], after.frame_rate)
    marks = np.full((len(frames), len(asked), 3), np.nan)
    for column, goal in enumerate(asked):
        marks[[frame == goal.frame for frame in frames], column] = goal.position
    pictures = [strip(side_by_side(clip, frames, marks=marks), SIZE) for clip in (before, after)]
    with atomic_write(out) as draft:
        draft.write_bytes(encode_image(np.concatenate(pictures), out.suffix))


def _shown(count: int, asked: list[int], rate: float) -> list[int]:
    """Frames to draw: those of targets, and some before and after."""
    moments = sorted(set(asked))
    if len(moments) > 1:
        between = [(a + b) // 2 for a, b in pairwise(moments)]
        return sorted({*moments, *between})[: 2 * SHOWN]
    if not moments:
        return [int(frame) for frame in np.linspace(0, count - 1, SHOWN)]
    step = 0.2 * rate
    return sorted(
        {int(np.clip(moments[0] + i * step, 0, count - 1)) for i in range(-(SHOWN // 2), SHOWN // 2 + 1)}
    )
