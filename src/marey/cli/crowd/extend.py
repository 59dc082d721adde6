"""`marey crowd extend`: a short captured flow, played on for as long as wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from marey.cli._console import Json, check_apart, emit, note, progress_bar
from marey.cli.crowd._series import check_length, check_picture, check_series, load_fields, write_blocks
from marey.crowd.fields import FieldSeries
from marey.crowd.texture import FlowTexture, field_changes, learn
from marey.errors import InputError

NAME = "extend"

MOST_FRAMES = 50_000_000
# Fields changing this many times as quickly as before show.
ROUGH = 1.5
# Per cent of the capture's motion below which it is told that hardly any is played.
LITTLE = 5.0


def run(
    source: Annotated[Path, typer.Argument(metavar="FIELD", help="Captured velocity fields.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="The long series: .zarr (any length), .mry, .flo.")
    ],
    frames: Annotated[int, typer.Option(metavar="N", help="How many frames it shall have.")],
    taps: Annotated[
        int, typer.Option(metavar="N", help="Frames about a jump that must be alike; fewer for short clips.")
    ] = 8,
    fade: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Frames of the cross-fade at a jump; found for smoothness if not given."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the random order; the same gives the same.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(metavar="X.png", help="Also draw distances, jumps and what was played.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a captured flow longer, without end and without repeating itself.

    [bold]Examples[/bold]

    marey crowd extend street.zarr hour.zarr --frames 90000

    marey crowd extend street.zarr long.zarr --frames 2000 --taps 16 --seed 3

    marey crowd extend short.zarr long.zarr --frames 500 --picture jumps.png

    Playback jumps between moments that are alike, and fades over some frames
    about every jump. Smoothness is how quickly fields change there, over the
    quickest hundredth of the capture; below 1.5 jumps hardly show.
    """
    if not 1 <= frames <= MOST_FRAMES:
        raise InputError(f"--frames {frames}: from 1 to {MOST_FRAMES}")
    if seed < 0:
        raise InputError(f"--seed {seed}: a whole number, not below 0")
    check_series(target)
    check_picture(picture)
    check_apart(target, source)
    fields = load_fields(source)
    check_length(fields, frames, target)
    with progress_bar("comparing frames") as progress:
        texture = learn(fields, taps=taps, fade=fade, progress=progress)
    order = texture.sequence(frames, rng=seed)
    changes = _Changes(texture)
    size = write_blocks(changes.watched(texture.blocks(frames, rng=seed)), frames, target)
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.texture_picture(texture, order), picture)
    jumps = np.flatnonzero(np.diff(order) != 1)
    smoothness = changes.near(jumps, texture.fade)
    if smoothness is not None and smoothness > ROUGH:
        note("this flow never comes back to where it was: some jumps show; a longer capture helps")
    played = np.unique(order)
    information = _information(fields, played)
    if information < LITTLE and frames >= fields.frames:
        note("hardly any motion is played, as the capture rests for long: cut the rest off first")
    emit(
        {
            "information": information,
            "bytes": size,
            "frames": frames,
            "seconds": frames / fields.frame_rate,
            "jumps": len(jumps),
            "frames_between_jumps": frames / (len(jumps) + 1),
            "smoothness": smoothness,
            "fade": texture.fade,
            "taps": taps,
            "scale": texture.scale,
            "source_frames_played": len(played),
            "path": str(target),
        },
        as_json=json,
    )


class _Changes:
    """How quickly fields change, taken down as they pass."""

    def __init__(self, texture: FlowTexture) -> None:
        before = field_changes(texture.fields)
        self.quick = float(np.quantile(before, 0.99)) if len(before) else 0.0
        self.seen: list[np.ndarray] = []

    def watched(self, blocks: Iterator[FieldSeries]) -> Iterator[FieldSeries]:
        last = None
        for block in blocks:
            self.seen.append(field_changes(block, before=last))
            last = block.velocities[-1]
            yield block

    def near(self, jumps: np.ndarray, fade: int) -> float | None:
        """The largest change at a jump over the quick ones of the source; None if there is no jump."""
        changes = np.concatenate(self.seen)
        if len(jumps) == 0 or len(changes) == 0 or not self.quick > 0:
            return None
        side = (fade + 1) // 2 + 1
        around = np.unique(np.clip(jumps[:, None] + np.arange(-side, side + 1), 0, len(changes) - 1))
        return float(changes[around].max() / self.quick)


def _information(fields: FieldSeries, frames: np.ndarray) -> float:
    """Per cent of the capture's energy in the frames that are played."""
    inside = slice(None) if fields.mask is None else fields.mask
    energies = [float(np.square(frame[inside], dtype=np.float64).sum()) for frame in fields.velocities]
    return 100 * sum(energies[f] for f in frames) / sum(energies) if sum(energies) > 0 else 100.0
