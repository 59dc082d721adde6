"""`marey body fingers`: the motion of a hand from its fingertips."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.body.ik.targets import END, find_point
from marey.body.motion import Motion
from marey.body.particles import ArticulatedChain, fingers_from_tips, hand_chain, hand_of_clip
from marey.body.particles.hands import FINGERS
from marey.body.trackers import Trackers
from marey.character import Character
from marey.cli._typer import (
    Frames,
    Json,
    Rate,
    Unit,
    Up,
    check_apart,
    emit,
    load_with_bar,
    note,
    parse_frames,
    parse_length,
    progress_bar,
)
from marey.cli.body._pictures import check_writable, write
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.io import trackers_csv

NAME = "fingers"

# Of the bone before it: how long the last bone of a finger is where a skeleton ends at its last joint.
LAST_BONE = 0.85


def run(
    source: Annotated[
        Path, typer.Argument(metavar="TIPS", help="Table of fingertips (.csv), or a clip of a hand.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Clip or image (.png) of the hand to write.")],
    hand: Annotated[
        Path | None,
        typer.Option(metavar="CLIP", help="Another clip of the hand, to learn from how its joints turn."),
    ] = None,
    size: Annotated[
        str, typer.Option(metavar="LENGTH", help="Wrist to tip of the middle finger, e.g. 19cm; our hand.")
    ] = "19cm",
    smooth: Annotated[float, typer.Option(metavar="FRAMES", help="Smooth over so many frames.")] = 0.0,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed gives the same motion.")] = 0,
    frames: Frames = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    json: Json = False,
) -> None:
    """All joints of a hand from the positions of its fingertips.

    [bold]Examples[/bold]

    marey body fingers tips.csv hand.bvh --size 18cm

    marey body fingers take.csv hand.bvh --hand calibration.bvh

    marey body fingers mug.bvh again.bvh --frames 0:500      the tips of a clip, as a test: error beside truth

    A table has a column time (seconds) and Thumb_x, Thumb_y, Thumb_z in metres, and so on for Index, Middle,
    Ring and Pinky (with --hand, names of its joints, or JOINT_end), in the frame of the wrist: right hand,
    fingers along z, palm down, thumb to +x. If it has Wrist_x … Wrist_qz, tips are in the world instead.
    Empty cells are missing samples.
    """
    check_writable(out)
    check_apart(out, source)
    length = parse_length(size, "--size")
    if length is None or seed < 0 or not (np.isfinite(smooth) and smooth >= 0):
        raise InputError("--size must be a length, --seed and --smooth not below 0")
    options = {"unit": from_unit, "up": from_up, "frame_rate": from_frame_rate}
    truth: Motion | None = None
    learned = None if hand is None else _hand(hand, {"unit": from_unit, "up": from_up})
    if source.suffix.lower() == ".csv":
        chain = hand_chain(size=length, forearm=False) if learned is None else hand_of_clip(learned)
        tips = trackers_csv.read(source, frame_rate=from_frame_rate)
    else:
        truth = _hand(source, options)
        chain = hand_of_clip(truth if learned is None else learned)
        tips = Trackers.of_motion(truth, _ends(chain))
    chosen = parse_frames(frames)
    if chosen is not None:
        tips, truth = tips[chosen], None if truth is None else truth[chosen]
    tips, wrist = _wrist(_renamed(tips, chain), chain)
    if wrist is None and truth is not None:
        wrist = np.asarray(truth.root), np.asarray(truth.rotations[:, 0])
    began = time.perf_counter()
    with progress_bar("solving") as progress:
        found = fingers_from_tips(
            chain, tips.positions, tips.names, frame_rate=tips.frame_rate, wrist=wrist, smoothing=smooth,
            rng=seed, progress=progress,
        )  # fmt: skip
    seconds = time.perf_counter() - began
    motion = found.motion if truth is None else replace(found.motion, convention=truth.convention)
    write(motion, out, np.asarray(tips.positions))
    facts: dict[str, Any] = {
        "frames": motion.frames,
        "tips": list(tips.names),
        "error_cm": round(100 * float(np.nanmax(found.errors)), 5),
        "error_mean_cm": round(100 * float(np.nanmean(found.errors)), 5),
        "searches": found.searches,
        "milliseconds_per_frame": round(1e3 * seconds / motion.frames, 3),
        "path": str(out),
    }
    if truth is not None:
        apart = np.linalg.norm(motion.positions() - truth.positions(), axis=2)[:, 1:]
        turned = so3.distance(motion.rotations, truth.rotations)[:, 1:]
        facts["joint_error_cm"] = round(100 * float(apart.mean()), 5)
        facts["joint_error_degrees"] = round(float(np.degrees(turned.mean())), 4)
    emit(facts, as_json=json)


def _hand(path: Path, options: dict[str, Any]) -> Motion:
    """A clip of a hand whose fingers end in tips."""
    thing = load_with_bar(path, clip=None, **options)
    motion = thing.motion if isinstance(thing, Character) else thing
    if not isinstance(motion, Motion):
        raise InputError(f"{path}: not a clip of a hand nor a table of fingertips (.csv)")
    skeleton = motion.skeleton
    ends = np.array(skeleton.end_offsets)
    bare = np.linalg.norm(ends, axis=1) < 1e-6
    if bare.any():
        note("fingers end at their last joint: a bone is added along the one before")
        before = np.array(skeleton.offsets)[np.asarray(skeleton.end_parents)]
        ends[bare] = LAST_BONE * before[bare]
    return replace(motion, skeleton=replace(skeleton, end_offsets=ends), translations=None)


def _ends(chain: ArticulatedChain) -> list[str]:
    skeleton = chain.skeleton
    if not len(skeleton.end_parents):
        raise InputError("the hand's fingers have no tips: its skeleton has no end sites")
    return [skeleton.names[joint] + END for joint in skeleton.end_parents]


def _renamed(tips: Trackers, chain: ArticulatedChain) -> Trackers:
    """Fingers by name as the tips of our hand."""
    ours = {finger: f"{finger}3{END}" for finger in FINGERS if f"{finger}3" in chain.skeleton.names}
    return tips.renamed({name: ours[name] for name in tips.names if name in ours})


def _wrist(tips: Trackers, chain: ArticulatedChain) -> tuple[Trackers, tuple[np.ndarray, np.ndarray] | None]:
    """The fingertips alone, and where the wrist was if that is known."""
    root = chain.skeleton.names[0]
    others = [name for name in tips.names if name != root]
    for name in others:
        find_point(chain.skeleton, name)
    if not others:
        raise InputError("the table has no fingertip; columns are called e.g. Index_x, Index_y, Index_z")
    if root not in tips.names:
        return tips, None
    row = tips.names.index(root)
    if tips.rotations is None or not np.isfinite(tips.rotations[:, row]).all():
        raise InputError(f"{root}: its rotation ({root}_qw … {root}_qz) is needed in every frame")
    return tips.only(others), (np.asarray(tips.positions[:, row]), np.asarray(tips.rotations[:, row]))
