"""`marey body fingers`: the motion of a hand from its fingertips."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from marey.cli._console import stage, warn
from marey.cli._inputs import read, slice_frames
from marey.cli._options import CONVENTION, Length, Out, Seed, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


@command(writes="Motion", views=(".png",), reports="error_cm")
def fingers(
    run: Run,
    source: Path = argument(
        "Table of fingertips (.csv), or a clip of a hand.", "TIPS", role="in", reads=(*CONVENTION, "frames")
    ),
    out: Out = option(..., "Clip or image (.png) of the hand to write.", "OUT"),
    hand: Path | None = option(
        None, "Another clip of the hand, to learn from how its joints turn.", "CLIP", role="in"
    ),
    hand_length: Length = option(0.19, "Wrist to tip of the middle finger, e.g. 19cm; our hand.", "LENGTH"),
    smooth: float = option(0.0, "Smooth over so many frames.", "FRAMES", min=0),
    seed: Seed = 0,
) -> Output:
    """All joints of a hand from the positions of its fingertips.

    Examples:
        marey body fingers tips.csv hand.bvh --hand-length 18cm
        marey body fingers take.csv hand.bvh --hand calibration.bvh
        marey body fingers mug.bvh again.bvh --frames 0:500      tips of a clip, as a test

    A table has a column time (seconds) and Thumb_x, Thumb_y, Thumb_z in metres, and so on for Index, Middle,
    Ring and Pinky (with --hand, names of its joints, or JOINT_end), in the frame of the wrist: right hand,
    fingers along z, palm down, thumb to +x. If it has Wrist_x … Wrist_qz, tips are in the world instead.
    Empty cells are missing samples.
    """
    import numpy as np

    from marey.body.ik.targets import END
    from marey.body.particles import fingers_from_tips, hand_chain, hand_of_clip
    from marey.body.particles.hands import FINGERS
    from marey.body.trackers import Trackers
    from marey.geometry import rotations as so3
    from marey.io import trackers_csv

    given, truth = run.given, None
    learned = None if hand is None else _hand(hand, {**given, "from_frame_rate": None})
    if source.suffix.lower() == ".csv":
        chain = hand_chain(size=hand_length, forearm=False) if learned is None else hand_of_clip(learned)
        tips = trackers_csv.read(source, frame_rate=given["from_frame_rate"])
    else:
        truth = _hand(source, given)
        chain = hand_of_clip(truth if learned is None else learned)
        ends = [chain.skeleton.names[joint] + END for joint in chain.skeleton.end_parents]
        tips = Trackers.of_motion(truth, ends)
        truth = slice_frames(truth, given["frames"])
    tips = slice_frames(tips, given["frames"])
    ours = {finger: f"{finger}3{END}" for finger in FINGERS if f"{finger}3" in chain.skeleton.names}
    tips, wrist = _wrist(tips.renamed({name: ours[name] for name in tips.names if name in ours}), chain)
    if wrist is None and truth is not None:
        wrist = np.asarray(truth.root), np.asarray(truth.rotations[:, 0])
    with stage("solving") as solving:
        found = fingers_from_tips(
            chain, tips.positions, tips.names, frame_rate=tips.frame_rate, wrist=wrist, smoothing=smooth,
            rng=seed, progress=solving,
        )  # fmt: skip
    motion = found.motion if truth is None else replace(found.motion, convention=truth.convention)
    report = {
        "frames": motion.frames,
        "tips": list(tips.names),
        "error_cm": round(100 * float(np.nanmax(found.errors)), 5),
        "error_mean_cm": round(100 * float(np.nanmean(found.errors)), 5),
        "searches": found.searches,
        "milliseconds_per_frame": round(1e3 * solving.seconds / motion.frames, 3),
    }
    if truth is not None:
        apart = np.linalg.norm(motion.positions() - truth.positions(), axis=2)[:, 1:]
        turned = so3.distance(motion.rotations, truth.rotations)[:, 1:]
        report["joint_error_cm"] = round(100 * float(apart.mean()), 5)
        report["joint_error_degrees"] = round(float(np.degrees(turned.mean())), 4)
    return Output(motion, report, marks=tips.positions)


def _hand(path: Path, given: dict[str, Any]) -> Any:
    """A clip of a hand whose fingers end in tips."""
    from marey.body.particles.hands import with_fingertips

    data = read(path, given, "Motion", "Character", hint="a clip of a hand or a table of fingertips (.csv)")
    motion, added = with_fingertips(getattr(data, "motion", data))
    if added:
        warn("fingers end at their last joint: a bone is added along the one before")
    return motion


def _wrist(tips: Any, chain: Any) -> tuple[Any, Any]:
    """The fingertips alone, and where the wrist was if that is known."""
    import numpy as np

    from marey.body.ik.targets import find_point

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
