"""`marey surface transition`: from a frame of one sequence to a frame of another."""

from typing import Literal

from marey.cli._inputs import mesh_frames
from marey.cli._options import OF_MESHES, Figure, Frame, Out, Slope, argument, option
from marey.cli._run import Output, Run, command


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
        None, "Frames of both windows; at most this many if optimal. 0.3 s or 2 s.", "N", min=2
    ),
    before: int = option(0, "Captured frames to play before it.", "N"),
    after: int = option(0, "Captured frames to play after it.", "N"),
    objective: Literal["mean", "sum", "weight"] = option(
        "mean",
        "What is least: the mean or sum of distances, or weight: sum plus --alpha a frame, as in graphs.",
        "WHAT",
    ),
    alpha: float = option(0.01, "Cost of a frame of time, with --objective weight.", "A"),
    slope: Slope = 3,
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
    from marey import surface

    (one, first), (two, last) = mesh_frames([source, destination], run.given)
    made = run.call(
        "blending", surface.transition, one, first, two, last, vertices=run.given.vertices, name=out.stem
    )
    return Output(made.animation, made.report, ("warp_path", made.distances, made.path))
