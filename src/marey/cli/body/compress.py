"""`marey body compress`: a clip in as few bytes as an error allows."""

from __future__ import annotations

import math
import re
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from marey.body.clean import clean as clean_motion
from marey.body.clean import starts_in_rest_pose
from marey.body.codec import CompressedMotion, compress, engine_bytes
from marey.body.codec.clip import MAX_ERROR, METHODS
from marey.body.compare import joint_error, relative_distortion
from marey.body.motion import Motion
from marey.character import Character
from marey.cli._typer import (
    Clip,
    Json,
    Rate,
    Root,
    Unit,
    Up,
    check_apart,
    emit,
    load_with_bar,
    note,
    parse_length,
    progress_bar,
)
from marey.errors import InputError
from marey.io import format_to_write, save

NAME = "compress"


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Skeleton motion of any format we read.")],
    target: Annotated[Path, typer.Argument(metavar="OUT.mry", help="The compressed clip.")],
    max_error: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH",
            help="How far off any joint may be in any frame: 1cm, 5mm, 0.01m (without a unit: metres). "
            "1cm if no error is given.",
        ),
    ] = None,
    mean_error: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="How far off joints may be on average.")
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="|".join(METHODS), help="Our codec, or that of Tournier 2011.")
    ] = "transform",
    modes: Annotated[
        int | None, typer.Option(metavar="K", help="Method tournier, instead of an error: geodesics to keep.")
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="P[,P]",
            help="Method tournier: finest levels left out of the root's curves, and of the rest.",
        ),
    ] = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="Drop an artificial T-pose, repair glitches; says what it did.")
    ] = False,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    clip: Clip = None,
    json: Json = False,
) -> None:
    """Store a clip in a few kilobytes, within an error you choose.

    [bold]Examples[/bold]

    marey body compress walk.bvh walk.mry                         within 1 cm

    marey body compress walk.bvh walk.mry --max-error 1mm

    marey body compress walk.bvh walk.mry --mean-error 1cm        1 cm on average, as small as can be

    marey body compress 02_01.bvh walk.mry --clean                without the T-pose in frame 0

    marey body compress walk.bvh walk.mry --method tournier --modes 12 --levels 3,4

    marey view walk.mry -o walk.mp4                               compressed clips open anywhere
    """
    if "CompressedMotion" not in format_to_write(target).writes:
        raise InputError(f"{target}: a compressed clip is stored as .mry")
    if not target.parent.is_dir():
        raise InputError(f"{target}: cannot be written: there is no folder {target.parent}")
    check_apart(target, source)
    if method not in METHODS:
        raise InputError(f"--method {method}: one of {', '.join(METHODS)}")
    worst, mean = parse_length(max_error, "--max-error"), parse_length(mean_error, "--mean-error")
    dropped = _parse_levels(levels)
    motion = _motion(
        load_with_bar(source, clip=clip, unit=from_unit, up=from_up, frame_rate=from_frame_rate, root=root),
        source,
    )
    if clean:
        motion, report = clean_motion(motion)
        for line in report.lines():
            note(line)
    elif starts_in_rest_pose(motion):
        note("frame 0 looks like an artificial T-pose, which costs bytes; --clean drops it")
    started = time.perf_counter()
    with progress_bar("compressing") as progress:
        small = compress(
            motion,
            max_error=worst,
            mean_error=mean,
            method=method,
            modes=modes,
            dropped_levels=dropped,
            progress=progress,
        )
    seconds = time.perf_counter() - started
    facts = _measured(motion, small, seconds, threshold=worst or MAX_ERROR)
    save(small, target)
    if worst is not None and facts["error_max_cm"] > 100 * worst * (1 + 1e-6):
        note(f"the largest error is {facts['error_max_cm']} cm, more than asked for")
    text = source.stat().st_size if source.suffix.lower() == ".bvh" else None
    facts["ratio_bvh_text"] = None if text is None else round(text / small.bytes, 2)
    emit({**facts, "path": str(target)}, as_json=json)


def _measured(motion: Motion, small: CompressedMotion, seconds: float, *, threshold: float) -> dict[str, Any]:
    """Sizes, and errors of what is decoded from the very bytes."""
    again = CompressedMotion(small.data)
    again.decode(0)  # so that compilation is not counted
    started = time.perf_counter()
    decoded = again.decode()
    decoding = time.perf_counter() - started
    error = joint_error(motion, decoded, threshold=threshold)
    distortion = relative_distortion(motion, decoded)
    return {
        "bytes": small.bytes,
        "raw_bytes": small.raw_bytes,
        "ratio": round(small.ratio, 2),
        "error_mean_cm": round(100 * error.mean, 5),
        "error_max_cm": round(100 * error.maximum, 5),
        "error_p99_cm": round(100 * error.percentile_99, 5),
        "share_within": round(error.share_within, 6),
        "method": small.method,
        "modes": small.modes,
        "segments": len(small.segments),
        "frames": small.frames,
        "joints": small.joints,
        "published_ratio": round(small.tournier.ratio, 2) if small.method == "tournier" else None,
        "ratio_acl_raw": round(engine_bytes(motion) / small.bytes, 2),
        "distortion_f": _finite(distortion.frobenius),
        "distortion_squared": _finite(distortion.squared),
        "encode_milliseconds_per_frame": round(1e3 * seconds / small.frames, 4),
        "decode_milliseconds_per_frame": round(1e3 * decoding / small.frames, 5),
    }


def _motion(thing: Any, source: Path) -> Motion:
    if isinstance(thing, Character):
        if len(thing.motions) > 1:
            first, *others = (motion.name for motion in thing.motions)
            note(f"compressing one clip, {first}; --clip chooses {' or '.join(others)}")
        return thing.motion
    if not isinstance(thing, Motion):
        raise InputError(f"{source}: holds a {type(thing).__name__}; only skeleton motion is compressed")
    return thing


def _parse_levels(text: str | None) -> list[int] | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,3}(,\d{1,3})?", text.strip()):
        raise InputError(f"--levels {text}: one number of levels, or two, e.g. 3 or 3,4")
    root, *others = (int(part) for part in text.split(","))
    return [root, others[0] if others else root]


def _finite(value: float) -> float | None:
    return round(value, 5) if math.isfinite(value) else None
