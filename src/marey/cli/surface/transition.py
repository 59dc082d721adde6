"""`marey surface transition`: from a frame of one sequence to a frame of another."""

from typing import Any, Literal

from marey.cli._console import stage
from marey.cli._inputs import mesh_frames
from marey.cli._options import OF_MESHES, Figure, Frame, Out, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


@command(writes="MeshSequence", views=(".png", ".mp4", ".gif"), reports="cost, length")
def transition(
    run: Run,
    source: Frame = argument("The frame to leave.", "SEQ_A:FRAME", role="in", reads=OF_MESHES),
    destination: Frame = argument("The frame to arrive at.", "SEQ_B:FRAME", role="in"),
    out: Out = option(..., "Sequence to write, or an image (.png) or clip (.mp4).", "OUT"),
    method: Literal["optimal", "warped", "standard"] = option(
        "optimal",
        "optimal: the best windows and timing; warped: windows of --length, best timing; standard: "
        "windows of --length, frame by frame.",
        "METHOD",
    ),
    length: int | None = option(
        None, "Frames of both windows; at most so many if optimal. 0.3 s or 2 s.", "N", min=2
    ),
    before: int = option(0, "Captured frames to play before it.", "N"),
    after: int = option(0, "Captured frames to play after it.", "N"),
    objective: Literal["mean", "sum", "weight"] = option(
        "mean",
        "What is least: the mean or sum of distances, or weight: sum plus --alpha a frame, as in graphs.",
        "WHAT",
    ),
    alpha: float = option(0.01, "Cost of a frame of time, with --objective weight.", "A"),
    slope: int = option(3, "Neither side passes more than P times as fast as the other.", "P"),
    figure: Figure = None,
) -> Output:
    """The best transition from one captured frame to another, feet planted.

    Examples:
        marey surface transition walk.npz:40 run.npz:65 start-running.glb
        marey surface transition walk.npz:40 walk.npz:10 loop.npz --before 30 --after 60
        marey surface transition walk.npz:40 run.npz:65 plain.glb --method standard --length 12
        marey surface transition walk.npz:40 run.npz:65 joined.mp4 --figure timing.png
        marey surface transition walk.bvh:40 run.bvh:65 start-running.glb --vertices 2000

    Frames count from 0; below 0, from the end; a skeleton clip is skinned first, with 30 a second. Costs are
    sums of pose distances, radians. The figure shows the timing over the pose distances.
    """
    from marey.surface.contacts import compare_foot_skate
    from marey.surface.decimation import decimate
    from marey.surface.sequence import Library
    from marey.surface.synthesis.transition import make_transition

    (one, first), (two, last) = mesh_frames([source, destination], run.given)
    library = Library((one,)) if one is two else Library((one, two))
    last += 0 if one is two else one.frames
    if run.given["vertices"] is not None:
        library = decimate(library, vertices=run.given["vertices"])
    windows = _windows(library.frame_rate, method, length, slope)
    left = one.frames - first
    arrived = library.locate(last)[1] + 1
    for reference, room, where in ((source, left, "from it on"), (destination, arrived, "up to it")):
        if room < windows.shortest:
            raise InputError(
                f"{reference}: there are {room} frames {where}, but the window needs {windows.shortest}; "
                "choose another frame, or a shorter --length"
            )
    with stage("blending") as progress:
        made = make_transition(
            library, first, last, windows, method=method, objective=objective, alpha=alpha, before=before,
            after=after, name=out.stem, progress=progress,
        )  # fmt: skip
    found, plain, animation = made.transition, made.standard, made.animation
    skate = compare_foot_skate(animation, library, made.ground.contacts)
    report = {
        "cost": round(found.cost, 6),
        "length": found.length,
        "mean_cost": round(found.cost / found.length, 6),
        "windows": [int(column.max() - column.min()) + 1 for column in found.path.T],
        "standard_mean_cost": None if plain is None else round(plain.cost / plain.length, 6),
        "frames": animation.sequence.frames,
        "captured_frames": animation.provenance.captured_frames,
        "slide_cm_s": round(100 * skate.animation.speed, 4),
        "slide_ratio": round(skate.ratio, 4),
    }
    return Output(animation, report, ("warp_path", made.distances, found))


def _windows(frame_rate: float, method: str, length: int | None, slope: int) -> Any:
    from marey.statistics.graphs.graph import Windows

    usual = Windows.at(frame_rate, slope=slope)
    if method == "optimal":
        longest = usual.longest if length is None else length
        return Windows(min(usual.shortest, longest), longest, slope)
    exact = usual.shortest if length is None else length
    return Windows(exact, exact, slope)
