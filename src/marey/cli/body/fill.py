"""`marey body fill`: fill gaps of a clip."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from marey.body.fill import METHODS, fill, find_frozen
from marey.body.motion import Motion
from marey.cli._console import (
    Clip,
    Json,
    Rate,
    Root,
    Unit,
    Up,
    check_apart,
    emit,
    note,
    progress_bar,
)
from marey.cli.body._inputs import load_clip
from marey.errors import InputError
from marey.io import format_to_write, save

NAME = "fill"

PICTURES = (".png", ".svg", ".pdf")
MOST_SAMPLES = 1000


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Clip with gaps.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Clip to write.")],
    gap: Annotated[
        list[str] | None,
        typer.Option(metavar="A:B", help="Frames of IN, A up to, without, B; or times: 1.5s:2s, 800ms:1s."),
    ] = None,
    auto: Annotated[
        bool, typer.Option("--auto", help="Fill where the clip only repeats a frame for over 0.1 s.")
    ] = False,
    joints: Annotated[
        str | None, typer.Option(metavar="J1,J2,…", help="Only these are missing; whole frames if not given.")
    ] = None,
    samples: Annotated[
        int, typer.Option(metavar="N", help="Also write N alternatives, OUT-1, OUT-2, … beside OUT.")
    ] = 0,
    method: Annotated[str, typer.Option(metavar="METHOD", help=f"{', '.join(METHODS)}.")] = "joint",
    example: Annotated[
        list[Path] | None, typer.Option(metavar="CLIP", help="Another clip of the skeleton to learn from.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Of the alternatives.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(metavar="X.png", help="Also draw the least certain joints and their band.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Take the clip as it is, artificial T-pose and glitches included.")
    ] = False,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    clip: Clip = None,
    json: Json = False,
) -> None:
    """Fill gaps of a clip: lost frames or joints, with samples of what it may have been and how sure that is.

    [bold]Examples[/bold]

    marey body fill take.bvh whole.bvh --gap 120:160

    marey body fill take.bvh whole.bvh --gap 1.2s:1.5s --gap 3s:3.2s --joints LeftArm,LeftForeArm,LeftHand

    marey body fill take.bvh whole.bvh --gap 120:160 --samples 4 --picture band.png

    marey body fill take.bvh whole.bvh --auto --example other_take.bvh

    Frames are numbered as in the file, from 0, also when an artificial T-pose was dropped; times count from
    the first frame kept. What the clip says within a gap is not used.
    """
    _check_options(source, target, method, samples, seed, picture)
    options: dict[str, Any] = {"unit": from_unit, "up": from_up, "frame_rate": from_frame_rate, "root": root}
    motion = load_clip(source, clip=clip, raw=raw, **options)
    gaps = [_gap(text, motion) for text in gap or ()]
    if auto:
        found = find_frozen(motion)
        note(f"{len(found)} frozen stretches" + "".join(f" {_numbered(one, motion)}" for one in found))
        gaps += found
    elif not gaps:
        raise InputError(
            "say what is missing: --gap A:B (frames, or 1.5s:2s), or --auto for frozen stretches"
        )
    names = None if joints is None else [name.strip() for name in joints.split(",") if name.strip()]
    examples = [load_clip(path, raw=raw, **options) for path in example or ()]
    with progress_bar("filling") as progress:
        filled = fill(
            motion,
            gaps,
            names,
            samples=samples,
            method=method,
            examples=examples,
            rng=seed,
            progress=progress,
        )
    paths = [target, *(target.with_stem(f"{target.stem}-{i}") for i in range(1, samples + 1))]
    for path, made in zip(paths, (filled.motion, *filled.samples), strict=True):
        save(made, path)
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.credible_bands(filled), picture)
    emit(
        {
            "frames_filled": filled.frames_filled,
            "band_cm": round(100 * filled.mean_radius, 4),
            "method": method,
            "gaps": [_numbered(one, motion) for one in gaps],
            "files": [str(path) for path in paths],
        },
        as_json=json,
    )


def _check_options(
    source: Path, target: Path, method: str, samples: int, seed: int, picture: Path | None
) -> None:
    if "Motion" not in format_to_write(target).writes:
        raise InputError(f"{target}: write a clip (.bvh, .glb, .usd, .mry)")
    check_apart(target, source)
    if method not in METHODS:
        raise InputError(f"--method {method}: one of {', '.join(METHODS)}")
    if not 0 <= samples <= MOST_SAMPLES:
        raise InputError(f"--samples {samples}: from 0 to {MOST_SAMPLES}")
    if samples and method not in ("joint", "gp"):
        raise InputError(f"--samples: {method} knows one content only; use joint or gp")
    if seed < 0:
        raise InputError(f"--seed {seed}: 0 or more")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {picture}: write it as .png, .svg or .pdf")


def _gap(text: str, motion: Motion) -> tuple[int, int]:
    parts = text.split(":")
    if len(parts) != 2:
        raise InputError(f"--gap {text}: write A:B, in frames or as 1.5s:2s")
    first, stop = (_frame(part, text, motion) for part in parts)
    if not 0 <= first < stop <= motion.frames:
        last = f"frames {_numbered((0, motion.frames), motion)} ({motion.duration:.3g} s)"
        raise InputError(f"--gap {text}: it must begin before it ends, within the clip's {last}")
    return first, stop


def _numbered(gap: tuple[int, int], motion: Motion) -> str:
    """A gap by the file's numbers of its frames."""
    return ":".join(str(motion.first_frame + frame) for frame in gap)


def _frame(text: str, gap: str, motion: Motion) -> int:
    """Index in the clip of a time, or of a frame numbered as in its file."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(ms|s|f|)\s*", text)
    if found is None or (found.group(2) in ("", "f") and "." in found.group(1)):
        raise InputError(f"--gap {gap}: write whole frames, or times as 1.5s or 800ms")
    if found.group(2) in ("", "f"):
        return int(found.group(1)) - motion.first_frame
    return round(float(found.group(1)) * motion.frame_rate * (1e-3 if found.group(2) == "ms" else 1.0))
