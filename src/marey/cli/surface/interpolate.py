"""`marey surface interpolate`: meshes between two poses."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from marey.cli._inputs import mesh_frames
from marey.cli._options import Frame, Numbers, Out, argument, option
from marey.cli._run import Output, Run, command

if TYPE_CHECKING:
    from marey._work import Progress

# Endings of images and clips, and how many weights each shows, evenly from 0 to 1, if none are given.
SHOWN = {".png": 5, ".mp4": 60, ".gif": 60}


@command(writes="MeshSequence", views=tuple(SHOWN), reports="milliseconds, volume_error, edge_error")
def interpolate(
    run: Run,
    first: Frame = argument("A mesh, or SEQUENCE:FRAME.", "A", role="in", reads=("from_unit", "from_up")),
    second: Frame = argument("Another of the same connectivity.", "B", role="in"),
    out: Out = option(..., "Mesh or sequence to write, or image (.png, .mp4).", "OUT"),
    at: Numbers | None = option(
        None, "How far along, from 0 (A) to 1 (B); a mesh is halfway if not given.", "W1,W2,…"
    ),
    count: int | None = option(
        None, "N meshes from A to B, both included, instead of --at.", "N", min=2, max=10_000
    ),
    method: Literal["poisson", "two-sided", "linear"] = option(
        "poisson", "poisson: one metric, volumes kept; two-sided: that of either end (Boukhayma 2017, 2.49)."
    ),
    stretch: Literal["linear", "geometric"] = option("linear", "How faces stretch.", "HOW"),
) -> Output:
    """In-between meshes of two poses that keep lengths and volumes.

    Examples:
        marey surface interpolate dance.npz:10 dance.npz:60 between.obj
        marey surface interpolate stand.obj crouch.obj half.obj --method two-sided
        marey surface interpolate stand.obj crouch.obj down.glb --count 30
        marey surface interpolate fox.glb:Walk:3 fox.glb:Run:8 between.png --at 0.25,0.5,0.75

    Images and clips show the meshes beside linear ones, red where edges are too long or short. The two may
    stand and face anywhere: the result stands and faces between them. Volume and edge errors say how far the
    meshes are from the expected, beside those of linear interpolation.
    """
    from marey import surface

    shown = SHOWN.get(out.suffix.lower()) if at is None and count is None else count
    (source, here), (other, there) = mesh_frames([first, second], run.given)
    start, end = source[here], other[there]
    made = run.call("interpolating", surface.interpolate, start, end, count=shown)

    def draw(path: Path, progress: "Progress") -> None:
        from marey.views.figures.surface import InBetweens, draw_in_betweens

        poses = made.weights, start.vertices[0], end.vertices[0]
        kinds = [InBetweens("straight lines", made.linear, *poses)]
        if method != "linear":
            kinds.insert(0, InBetweens(method, made.sequence, *poses))
        draw_in_betweens(kinds, path, progress=progress)

    return Output(made.sequence, {**made.report.as_dict(), "method": method}, draw=draw)
