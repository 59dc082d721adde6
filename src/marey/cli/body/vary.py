"""`marey body vary`: new versions of one clip."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.body.vary import VaryResult, vary
from marey.body.vary.draw import METHODS
from marey.cli._typer import Clip, Json, Unit, Up, emit, progress_bar
from marey.cli.body._inputs import load_clip
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.io._files import atomic_write, atomic_write_files, check_target

NAME = "vary"

PICTURES, FILMS = (".png", ".jpg"), (".mp4",)
SIZE = (1280, 720)
# Figures on a picture at most, and metres between them.
SHOWN, APART = 7, 1.2
ORIGINAL = "#8a8f98"


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The clip to vary.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the variants.")],
    count: Annotated[int, typer.Option(metavar="N", help="How many.")] = 4,
    deviation: Annotated[
        float,
        typer.Option(metavar="SHARE", help="0: the clip … 1: nothing but its distribution is kept."),
    ] = 0.3,
    keep_modes: Annotated[
        int, typer.Option(metavar="K", help="Keep the first K coordinates as they are.")
    ] = 0,
    pin: Annotated[
        str | None, typer.Option(metavar="T1,T2,…", help="Keep the pose at these times, seconds.")
    ] = None,
    loop: Annotated[bool, typer.Option("--loop", help="End in the pose of the beginning.")] = False,
    method: Annotated[
        str,
        typer.Option(metavar="METHOD", help="joint: limbs move together; gp: each mode by itself."),
    ] = "joint",
    timing: Annotated[
        float | None, typer.Option(metavar="SHARE", help="How much the tempo varies, e.g. 0.05; 0: not.")
    ] = None,
    no_limits: Annotated[
        bool, typer.Option("--no-limits", help="Let joints leave their range by more than a tenth.")
    ] = False,
    no_plant: Annotated[bool, typer.Option("--no-plant", help="Do not plant the feet.")] = False,
    seed: Annotated[int, typer.Option(metavar="SEED", help="Other seeds give other variants.")] = 0,
    to: Annotated[
        str | None, typer.Option(metavar="ENDING", help="bvh, glb, mry, …; as IN if left out.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also a picture (.png) or film (.mp4) of all.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Take the clip as it is, T-pose and glitches included.")
    ] = False,
    from_unit: Unit = None,
    from_up: Up = None,
    clip: Clip = None,
    json: Json = False,
) -> None:
    """New versions of one clip: the same action, never the same way.

    [bold]Examples[/bold]

    marey body vary walk.bvh -o crowd --count 20                  a crowd without clones

    marey body vary punch.bvh -o punches --pin 2.6                the blow itself stays

    marey body vary walk.bvh -o near --keep-modes 3               the gait stays, details change

    marey body vary walk.bvh -o far --deviation 1 --picture far.png
    """
    ending = _ending(source, to)
    if picture is not None and picture.suffix.lower() not in PICTURES + FILMS:
        raise InputError(f"--picture {picture}: {', '.join(PICTURES + FILMS)}")
    if not 1 <= count <= 10_000:
        raise InputError(f"--count {count}: from 1 to 10000")
    if method not in METHODS:
        raise InputError(f"--method {method}: one of {', '.join(METHODS)}")
    if not 0 <= deviation <= 1:
        raise InputError(f"--deviation {deviation:g}: from 0 (the clip) to 1 (all new)")
    pins = _times(pin)
    numbered = out / f"{source.stem}-%d{ending}"
    check_target(numbered)
    motion = load_clip(source, raw=raw, clip=clip, unit=from_unit, up=from_up)
    started = time.perf_counter()
    with progress_bar("varying") as progress:
        variants = vary(
            motion,
            count=count,
            deviation=deviation,
            pins=pins,
            keep_modes=keep_modes,
            loop=loop,
            method=method,
            timing=timing,
            limits=not no_limits,
            plant=not no_plant,
            rng=seed,
            progress=progress,
        )
    milliseconds = 1e3 * (time.perf_counter() - started)
    files = _write(variants, numbered)
    if picture is not None:
        _draw(variants, picture)
    report = variants.report
    result: dict[str, Any] = {
        "files": [str(path) for path in files],
        "deviation_cm": round(report.deviation_cm, 3),
        "foot_slide_ratio": round(report.foot_slide_ratio, 3),
        "worst_foot_slide_ratio": round(report.worst_foot_slide_ratio, 3),
        "foot_skate_cm_s": round(report.foot_skate_cm_s, 3),
        "example_foot_skate_cm_s": round(report.example_foot_skate_cm_s, 3),
        "world_deviation_cm": round(report.world_deviation_cm, 3),
        "diversity_cm": None if math.isnan(report.diversity_cm) else round(report.diversity_cm, 3),
        "beyond_range": round(report.beyond_range, 3),
        "plausibility": round(report.plausibility, 3),
        "modes": variants.poses.modes,
        "milliseconds": round(milliseconds, 1),
    }
    if not json:
        result["files"] = f"{len(files)} in {out}"
        result["diversity_cm"] = "one variant" if result["diversity_cm"] is None else result["diversity_cm"]
    emit(result, as_json=json)


def _ending(source: Path, to: str | None) -> str:
    """How the variants' files end: as asked, or as the clip's, or .bvh where that cannot hold them."""
    ending = source.suffix.lower() if to is None else f".{to.lower().lstrip('.')}"
    known = "Motion" in format_to_write(Path(f"x{ending}")).writes if to is not None else None
    if known is None:
        return ending if ending in (".bvh", ".mry", ".glb") else ".bvh"
    if not known:
        raise InputError(f"--to {to}: a clip is written as bvh, glb, usd or mry")
    return ending


def _times(text: str | None) -> list[float]:
    if text is None:
        return []
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--pin {text}: times in seconds, e.g. 0.5,2.25") from None


def _write(variants: VaryResult, numbered: Path) -> list[Path]:
    out, digits = numbered.parent, max(2, len(str(len(variants))))
    numbers = (f"{number:0{digits}d}" for number in range(1, len(variants) + 1))
    names = [number.join(numbered.name.rsplit("%d", 1)) for number in numbers]
    with atomic_write_files(numbered, names) as draft, progress_bar(f"writing {out.name}") as progress:
        for number, (motion, called) in enumerate(zip(variants, names, strict=True)):
            progress(number, len(names))
            save(motion, draft / called)
    return [out / called for called in names]


def _draw(variants: VaryResult, path: Path) -> None:
    """The clip in grey, and variants beside it, on one stage."""
    from marey.io.images import encode_image
    from marey.io.video import write_frames
    from marey.views.actors import group
    from marey.views.render import clip_rate
    from marey.views.shots import clip, strip

    shown: list[Motion] = [variants.example, *list(variants)[: SHOWN - 1]]
    is_film = path.suffix.lower() in FILMS
    rate = clip_rate(variants.example.frame_rate)
    if is_film and not np.isclose(rate, variants.example.frame_rate):
        shown = [motion.resample(rate) for motion in shown]
    colours = [ORIGINAL, *[None] * (len(shown) - 1)]
    actor = group(shown, colours=colours, shifts=_places(variants.example, len(shown)))
    with atomic_write(path) as draft:
        if is_film:
            with progress_bar(f"filming {path.name}") as progress:
                write_frames(clip(actor, SIZE), draft, frame_rate=rate, progress=progress, total=actor.frames)
        else:
            draft.write_bytes(encode_image(strip(actor, SIZE), path.suffix))


def _places(motion: Motion, count: int) -> NDArray[np.float64]:
    """Where figures stand `(count, 3)`: in a row across the way that the clip goes."""
    way = np.array(motion.root[-1] - motion.root[0])
    way[1] = 0.0
    length = float(np.linalg.norm(way))
    across = np.array([way[2], 0.0, -way[0]]) / length if length > 0.5 else np.array([1.0, 0.0, 0.0])
    return (np.arange(count) - 0.5 * (count - 1))[:, None] * APART * across
