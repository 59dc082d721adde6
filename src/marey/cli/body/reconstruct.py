"""`marey body reconstruct`: a full body from a few trackers."""

from pathlib import Path
from typing import TYPE_CHECKING

from marey.cli._inputs import Given, cleaned, in_clip, read, whole_clip
from marey.cli._options import CONVENTION, Names, Out, Pair, PoseModelFile, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.body.motion import Motion
    from marey.body.skeleton import Skeleton
    from marey.body.trackers import Trackers


@command(writes="Motion", views=(".png",), reports="frames; error_cm")
def reconstruct(
    run: Run,
    source: Path = argument(
        "Markers (.c3d), a table (.csv), or a clip to take joints of.",
        "TRACKERS",
        role="in",
        reads=(*CONVENTION, "frames", "raw"),
    ),
    out: Out = option(..., "Clip or image (.png) to write.", "OUT"),
    model: PoseModelFile = option(..., "Pose model (marey body fit).", "MODEL"),
    truth: Path | None = option(None, "The true motion, to measure the error by.", "CLIP", role="in"),
    map: list[Pair] = option((), "Which joint a marker or tracker sits on.", "NAME=JOINT"),
    joints: Names | None = option(
        None, "Joints to follow, of a clip; feet and head if not given.", "J1,J2,…"
    ),
    directions: Names | None = option(
        None, "Joints of a clip whose direction is followed too; head, or none.", "J1,…"
    ),
    online: bool = option(False, "Frame by frame, from the past alone."),
    noise: float = option(0.6, "Standard deviation of tracked positions, cm.", "CM", above=0),
) -> Output:
    """Full-body motion from a few tracked points and a pose model.

    Examples:
        marey body fit walks/ -o walk.mry
        marey body reconstruct vr.csv -o body.bvh --model walk.mry --map headset=Head --map left=LeftHand
        marey body reconstruct take.c3d -o body.bvh --model walk.mry --map LTOE=LeftToeBase --map HEAD=Head
        marey body reconstruct walk.bvh -o again.bvh --model walk.mry       feet and head of a clip, as a test
        marey body reconstruct walk.bvh -o again.bvh --model walk.mry --joints LeftHand,Head --online

    A table has a column time (seconds) and NAME_x, NAME_y, NAME_z in metres for each tracker, and
    NAME_qw, NAME_qx, NAME_qy, NAME_qz where it reports a direction. Empty cells are missing samples.
    """
    import numpy as np

    from marey import body
    from marey.body.reconstruct import ReconstructSettings, compare

    trackers, real = _trackers(source, model.skeleton, dict(map), joints, directions, run.given)
    frames, first = run.given.frames, 0 if real is None else real.first_frame
    if truth is not None:
        real = whole_clip(truth, Given(raw=run.given.raw))
    if frames is not None:
        frames = in_clip(frames, first)
        trackers = trackers[frames]
        real = real[frames] if real is not None and real.frames > trackers.frames else real
    settings = ReconstructSettings(noise=noise / 100)
    found = run.call("solving", body.reconstruct, model, trackers, settings=settings)
    report = {
        "frames": found.frames,
        "trackers": list(trackers.names),
        "missing": round(float(1 - np.isfinite(trackers.positions).all(axis=2).mean()), 6),
        "modes": model.modes,
        "milliseconds_per_frame": run.milliseconds(found.frames),
        **({} if real is None else compare(found, real).as_dict()),
    }
    return Output(found, report, marks=trackers.positions)


def _trackers(
    source: Path,
    skeleton: "Skeleton",
    names: dict[str, str],
    joints: list[str] | None,
    directions: list[str] | None,
    given: Given,
) -> "tuple[Trackers, Motion | None]":
    """What is tracked and, of a clip, the clip itself as the truth."""
    from marey.body.markers import Markers
    from marey.body.motion import Motion
    from marey.body.trackers import Trackers, feet_and_head, sits_on
    from marey.character import Character
    from marey.io import trackers_csv

    if source.suffix.lower() == ".csv":
        if given.from_unit is not None or given.from_up is not None:
            raise InputError("a table of trackers is in metres and y up: leave out --from-unit and --from-up")
        table = trackers_csv.read(source, frame_rate=given.from_frame_rate).renamed(names)
        return table.on_joints(skeleton, joints), None
    data = read(source, given)
    if isinstance(data, Markers):
        unknown = [name for name in names if name not in data.names]
        if unknown:
            raise InputError(f"--map {unknown[0]}=…: no such marker; there are {', '.join(data.names[:16])}")
        there = [name for name in data.names if name in names or sits_on(skeleton, name)]
        if not there:
            raise InputError(
                f"{source}: no marker is called like a joint; say where they sit, e.g. "
                f"--map {data.names[0]}={skeleton.names[0]}"
            )
        mapping = {name: names.get(name, name) for name in there}
        return Trackers.of_markers(data, mapping).on_joints(skeleton, joints), None
    motion = data.motion if isinstance(data, Character) else data
    if not isinstance(motion, Motion):
        kind = type(data).__name__
        raise InputError(f"{source}: holds a {kind}, not a clip, markers or a table of trackers")
    if names:
        raise InputError("--map is for markers and tables; of a clip, --joints says which joints to follow")
    motion = cleaned(motion, source, given)
    chosen = joints or feet_and_head(motion.skeleton)
    heads = [name for name in chosen if "head" in name.lower()]
    turned = heads if directions is None else [name for name in directions if name != "none"]
    return Trackers.of_motion(motion, chosen, directions=turned), motion
