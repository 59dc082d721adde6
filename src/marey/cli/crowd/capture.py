"""`marey crowd capture`: the motion in a video of people."""

import re
from pathlib import Path
from typing import Annotated, Literal

from marey.cli._console import warn
from marey.cli._options import Camera, Jobs, Out, Parsed, PlaneHeight, Polygon, Video, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


def _grid(text: str) -> int | tuple[int, int] | Literal["full"]:
    if text.strip().lower() == "full":
        return "full"
    found = re.fullmatch(r"(\d{1,5})(?:[x×](\d{1,5}))?", text.strip().lower())
    if found is None:
        raise ValueError
    return int(found[1]) if found[2] is None else (int(found[1]), int(found[2]))


Grid = Annotated[
    int | tuple[int, int] | Literal["full"],
    Parsed(_grid, "write it as 320x240, or 320 for the longer side, or full"),
]


# Pixels a frame in the mean: less is noise.
STILL = 0.005


@command(reports="frames, rows, columns, seconds")
def capture(
    run: Run,
    video: Video,
    out: Out = option(..., "The fields: .zarr, .mry or flow_%04d.flo.", "OUT"),
    method: Literal["default", "divcurl", "hs", "lk", "dis", "farneback"] = option(
        "default", "Estimator; divcurl, the default, keeps vorticity and divergence.", "METHOD"
    ),
    alpha: float | None = option(
        None, "Weight of smoothness (divcurl, hs); from the images if not given.", "A"
    ),
    motion: str | None = option(
        None,
        "crowd: the steady flow people follow; seen: what each pixel shows (divcurl, hs). "
        "crowd if not given; with --alpha, seen.",
        "crowd|seen",
    ),
    size: Grid | None = option(
        None, "Working grid: 320x240, or N for the longer side, or full. 320 if not given.", "WxH|N|full"
    ),
    mask: Path | None = option(None, "Image of any size; what is white counts.", "M.png", role="in"),
    mask_mode: Literal["cut", "decorrelate"] = option(
        "cut", "cut: nothing crosses the mask's border; decorrelate: as published.", "MODE"
    ),
    area: list[Polygon] = option(
        (), "Corners of a polygon in the video; what is inside counts.", "C,R C,R …"
    ),
    camera: Camera = None,
    plane_height: PlaneHeight = 0.0,
    foreground: bool = option(True, "Also write where people are seen."),
    resume: bool = option(False, "Continue the draft of an interrupted capture, OUT.partial."),
    jobs: Jobs = None,
) -> Output:
    """Capture the motion in a video as velocity fields.

    Examples:
        marey crowd capture street.mp4 street.zarr
        marey crowd capture street.mp4 street.zarr --size 640 --mask walkable.png
        marey crowd capture few.mp4 few.zarr --motion seen              each person's own motion
        marey crowd capture view.avi view.zarr --camera View_001.xml --plane-height 0.9
        marey crowd capture hours.mp4 hours.zarr --resume               continue after an interruption
        marey crowd capture pilgrims/ flow.zarr --method hs --alpha 250 --frames 0:20
        marey view street.zarr -o street.mp4                            look at it
    """
    import numpy as np

    from marey.crowd.capture import capture_to, plan_capture
    from marey.io import cameras
    from marey.io.drafts import FieldDraft
    from marey.io.images import read_image

    if mask is not None and area:
        raise InputError("--mask and --area: give one of them")
    drawn = None if mask is None else read_image(mask).mean(axis=2).astype(np.uint8)
    plan = run.call(
        f"opening {video.name}",
        plan_capture,
        video,
        method="divcurl" if method == "default" else method,
        size=(video.columns, video.rows) if size == "full" else size,
        mask=[np.array(one) for one in area] or drawn,
        camera=None if camera is None else cameras.read(camera),
    )
    draft = FieldDraft(out, resume=resume)
    try:
        report = run.call(f"capturing {video.name}", capture_to, plan, draft)
    except (KeyboardInterrupt, SystemExit):
        if draft.draft.exists():
            warn(f"interrupted; what is done lies in {draft.draft}, --resume continues it")
        raise
    if report.repeated:
        warn(f"{report.repeated} images are the same as the one before; their fields are zero")
    if report.speed_mean < STILL:
        warn(f"nothing moves: {report.speed_mean:.2g} pixels a frame in the mean")
    facts = {
        "frames": report.frames,
        "rows": plan.rows,
        "columns": plan.columns,
        "seconds": round(run.seconds, 3),
        "method": plan.method,
        "alpha": alpha,
        "motion": plan.motion,
        "speed_mean": round(report.speed_mean, 4),
        "speed_max": round(report.speed_max, 4),
        "foreground_share": None if report.foreground_share is None else round(report.foreground_share, 4),
        "repeated": report.repeated,
        "resumed_at": report.resumed_at,
        "frames_per_second": round((report.frames - report.resumed_at) / run.seconds, 2),
    }
    return Output(None, facts)
