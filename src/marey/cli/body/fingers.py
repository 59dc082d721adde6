"""`marey body fingers`: the motion of a hand from its fingertips."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from marey.cli._inputs import Given, read
from marey.cli._options import CONVENTION, Length, Out, Seed, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.body.motion import Motion
    from marey.body.trackers import Trackers


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
    from marey import body
    from marey.io import trackers_csv

    given = run.given
    tips: Trackers | Motion
    if source.suffix.lower() == ".csv":
        tips = trackers_csv.read(source, frame_rate=given.from_frame_rate)
    else:
        tips = _hand(source, given)
    learned = None if hand is None else _hand(hand, replace(given, from_frame_rate=None))
    found = run.call("solving", body.fingers, tips, hand=learned, frames=given.frames)
    report = {name: value for name, value in found.report.as_dict().items() if value is not None}
    report["milliseconds_per_frame"] = run.milliseconds(found.motion.frames)
    return Output(found.motion, report, marks=found.tips)


def _hand(path: Path, given: Given) -> "Motion":
    from marey.body.motion import Motion
    from marey.character import Character

    data = read(path, given)
    motion = data.motion if isinstance(data, Character) else data
    if not isinstance(motion, Motion):
        kind = type(data).__name__
        raise InputError(f"{path}: holds a {kind}, not a clip of a hand or a table of fingertips (.csv)")
    return motion
