"""`marey crowd tile`: several captured flows in one place, or one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.cli._typer import Json, check_apart, emit, progress_bar
from marey.cli.crowd._series import check_picture, check_series, load_fields, write_blocks
from marey.crowd.fields import FieldSeries
from marey.crowd.tiling import Patch, Tiling, leak
from marey.errors import InputError
from marey.io import tiling_json

NAME = "tile"

BLENDS = ("space", "time", "join")


def run(
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="PLACE.json OUT | A B OUT", help="What lies where, or two captures."),
    ],
    blend: Annotated[
        str,
        typer.Option(
            metavar="space|time|join",
            help="Two captures side by side, one becoming the other, or one after the other.",
        ),
    ] = "space",
    overlap: Annotated[
        int | None,
        typer.Option(metavar="PIXELS", help="Side by side: columns that are in both; a fifth if not given."),
    ] = None,
    taps: Annotated[int, typer.Option(metavar="N", help="Join: frames that must be alike.")] = 8,
    picture: Annotated[
        Path | None, typer.Option(metavar="X.png", help="Also draw patches, seams, gaps and walls.")
    ] = None,
    json: Json = False,
) -> None:
    """Lay captured flows into one environment, or blend two in time.

    [bold]Examples[/bold]

    marey crowd tile square.json square.zarr

    marey crowd tile door.zarr hall.zarr both.zarr --picture layout.png

    marey crowd tile morning.zarr noon.zarr day.zarr --blend time

    marey crowd tile first.zarr second.zarr long.zarr --blend join

    A file says where captures lie, and where walls are:

    {"rows": 60, "columns": 140, "walls": [[[60, 20], [80, 20], [80, 40]]],
    "patches": [{"field": "a.zarr", "at": [0, 0]}, {"field": "b.zarr",
    "centre": [90, 30], "turn": 90, "scale": 1.5, "weight": 2}]}

    Overlaps are blended so that whirls and sources stay, gaps are filled, and
    nothing goes through walls.
    """
    target = inputs[-1]
    if len(inputs) not in (2, 3):
        raise InputError("tile: give a PLACE.json and OUT, or two captures and OUT")
    if blend not in BLENDS:
        raise InputError(f"--blend {blend}: one of {', '.join(BLENDS)}")
    check_series(target)
    check_picture(picture)
    check_apart(target, *inputs[:-1])
    if len(inputs) == 2:
        check_apart(target, *tiling_json.captures(inputs[0]))
        tiling = tiling_json.read(inputs[0])
    else:
        first, second = (load_fields(path) for path in inputs[:-1])
        if blend != "space":
            if picture is not None:
                raise InputError("--picture: of captures in space only")
            emit(_in_time(first, second, blend, taps, target), as_json=json)
            return
        tiling = _side_by_side(first, second, overlap)
    result = {**_in_space(tiling, target), "path": str(target)}
    if picture is not None:
        from marey.views import figures, style

        style.save(figures.layout_picture(tiling), picture)
    emit(result, as_json=json)


def _in_space(tiling: Tiling, target: Path) -> dict[str, Any]:
    watch = _Watch(tiling)
    with progress_bar("solving for seams"):
        blocks = watch.watched(tiling.blocks())
        size = write_blocks(blocks, tiling.frames, target)
    inside = int(tiling.free.sum())
    return {
        "information": watch.information,
        "bytes": size,
        "frames": tiling.frames,
        "rows": tiling.rows,
        "columns": tiling.columns,
        "patches": len(tiling.patches),
        "overlap_pixels": int((tiling.coverage > 1).sum()),
        "gap_pixels": int(((tiling.coverage == 0) & tiling.free).sum()),
        "wall_pixels": tiling.rows * tiling.columns - inside,
        "through_walls": watch.through,
    }


def _side_by_side(first: FieldSeries, second: FieldSeries, overlap: int | None) -> Tiling:
    """The second capture to the right of the first, level with its middle."""
    narrower = min(first.columns, second.columns)
    shared = min(max(1, narrower // 5), narrower - 1) if overlap is None else overlap
    if not 0 <= shared < narrower:
        raise InputError(f"--overlap {shared}: from 0 to {narrower - 1} pixels")
    if not np.isclose(second.frame_rate, first.frame_rate):
        second = second.resample(first.frame_rate)
    rows = max(first.rows, second.rows)
    columns = first.columns + second.columns - shared
    patches = (
        Patch(first, 0, (rows - first.rows) // 2),
        Patch(second, first.columns - shared, (rows - second.rows) // 2),
    )
    return Tiling(patches, rows, columns)


def _in_time(first: FieldSeries, second: FieldSeries, blend: str, taps: int, target: Path) -> dict[str, Any]:
    from marey.crowd.texture.join import best_cut, cross_fade, join_at

    told: dict[str, Any] = {}
    with progress_bar("comparing frames") as progress:
        if blend == "time":
            made = cross_fade(first, second, progress=progress)
        else:
            cut = best_cut(first, second, taps=taps, progress=progress)
            told = {"left_at": cut.frame, "entered_at": cut.target, "angle": cut.distance}
            made = join_at(first, second, cut, taps=taps)
    size = write_blocks(iter([made]), made.frames, target)
    mean = 0.5 * (_power(first) + _power(second))
    information = min(100.0, 100 * _power(made) / mean) if mean > 0 else 100.0
    return {"information": information, "bytes": size, "frames": made.frames, **told, "path": str(target)}


class _Watch:
    """What became of the captures, taken down as frames pass."""

    def __init__(self, tiling: Tiling) -> None:
        self.tiling = tiling
        self.kept = self.whole = self.crossed = 0.0
        self.blocks = 0

    def watched(self, blocks: Iterator[FieldSeries]) -> Iterator[FieldSeries]:
        start = 0
        there = self.tiling.coverage.ravel() > 0
        for block in blocks:
            mean = self.tiling.mean(start, start + block.frames)[:, there]
            off = block.velocities.reshape(block.frames, -1, 2)[:, there] - mean
            self.whole += float(np.square(mean).sum())
            self.kept += float(np.square(mean).sum() - np.square(off, dtype=np.float64).sum())
            self.crossed += leak(block, self.tiling.walls)
            self.blocks += 1
            start += block.frames
            yield block

    @property
    def information(self) -> float:
        """Per cent of the captures' motion that is as it was."""
        return max(0.0, 100 * self.kept / self.whole) if self.whole > 0 else 100.0

    @property
    def through(self) -> float:
        """Share of the motion beside walls that goes through them."""
        return self.crossed / max(self.blocks, 1)


def _power(fields: FieldSeries) -> float:
    """Mean square speed."""
    inside = slice(None) if fields.mask is None else fields.mask
    frames = (np.square(frame[inside], dtype=np.float64).sum(axis=-1).mean() for frame in fields.velocities)
    return float(sum(frames)) / fields.frames
