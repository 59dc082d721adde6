"""`marey body compress`: a clip in as few bytes as an error allows."""

from typing import Literal

from marey.cli._console import warn
from marey.cli._options import Length, Numbers, Out, WholeClip, option
from marey.cli._run import Output, Run, command


@command(
    writes="CompressedMotion",
    reports="bytes, raw_bytes, ratio, error_mean_cm, error_max_cm, error_p99_cm, modes",
)
def compress(
    motion: WholeClip,
    run: Run,
    out: Out = option(..., "The compressed clip.", "OUT.mry"),
    max_error: Length | None = option(
        None, "Largest error of any joint in any frame: 1cm, 5mm, 0.01m. 1cm if no error is given.", "LENGTH"
    ),
    mean_error: Length | None = option(None, "Mean error of joints.", "LENGTH"),
    method: Literal["transform", "tournier"] = option("transform", "Our codec, or that of Tournier 2011."),
    modes: int | None = option(
        None, "With --method tournier: number of geodesics, instead of an error bound.", "K"
    ),
    levels: Numbers | None = option(
        None, "With --method tournier: finest levels left out of the root's curves, and of the rest.", "P[,P]"
    ),
) -> Output:
    """Store a clip in a few kilobytes, within an error you choose.

    Examples:
        marey body compress walk.bvh walk.mry                         within 1 cm
        marey body compress walk.bvh walk.mry --max-error 1mm
        marey body compress walk.bvh walk.mry --mean-error 1cm        1 cm on average, as small as can be
        marey body compress 02_01.bvh walk.mry --raw                  with the T-pose in frame 0
        marey body compress walk.bvh walk.mry --method tournier --modes 12 --levels 3,4
        marey view walk.mry -o walk.mp4                               compressed clips open anywhere
    """
    from marey import body
    from marey.body.codec.clip import MAX_ERROR, measure

    dropped = None if levels is None else [int(level) for level in (levels * 2)[:2]]
    compressed = run.call("compressing", body.compress, motion, dropped_levels=dropped)
    measured = measure(motion, compressed, max_error or MAX_ERROR)
    if max_error is not None and measured.error_max_cm > 100 * max_error * (1 + 1e-6):
        warn(f"the largest error is {measured.error_max_cm} cm, more than asked for")
    text = run.path("motion").stat().st_size if run.path("motion").suffix.lower() == ".bvh" else None
    report = {
        **measured.as_dict(),
        "encode_milliseconds_per_frame": run.milliseconds(motion.frames),
        "ratio_bvh_text": None if text is None else round(text / compressed.bytes, 2),
    }
    return Output(compressed, report)
