"""`marey body restyle`: timing and style of another clip."""

from typing import Literal

from marey.cli._options import Figure, Out, WholeClip, argument, option
from marey.cli._run import Output, Run, command


@command(writes="Motion", reports="path_cost")
def restyle(
    motion: WholeClip,
    run: Run,
    reference: WholeClip = argument("Another clip of the same gestures, same skeleton.", "REFERENCE"),
    out: Out = option(..., "The clip in the style of the reference.", "OUT"),
    timing: Literal["reference", "own"] = option("reference", "Whose timing the result has."),
    spatial: float = option(0.0, "How much of the reference's posture and fine detail to take.", "0..1"),
    method: Literal["linear", "pca"] = option(
        "linear", "pca: as published (Courty 2013, 2.2.1): components of rotation vectors as they are."
    ),
    modes: int | None = option(
        None, "Coordinates to align by; those of 90 % of the variance if not given.", "K"
    ),
    band: float | None = option(
        None, "How far from even pace the alignment may go, e.g. 0.2; any if not given.", "SHARE"
    ),
    open: bool = option(False, "All of one may match a part of the other: walks of different length."),
    derivative: float = option(0.0, "Compare rates of change too, times so many seconds.", "S"),
    figure: Figure = None,
) -> Output:
    """Replay a clip in the timing, and the style if wanted, of another clip.

    Examples:
        marey body restyle neutral.bvh angry.bvh out.bvh                       neutral poses, angry timing
        marey body restyle angry.bvh neutral.bvh out.bvh                       angry poses, neutral timing
        marey body restyle walk.bvh old.bvh out.bvh --timing own --spatial 1   own timing, old posture
        marey body restyle neutral.bvh angry.bvh out.bvh --method pca --modes 6
        marey body restyle walk.bvh happy.bvh out.bvh --open --figure steps.png

    The figure shows the three clips aligned.
    """
    from marey import body

    found = run.call("aligning", body.restyle, motion, reference, open_ends=open)
    names = run.path("motion").stem, run.path("reference").stem, out.stem
    drawn = ("aligned_clips", motion, reference, found, {"names": names})
    return Output(found.motion, {**found.as_dict(), "timing": timing, "spatial": spatial}, drawn)
