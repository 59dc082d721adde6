"""`marey body steer`: hands and feet reach given points at given times; the clip around them follows."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from marey.cli._console import warn
from marey.cli._options import Clip, Numbers, Out, Parsed, Seed, bounded, option
from marey.cli._run import Output, Run, check_ending, command
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.body.codec import CompressedMotion
    from marey.body.steer import SteerResult, TimedReach

EXAMPLE = "JOINT@TIME=X,Y,Z, metres, or JOINT@TIME=+X,Y,Z for an offset"


def _requests(text: str) -> "list[TimedReach | None]":
    """One request, or one for each repetition (None where nothing is requested)."""
    from marey.body.steer import TimedReach

    name, _, rest = text.partition("=")
    joint, _, when = name.rpartition("@")
    found: list[TimedReach | None] = []
    for part in rest.split("/"):
        values = [float(word.strip().removeprefix("+")) for word in part.split(",")] if part.strip() else None
        if values is not None and not (len(values) == 3 and all(map(math.isfinite, [*values, float(when)]))):
            raise ValueError
        if not joint.strip():
            raise ValueError
        relative = "+" in part.replace("e+", "")
        requested = (
            None if values is None else TimedReach(joint.strip(), float(when), values, relative=relative)
        )
        found.append(requested)
    return found


def _interval(text: str) -> "float | str":
    return text if text == "published" else _SECONDS(text)


_SECONDS = bounded(float, None, None, 0)
Interval = Annotated["float | str", Parsed(_interval, "seconds above 0, or published")]


@command(writes=("Motion", "CompressedMotion"), reports="residual_cm, peak_acceleration_ratio")
def steer(
    run: Run,
    motion: Clip,
    out: Out,
    reach: list[Annotated["list[TimedReach | None]", Parsed(_requests, f"write it as {EXAMPLE}")]] = option(
        (),
        "Where a joint is at a time, metres and seconds; with a +, how far from where it was. "
        "X,Y,Z/X,Y,Z/…: for each repetition.",
        "JOINT@TIME=X,Y,Z",
    ),
    method: Literal["displace", "joint", "gp"] = option(
        "displace", "displace: change the clip smoothly; joint or gp: simulate it anew.", "METHOD"
    ),
    deviation: float = option(0.0, "Random change beside displace; 1: as in a simulation.", "S"),
    interval: Interval | None = option(
        None,
        "How long the change may take; as long as needed if not given. With gp also published: twice the "
        "largest length of the processes, poses by inverse kinematics in the model (Courty & Cuzol 2010).",
        "SECONDS|published",
    ),
    repeat: int | None = option(
        None, "The clip N times in a row, each from where it ended.", "N", min=1, max=1000
    ),
    turn: Numbers | None = option(None, "Degrees to turn before each further repetition.", "A,B,…"),
    transition: float | None = option(
        None, "Seconds between repetitions; as long as needed if not given.", "SECONDS", above=0, max=60
    ),
    seed: Seed = 0,
    figure: Path | None = option(
        None, "Poses around each target: the clip above, the result below.", "X.png", role="also"
    ),
) -> Output:
    """Re-aim an action: hands and feet reach given points at given times.

    Examples:
        marey body steer catch.bvh higher.bvh --reach LeftHand@3.1=+0,0.15,0 --reach RightHand@3.1=+0,0.15,0
        marey body steer walk.bvh wave.bvh --reach RightHand@1.5=0.4,1.7,0.3 --figure wave.png
        marey body steer walk.bvh other.bvh --reach LeftHand@2=+0.1,0.1,0 --deviation 0.5 --seed 7
        marey body steer catch.bvh new.bvh --reach LeftHand@3.1=+0,0.15,0 --method gp --interval published
        marey body steer small.mry edited.mry --reach LeftHand@1=+0,0.1,0     a compressed file itself
        marey body steer kick.bvh three.bvh --reach LeftToeBase@1.4=+0,0,0/+0,-0.2,0.1/+0,-0.4,0 --turn 20,-30
        marey body steer walk.bvh far.bvh --repeat 3                     the clip three times in a row

    Frames outside the changed intervals stay as they are; feet in contact stay where they are. A clip of
    compress --method tournier is edited as it is stored, and stays compressed, if OUT is a .mry.
    """
    from marey import body

    if figure is not None:
        check_ending(figure, (), (".png",))
    counts = {len(one) for one in reach if len(one) > 1} | ({repeat} if repeat else set())
    if len(counts) > 1:
        raise InputError(f"--reach and --repeat name different numbers of repetitions: {sorted(counts)}")
    times = max(counts, default=1)
    if interval == "published" and method != "gp":
        raise InputError("--interval published: goes with --method gp")
    if not reach and times == 1:
        raise InputError(f"nothing to do: give --reach {EXAMPLE}, or --repeat N")
    repeated = [[one[i if len(one) > 1 else 0] for one in reach] for i in range(times)]
    requests = [[one for one in several if one is not None] for several in repeated]
    rate = motion.frame_rate
    report: dict[str, object]
    steered: SteerResult | None
    if times > 1:
        if method != "displace" or interval is not None:
            raise InputError("--method and --interval are for a clip that is not repeated")
        if turn is not None and len(turn) != times - 1:
            raise InputError(f"--turn: {times - 1} angles in degrees, one before each further repetition")
        turns = None if turn is None else [math.radians(angle) for angle in turn]
        chained = run.call("chaining", body.chain, motion, requests, turns=turns)
        result, before, steered = chained.motion, chained.before, chained.steered
        requested = [
            replace(one, time=one.time + start / rate)
            for several, start in zip(requests, chained.starts, strict=True)
            for one in several
        ]
        report = {
            "starts": [start / rate for start in chained.starts],
            "transitions": [[a / rate, b / rate] for a, b in chained.transitions],
        }
    else:
        if turn is not None or transition is not None:
            raise InputError("--turn and --transition are for a clip that is repeated (--repeat N)")
        plain = (method, deviation, out.suffix.lower()) == ("displace", 0.0, ".mry")
        rig = _rig(run.path("motion")) if plain else None
        steered = run.call("steering", body.steer, rig or motion, requests[0])
        result, before, requested = steered.motion, motion, requests[0]
        report = {"intervals": [[a / rate, b / rate] for a, b in steered.intervals]}
    for line in steered.lines() if steered else ():
        warn(line)
    if figure is not None:
        from marey.views.render import draw_targets

        draw_targets(before, result, requested, figure)
    residuals = [round(miss, 4) for miss in steered.residual_cm] if steered else []
    ratio = round(steered.peak_acceleration_ratio, 4) if steered else 0.0
    facts = {"residual_cm": residuals, "peak_acceleration_ratio": ratio, **report, "frames": result.frames}
    return Output(result if steered is None or steered.compressed is None else steered.compressed, facts)


def _rig(path: Path) -> "CompressedMotion | None":
    """The compressed clip of a file of Tournier's codec, else None."""
    from marey.io.container import is_compressed, read_compressed

    if not (path.is_file() and is_compressed(path)):
        return None
    clip = read_compressed(path)
    return clip if clip.method == "tournier" else None
