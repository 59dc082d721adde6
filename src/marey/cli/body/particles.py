"""`marey body particles`: motions that reach, look and stand, found by particles."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from marey.body.ik.targets import find_point
from marey.body.motion import Motion
from marey.body.particles import (
    ArticulatedChain,
    Balance,
    Constraint,
    FilteredMotion,
    LearnedDynamics,
    LookAt,
    NearPose,
    Noisy,
    PoseBatch,
    PosePrior,
    Reach,
    feet_on_floor,
    polished,
    solve_many,
)
from marey.body.particles.constraints import Target, as_constraints
from marey.body.pose_model import PoseModel
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
from marey.cli.body._inputs import frame_at, joint_numbers, load_clip, load_pose_model
from marey.cli.body._pictures import check_writable, write
from marey.errors import InputError

NAME = "particles"

# Centimetres from which on an error is reported in words.
MISSED = 2.0

Array = NDArray[np.float64]

# Modes of the pose model that dynamics are learned in.
MODES = 12


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Clip of the character.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Clip or image (.png) to write.")],
    reach: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=X,Y,Z", help="Bring a joint to a place, metres.")
    ] = None,
    move: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=X,Y,Z", help="Move a joint by so much, metres.")
    ] = None,
    look_at: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=X,Y,Z", help="Let a joint, e.g. Head, face a point.")
    ] = None,
    floor: Annotated[
        bool, typer.Option("--floor", help="Keep the feet that stand where they are, and balance.")
    ] = False,
    at: Annotated[float, typer.Option(metavar="T", help="Which moment to start from, seconds.")] = 0.0,
    count: Annotated[int, typer.Option(metavar="N", help="Number of particles.")] = 300,
    steps: Annotated[int, typer.Option(metavar="M", help="Number of steps: frames of the result.")] = 60,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Pose model (marey body fit): keep to likely poses.")
    ] = None,
    dynamics: Annotated[
        bool, typer.Option("--dynamics", help="Move as the clip does: dynamics learned from it.")
    ] = False,
    solutions: Annotated[int, typer.Option(metavar="K", help="Different motions: OUT-1, OUT-2, …")] = 1,
    polish: Annotated[
        bool,
        typer.Option("--polish", help="Meet targets in the end as exactly as limits and feet allow."),
    ] = False,
    frame_rate: Annotated[float, typer.Option(metavar="F", help="Of the result, frames per second.")] = 30.0,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed gives the same motion.")] = 0,
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
    """A motion to a pose that meets targets, found by particles within joint limits.

    [bold]Examples[/bold]

    marey body particles walk.bvh reach.bvh --reach LeftHand=0.4,1.2,0.5 --floor

    marey body particles walk.bvh reach.png --move RightHand=0,-0.5,0.3 --floor --polish

    marey body particles walk.bvh up.bvh --move LeftHand=0,0.4,0.2 --solutions 3 --seed 7

    marey body particles walk.bvh turn.bvh --look-at Head=2,1.5,0 --model walk.mry

    Places are in metres, y up. Knees and elbows are hinges, other joints turn within cones; these limits are
    never left, only widened to hold the poses of the clip.
    """
    _check(source, out, count, steps, solutions, frame_rate, seed)
    motion = load_clip(
        source, raw=raw, clip=clip, unit=from_unit, up=from_up, frame_rate=from_frame_rate, root=root
    )
    if motion.translations is not None:
        note("joints that slide are posed with the bones of the skeleton at rest")
        motion = replace(motion, translations=None)
    first = _frame(motion, at)
    chain = ArticulatedChain.human(motion.skeleton).widened_to(motion)
    asked = _targets(first, reach, move, look_at)
    held: list[Constraint] = []
    if floor:
        feet = feet_on_floor(first)
        held = [*feet, Balance([foot.target.joint for foot in feet])]
    if model is not None:
        priors: list[Constraint] = [PosePrior(load_pose_model(model, motion))]
    else:
        priors = [NearPose(first.rotations[0])]
    options: dict[str, Any] = {"particles": count, "steps": steps}
    if dynamics:
        options["evolution"] = _dynamics(chain, motion, frame_rate)
    began = time.perf_counter()
    with progress_bar("solving"):
        found = solve_many(
            chain, [*asked, *held, *priors], solutions, start=first.rotations[0], root=first.root[0],
            rng=seed, **options,
        )  # fmt: skip
        results = [_finished(chain, one.motion, frame_rate, asked, held, polish, motion) for one in found]
    seconds = time.perf_counter() - began
    paths = [out] if solutions == 1 else [_numbered(out, i + 1) for i in range(len(results))]
    marks = np.array([target.position for target in asked if isinstance(target, Reach)]).reshape(-1, 3)
    for path, result in zip(paths, results):
        write(result, path, np.repeat(marks[None], result.frames, axis=0))
    errors = [_errors(result, asked) for result in results]
    facts: dict[str, Any] = {
        "error_cm": errors[0][0],
        "error_degrees": errors[0][1],
        "foot_drift_cm": round(100 * _drift(results[0], held), 4) if floor else None,
        "seconds": round(seconds, 3),
        "particles": count,
        "effective": round(float(found[0].motion.effective.mean()), 1),
        "steps": steps,
        "freedoms": chain.freedoms,
        "files": [str(path) for path in paths],
    }
    if solutions > 1:
        facts["errors_cm"] = [error for error, _ in errors]
    if (errors[0][0] or 0.0) > MISSED:
        note(f"a target is missed by {errors[0][0]:.1f} cm: it may be out of reach; more --steps may help")
    emit(facts, as_json=json)


def _check(
    source: Path, out: Path, count: int, steps: int, solutions: int, frame_rate: float, seed: int
) -> None:
    check_writable(out)
    check_apart(out, source)
    for option, value, least in (
        ("--count", count, 10), ("--steps", steps, 2), ("--solutions", solutions, 1), ("--seed", seed, 0),
    ):  # fmt: skip
        if value < least:
            raise InputError(f"{option} {value}: at least {least}")
    if not (math.isfinite(frame_rate) and frame_rate > 0):
        raise InputError(f"--frame-rate {frame_rate}: frames per second above 0")


def _frame(motion: Motion, at: float) -> PoseBatch:
    frame = frame_at(motion, at, "--at")
    rows = slice(frame, frame + 1)
    return PoseBatch(motion.skeleton, np.array(motion.rotations[rows]), np.array(motion.root[rows]))


def _targets(
    first: PoseBatch, reach: list[str] | None, move: list[str] | None, look_at: list[str] | None
) -> list[Target]:
    targets: list[Target] = []
    for option, texts in (("--reach", reach), ("--move", move), ("--look-at", look_at)):
        for text in texts or []:
            joint, place = joint_numbers(option, text)
            find_point(first.skeleton, joint)
            if option == "--look-at":
                targets.append(LookAt(joint, place))
            else:
                targets.append(Reach(joint, place + (first.point(joint)[0] if option == "--move" else 0.0)))
    if not targets:
        raise InputError("nothing to do: give a target, e.g. --reach LeftHand=0.3,1.4,0.5")
    return targets


def _dynamics(chain: ArticulatedChain, motion: Motion, frame_rate: float) -> LearnedDynamics:
    """A second-order autoregression of the clip's poses, at the frame rate of the result."""
    from marey.statistics.autoregression import fit

    clip = motion.resample(frame_rate)
    if clip.frames < 3 * MODES:
        raise InputError(
            f"--dynamics: {clip.frames} frames are too few to learn from; {3 * MODES} are needed"
        )
    model = PoseModel.fit([clip], modes=min(MODES, 3 * clip.joints))
    return LearnedDynamics(chain, model, fit(model.encode(clip), order=2), spread=2.0)


def _finished(
    chain: ArticulatedChain,
    found: FilteredMotion,
    frame_rate: float,
    asked: list[Target],
    held: list[Constraint],
    polish: bool,
    like: Motion,
) -> Motion:
    result = found.motion(frame_rate)
    if polish:
        result = polished(chain, result, held, asked)
    return replace(result, name=like.name, convention=like.convention, channels=like.channels)


def _numbered(out: Path, number: int) -> Path:
    return out.with_name(f"{out.stem}-{number}{out.suffix}")


def _errors(result: Motion, asked: list[Target]) -> tuple[float | None, float | None]:
    """Centimetres and, for looks, degrees by which the last frame misses its targets at most."""
    last = PoseBatch(result.skeleton, np.array(result.rotations[-1:]), np.array(result.root[-1:]))
    errors = [float(np.linalg.norm(one.errors(last))) for one in as_constraints(asked)]
    places = [100 * error for error, target in zip(errors, asked) if isinstance(target, Reach)]
    looks = [math.degrees(error) for error, target in zip(errors, asked) if isinstance(target, LookAt)]
    return _largest(places), _largest(looks)


def _largest(values: list[float]) -> float | None:
    return round(max(values), 4) if values else None


def _drift(result: Motion, held: list[Constraint]) -> float:
    """Metres by which feet leave their places at most."""
    all_frames = PoseBatch(result.skeleton, np.array(result.rotations), np.array(result.root))
    feet = [foot for foot in held if isinstance(foot, Noisy)]
    return max(float(np.linalg.norm(foot.errors(all_frames), axis=1).max()) for foot in feet)
