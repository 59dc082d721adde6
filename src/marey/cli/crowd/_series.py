"""Velocity fields in and out of commands; out block by block, so that length costs no memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from marey.cli._typer import check_folder, load_with_bar, progress_bar
from marey.crowd.fields import FieldSeries, concatenate
from marey.errors import InputError
from marey.io import format_to_write, save
from marey.io._files import atomic_write_folder
from marey.io.zarr_store import MAX_SERIES_BYTES, FieldWriter

PLOTS = (".png", ".svg", ".pdf")


def load_fields(source: Path) -> FieldSeries:
    """Velocity fields, with a bar while they are read; anything else is an error."""
    loaded = load_with_bar(source, clip=None)
    if not isinstance(loaded, FieldSeries):
        raise InputError(
            f"{source}: holds a {type(loaded).__name__}, not velocity fields (.zarr, .mry, .flo)"
        )
    return loaded


def check_series(target: Path) -> None:
    """Refuse early what cannot hold velocity fields."""
    if "FieldSeries" not in format_to_write(target).writes:
        raise InputError(f"{target}: write velocity fields (.zarr, .mry or flow_%04d.flo)")
    check_folder(target)


def check_picture(picture: Path | None) -> None:
    """Refuse early what cannot hold a plot."""
    if picture is None:
        return
    if picture.suffix.lower() not in PLOTS:
        raise InputError(f"--picture {picture}: write it as .png, .svg or .pdf")
    check_folder(picture)


def check_length(fields: FieldSeries, frames: int, target: Path) -> None:
    """Refuse early what only .zarr can take: more frames of such fields than fit into memory."""
    size = fields.velocities.nbytes // fields.frames * frames
    if target.suffix.lower() != ".zarr" and size > MAX_SERIES_BYTES:
        raise InputError(f"{target}: {size / 1e9:.0f} GB of fields; more than memory holds, so give .zarr")


def write_blocks(blocks: Iterator[FieldSeries], frames: int, target: Path) -> int:
    """Write `frames` frames as they come; bytes on disk. Only .zarr takes more than fit into memory."""
    first = next(blocks)
    label = f"writing {target.name}"
    if target.suffix.lower() != ".zarr":
        check_length(first, frames, target)
        with progress_bar(label) as progress:
            save(concatenate([first, *blocks]), target, progress=progress)
        return bytes_on_disk(target)
    with (
        progress_bar(label) as progress,
        atomic_write_folder(target) as draft,
        FieldWriter.like(draft, first) as writer,
    ):
        for block in chain([first], blocks):
            writer.append(block.velocities, block.presence)
            progress(writer.frames, frames)
    return bytes_on_disk(target)


def bytes_on_disk(target: Path) -> int:
    """Of a file, or of all files in a folder."""
    if target.is_dir():
        return sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    return target.stat().st_size if target.exists() else 0
