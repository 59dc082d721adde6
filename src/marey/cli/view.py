"""`marey view`: images, clips and pages of anything."""

from marey.cli._console import stage
from marey.cli._options import Anything, Out, Size, option
from marey.cli._run import Output, Run, command


@command(reports="path")
def view(
    source: Anything,
    run: Run,
    out: Out = option(..., "Image, clip or page: .png, .mp4, .gif or .html.", "OUT"),
    kind: str | None = option(
        None,
        "Of a motion: strip (default), curves, path; of a model: modes, variance; dynamics; "
        "of a surface graph: graph, matrix; of an animation of meshes: strip, path, timeline.",
        "KIND",
    ),
    frame_rate: float | None = option(None, "Frames per second of a clip; by default about 30.", "F"),
    size: Size = option((1280, 720), "Pixels.", "WxH"),
) -> Output:
    """Draw an image, a clip or a page of anything we read.

    Examples:
        marey view walk.bvh -o walk.mp4                  a shaded clip, 1280 × 720
        marey view walk.bvh -o walk.png                  poses along the path
        marey view walk.bvh -o walk.html                 a page that plays in any browser, offline
        marey view walk.bvh -o angles.png --kind curves  joint angles over time
        marey view people.csv -o people.png              trajectories
        marey view model.mry -o modes.mp4                modes of a pose model, to and fro
        marey view motion.mry -o dynamics.png            what a motion model does over time
        marey view graph.mry -o graph.png                which transitions a captured subject can make

    On a machine with or without a screen.
    """
    from marey import views

    with stage(f"drawing {out.name}") as progress:
        views.view(
            source,
            out,
            size=size,
            kind=kind,
            frame_rate=frame_rate,
            title=run.path("source").name,
            progress=progress,
        )
    return Output(None, {"path": out})
