"""`marey body filter`: remove noise from captured rotations."""

from typing import Literal

from marey.cli._options import Duration, Figure, Names, Out, WholeClip, option
from marey.cli._run import Output, Run, command


@command(writes="Motion", reports="change_degrees")
def filter(
    run: Run,
    motion: WholeClip,
    out: Out,
    method: Literal["bilateral", "gaussian", "binomial", "butterworth"] = option(
        "bilateral", "bilateral (keeps quick motion quick), gaussian, binomial or butterworth.", "METHOD"
    ),
    sigma: Duration | None = option(
        None, "Width in time: 10ms, 0.01s, 0.01 (seconds), or 2f (frames). 1f if not given.", "TIME"
    ),
    angle: float | None = option(
        None,
        "Bilateral: rotations farther apart in degrees do not mix. From the noise if not given.",
        "DEGREES",
        above=0,
        max=360,
    ),
    passes: int | None = option(None, "Repetitions; 5 for bilateral and gaussian, else 1.", "N"),
    cutoff: float | None = option(None, "Butterworth: remove frequencies above; 6 if not given.", "HZ"),
    order: int | None = option(None, "Butterworth: order of the filter, run forth and back; 2.", "N"),
    joints: Names | None = option(None, "Only these joints; all if not given.", "J1,J2,…"),
    keep_root: bool = option(False, "Leave positions alone, filter rotations only."),
    plain: bool = option(False, "Bilateral as published: no smoothed guide, mirrored ends."),
    figure: Figure = None,
) -> Output:
    """Remove noise from a captured clip and keep quick motion quick.

    Examples:
        marey body filter noisy.bvh clean.bvh
        marey body filter noisy.bvh clean.bvh --method butterworth --cutoff 8
        marey body filter noisy.bvh clean.bvh --method gaussian --sigma 20ms --passes 1
        marey body filter noisy.bvh clean.bvh --joints LeftHand,RightHand --angle 6 --figure compare.png

    Scales come from the noise of each joint: a clean clip hardly changes. The figure shows angles and speeds
    before and after.
    """
    from marey import body

    width = None if sigma is None else sigma.seconds(motion.frame_rate)
    filtered, report = run.call("filtering", body.filter, motion, sigma=width)
    figure_of = ("before_and_after", motion, filtered, list(report.joints))
    return Output(filtered, {**report.as_dict(), "method": method, "frames": filtered.frames}, figure_of)
