"""`marey crowd capture`: the motion in a video of people."""

import re
from pathlib import Path
from typing import Annotated, Literal

from marey.cli._console import stage, warn
from marey.cli._options import Jobs, Out, Parsed, Polygon, Video, option
from marey.cli._run import Output, command
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


@command(reports="frames, rows, columns, seconds")
def capture(
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
    camera: Path | None = option(
        None, "Calibration (Tsai XML, camera.json) or homography (text).", "FILE", role="in"
    ),
    plane_height: float = option(0.0, "Metres above the ground at which bodies are seen, e.g. 0.9.", "M"),
    presence: bool = option(True, "Also write a presence map."),
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
    plan = plan_capture(
        video,
        method="divcurl" if method == "default" else method,
        size=(video.columns, video.rows) if size == "full" else size,
        mask=[np.array(one) for one in area] or None
        if mask is None
        else read_image(mask).mean(axis=2).astype(np.uint8),
        mask_mode=mask_mode,
        camera=None if camera is None else cameras.read(camera),
        plane_height=plane_height,
        alpha=alpha,
        motion=motion,
        presence=presence,
    )
    draft = FieldDraft(out, resume=resume)
    try:
        with stage(f"capturing {video.name}") as capturing:
            report = capture_to(plan, draft, jobs=jobs, progress=capturing)
    except (KeyboardInterrupt, SystemExit):
        if draft.draft.exists():
            warn(f"interrupted; what is done lies in {draft.draft}, --resume continues it")
        raise
    if report.repeated:
        warn(f"{report.repeated} images are the same as the one before; their fields are zero")
    facts = {
        "frames": report.frames,
        "rows": plan.rows,
        "columns": plan.columns,
        "seconds": round(capturing.seconds, 3),
        "method": plan.method,
        "alpha": alpha,
        "motion": plan.motion,
        "speed_mean": round(report.speed_mean, 4),
        "speed_max": round(report.speed_max, 4),
        "presence_share": None if report.presence_share is None else round(report.presence_share, 4),
        "repeated": report.repeated,
        "resumed_at": report.resumed_at,
        "frames_per_second": round((report.frames - report.resumed_at) / capturing.seconds, 2),
    }
    return Output(None, facts)
