"""Results as clips or, where the ending says so, as pictures with balls where the targets are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.body.codec.clip import CompressedMotion
from marey.body.motion import Motion
from marey.cli._typer import check_folder, progress_bar
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.io._files import atomic_write

Array = NDArray[np.float64]

PICTURES = (".png",)
PLOTS = (".png", ".svg", ".pdf")
SIZE = (1280, 720)
# Metres from the root beyond which a target is left out of the picture.
IN_VIEW = 3.0


def check_writable(out: Path) -> None:
    """Refuse early what can hold neither a clip nor a picture of one."""
    if out.suffix.lower() not in PICTURES and "Motion" not in format_to_write(out).writes:
        raise InputError(f"{out}: write a clip (.bvh, .glb, .usd, .mry) or a picture (.png)")
    check_folder(out)


def check_clip(out: Path) -> None:
    """Refuse early what cannot hold a clip."""
    if "Motion" not in format_to_write(out).writes:
        raise InputError(f"{out}: write a clip (.bvh, .glb, .usd, .mry)")
    check_folder(out)


def check_plot(picture: Path | None) -> None:
    """Refuse early what cannot hold a plot."""
    if picture is None:
        return
    if picture.suffix.lower() not in PLOTS:
        raise InputError(f"--picture {picture}: write it as .png, .svg or .pdf")
    check_folder(picture)


def write(motion: Motion | CompressedMotion, out: Path, marks: Array) -> None:
    """The clip, or a picture of it with marks `(frames, marks, 3)`, NaN where there is none."""
    if isinstance(motion, CompressedMotion) or out.suffix.lower() not in PICTURES:
        with progress_bar(f"writing {out.name}") as progress:
            save(motion, out, progress=progress)
        return
    from marey.io.images import encode_image
    from marey.views.actors import group
    from marey.views.shots import strip

    seen = np.linalg.norm(marks - motion.root[:, None], axis=2) < IN_VIEW
    near = np.where(seen[..., None], marks, np.nan)[:, seen.all(axis=0)]
    with atomic_write(out) as draft:
        draft.write_bytes(encode_image(strip(group([motion], marks=near), SIZE), out.suffix))
