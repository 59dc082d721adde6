"""`marey crowd edit`: a captured flow compressed, denoised, calmer or more nervous, turning more or less."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from marey.cli._typer import Json, check_apart, check_folder, emit, note, progress_bar
from marey.cli.crowd._series import bytes_on_disk, load_fields
from marey.crowd import codec, spectrum
from marey.crowd.analysis.helmholtz import with_gains
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum.bases import BASES
from marey.crowd.spectrum.edit import PRESETS
from marey.crowd.spectrum.fourier import SELECTS
from marey.errors import InputError
from marey.io import load, save

NAME = "edit"

ENDINGS = (".zarr", ".mry")


def run(
    source: Annotated[Path, typer.Argument(metavar="FIELD", help="Velocity fields: .zarr, .mry, .flo.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Edited: .zarr (plain), .mry (compressed).")],
    keep: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Keep this share of the temporal frequencies, e.g. 0.1."),
    ] = None,
    basis: Annotated[str, typer.Option(metavar="dct|dft", help="Cosines, or Fourier pairs.")] = "dct",
    select: Annotated[
        str,
        typer.Option(
            metavar="low|energy-shared|energy-pixel",
            help="Which frequencies: the lowest, the strongest of all pixels together, or of each.",
        ),
    ] = "low",
    style: Annotated[
        str | None,
        typer.Option(
            metavar="DIAL", help="1 = as captured, less is calmer, more nervous; or " + ", ".join(PRESETS)
        ),
    ] = None,
    denoise: Annotated[bool, typer.Option("--denoise", help="Fade the field where nobody walks.")] = False,
    rotation: Annotated[
        float, typer.Option(metavar="GAIN", help="Strengthen or weaken turning; 1 = as it is.")
    ] = 1.0,
    compression: Annotated[
        float, typer.Option(metavar="GAIN", help="Strengthen or weaken parting and meeting; 1 = as it is.")
    ] = 1.0,
    max_error: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Store .mry by our coder, no velocity further off than X pixels per frame."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Edit a captured flow, and store it small.

    [bold]Examples[/bold]

    marey crowd edit street.zarr small.mry --keep 0.1       the lowest frequencies

    marey crowd edit street.zarr small.mry --max-error 0.05   guaranteed anywhere

    marey crowd edit street.zarr nervous.zarr --style 1.5

    marey crowd edit street.zarr clean.zarr --denoise --keep 0.1

    marey crowd edit street.zarr swirl.zarr --rotation 2 --compression 0.5

    marey view small.mry -o small.mp4        compressed fields open anywhere

    Edits are made in this order: noise, parts, frequencies, style. With neither
    --keep nor --max-error, .mry is within 5 % (root mean square) of the edited
    flow. Information is the share of the given flow's energy that is as it was,
    in per cent; an edit that changes more than there was makes it negative.
    """
    _check(target, basis, select, max_error)
    check_apart(target, source)
    fields = load_fields(source)
    edited = _edited(fields, keep, basis, select, _parsed_style(style), denoise, rotation, compression)
    with progress_bar(f"writing {target.name}") as progress:
        kind = _store(edited, target, keep, basis, select, max_error, progress)
    again = load(target)
    if fields.presence is not None and again.presence is None:
        note("a Fourier file does not keep where people are seen; .zarr and --max-error do")
    emit({**_facts(fields, edited, again, target), "kind": kind, "path": str(target)}, as_json=json)


def _check(target: Path, basis: str, select: str, max_error: float | None) -> None:
    if target.suffix.lower() not in ENDINGS:
        raise InputError(f"{target}: edited fields are written as .zarr (plain) or .mry (compressed)")
    check_folder(target)
    if basis not in BASES:
        raise InputError(f"--basis {basis}: one of {', '.join(BASES)}")
    if select not in SELECTS:
        raise InputError(f"--select {select}: one of {', '.join(SELECTS)}")
    if max_error is not None and target.suffix.lower() != ".mry":
        raise InputError(f"--max-error: {target.name} is stored without loss; give it the ending .mry")


def _parsed_style(text: str | None) -> float | str | None:
    if text is None or text in PRESETS:
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"--style {text}: a number, 1 = as captured, or one of {', '.join(PRESETS)}"
        ) from None


def _edited(
    fields: FieldSeries,
    keep: float | None,
    basis: Any,
    select: Any,
    style: float | str | None,
    denoise: bool,
    rotation: float,
    compression: float,
) -> FieldSeries:
    edited = spectrum.denoise(fields) if denoise else fields
    if (rotation, compression) != (1.0, 1.0):
        edited = with_gains(edited, rotation=rotation, compression=compression)
    if keep is not None:
        presence = edited.presence
        kept = spectrum.compress(edited, keep=keep, basis=basis, select=select).decode()
        edited = FieldSeries(
            kept.velocities, kept.frame_rate, kept.mask, kept.homography, kept.name, presence
        )
    return edited if style is None else spectrum.restyle(edited, style)


def _store(
    edited: FieldSeries,
    target: Path,
    keep: float | None,
    basis: Any,
    select: Any,
    max_error: float | None,
    progress: Any,
) -> str:
    if target.suffix.lower() == ".zarr":
        save(edited, target, progress=progress)
        return "fields"
    if keep is not None and max_error is None:
        save(spectrum.compress(edited, keep=keep, basis=basis, select=select), target)
        return "fourier"
    save(codec.compress(edited, max_error=max_error, progress=progress), target)
    return "wavelets"


def _facts(given: FieldSeries, edited: FieldSeries, again: FieldSeries, target: Path) -> dict[str, Any]:
    """Measured on what was written, read again."""
    kept = spectrum.information(given, again)
    error = spectrum.field_error(edited, again)
    size = bytes_on_disk(target)
    raw = 8 * given.frames * given.rows * given.columns
    return {
        "information": round(kept.whole, 4),
        "information_without_mean": round(kept.without_mean, 4),
        "bytes": size,
        "raw_bytes": raw,
        "ratio": round(raw / size, 2),
        "error_rms": round(error.rms, 6),
        "error_max": round(error.largest, 6),
        "frames": again.frames,
        "rows": again.rows,
        "columns": again.columns,
    }
