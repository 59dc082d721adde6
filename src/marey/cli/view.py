"""`marey view`: images, clips and pages of anything."""

from marey.cli._options import Anything, Clip, ImageSize, Out, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


@command(reports="path")
def view(
    source: Anything,
    run: Run,
    out: Out | None = option(
        None, "Image, clip or page: .png, .mp4, .gif or .html; without it the page is opened.", "OUT"
    ),
    kind: str | None = option(
        None,
        "Of a motion: strip (default), curves, path; of a model: modes, variance; dynamics; "
        "of a surface graph: graph, matrix; of an animation of meshes: strip, path, timeline.",
        "KIND",
    ),
    frame_rate: float | None = option(None, "Frames per second of a clip; by default about 30.", "F"),
    size: ImageSize = (1280, 720),
    beside: Clip | None = option(None, "Another clip, drawn pale beside the first.", "CLIP"),
    over: Clip | None = option(None, "Another clip, drawn through the first: grey where both agree.", "CLIP"),
) -> Output:
    """Draw an image, a clip or a page of anything we read.

    Examples:
        marey view walk.bvh                              the page that plays it, in the browser
        marey view walk.bvh -o walk.mp4                  a shaded clip, 1280 × 720
        marey view walk.bvh -o walk.png                  poses along the path
        marey view walk.bvh -o walk.html                 a page that plays in any browser, offline
        marey view walk.bvh -o angles.png --kind curves  joint angles over time
        marey view small.mry -o both.mp4 --over walk.bvh where compression changed a clip
        marey view people.csv -o people.png              trajectories
        marey view model.mry -o modes.mp4                modes of a pose model, to and fro
        marey view motion.mry -o dynamics.png            what a motion model does over time
        marey view graph.mry -o graph.png                which transitions a captured subject can make

    On a machine with or without a screen.
    """
    from marey.body.motion import Motion
    from marey.views import view as draw
    from marey.views.render import draw_compared, open_in_browser, temporary_page

    other = beside if over is None else over
    if other is not None and (out is None or out.suffix not in (".png", ".mp4", ".gif")):
        raise InputError("--beside and --over draw an image or clip: -o OUT.png, .mp4 or .gif")
    if other is not None and not (isinstance(source, Motion) and isinstance(other, Motion) and kind is None):
        raise InputError("--beside and --over compare clips of skeletons, without --kind")
    name = run.path("source").name
    path = temporary_page(name) if out is None else out
    if other is None:
        run.call(f"drawing {path.name}", draw, source, path, title=name)
    else:
        run.call(f"drawing {path.name}", draw_compared, source, other, path, through=over is not None)
    if out is None:
        open_in_browser(path)
    return Output(None, {"path": path})
