"""`marey surface interpolate`: meshes between two poses."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from marey.cli._console import stage
from marey.cli._inputs import mesh_frames
from marey.cli._options import Frame, Numbers, Out, argument, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

# Endings of images and clips, and how many weights each shows, evenly from 0 to 1, if none are given.
SHOWN = {".png": 5, ".mp4": 60, ".gif": 60}
# Meshes, and vertices of all together: half a gigabyte.
MAX_MESHES, MAX_VERTICES = 10_000, 40_000_000


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
        None, "N meshes from A to B, both included, instead of --at.", "N", min=2, max=MAX_MESHES
    ),
    method: Literal["poisson", "linear"] = option("poisson", "How meshes are interpolated."),
    stretch: Literal["linear", "geometric"] = option("linear", "How faces stretch.", "HOW"),
) -> Output:
    """In-between meshes of two poses that keep lengths and volumes.

    Examples:
        marey surface interpolate dance.npz:10 dance.npz:60 between.obj
        marey surface interpolate stand.obj crouch.obj down.glb --count 30
        marey surface interpolate fox.glb:Walk:3 fox.glb:Run:8 between.png --at 0.25,0.5,0.75

    Images and clips show the meshes beside linear ones, red where edges are too long or short. Where the two
    stand and which way they face may differ: the result stands and faces between them. Volume and edge errors
    say how far the meshes are from the expected, beside those of linear interpolation.
    """
    import numpy as np

    from marey.surface.interpolation.distortion import in_betweens

    if at is not None and count is not None:
        raise InputError("give --at or --count, not both")
    shown = count or SHOWN.get(out.suffix.lower(), 1)
    weights = np.linspace(0.0, 1.0, shown) if shown > 1 else np.array([0.5])
    weights = weights if at is None else np.array(at)
    if not ((weights >= 0) & (weights <= 1)).all() or len(weights) > MAX_MESHES:
        raise InputError("--at: write numbers from 0 to 1 with commas between, e.g. 0.25,0.5,0.75")
    (source, here), (other, there) = mesh_frames([first, second], run.given)
    if not len(source.faces):
        raise InputError(f"{first}: it has points but no faces; in-betweens need a surface")
    sizes = [(one.vertices.shape[1], len(one.faces)) for one in (source, other)]
    if sizes[0] != sizes[1] or not np.array_equal(source.faces, other.faces):
        raise InputError(
            f"{second}: its connectivity is not that of {first} ({sizes[1][0]} and {sizes[0][0]} vertices, "
            f"{sizes[1][1]} and {sizes[0][1]} faces); in-betweens need two poses of one mesh"
        )
    most = max(MAX_VERTICES // sizes[0][0], 1)
    if len(weights) > most:
        raise InputError(
            f"{len(weights)} meshes of {sizes[0][0]} vertices are too many at once: ask for at most {most}"
        )
    start, end = source.vertices[here], other.vertices[there]
    with stage("interpolating") as progress:
        made = in_betweens(
            start, end, source.faces, weights, method=method, stretch=stretch, progress=progress
        )
    result = replace(source[here], vertices=made.vertices, frame_rate=source.frame_rate)
    report = {
        "frames": len(weights),
        "milliseconds": round(made.milliseconds, 3),
        "volume_error": made.errors.volume,
        "edge_error": made.errors.edges,
        "linear_volume_error": made.linear_errors.volume,
        "linear_edge_error": made.linear_errors.edges,
        "method": method,
    }

    def draw(path: Path, progress: Any) -> None:
        from marey.views.figures.surface import InBetweens, draw_in_betweens

        lines = replace(result, vertices=made.linear)
        kinds = [InBetweens("straight lines", lines, weights, start, end)]
        if method != "linear":
            kinds.insert(0, InBetweens(method, result, weights, start, end))
        draw_in_betweens(kinds, path, progress=progress)

    return Output(result, report, draw=draw)
