"""`marey crowd edit`: a captured flow compressed, denoised, calmer or more nervous, turning more or less."""

from typing import Annotated, Literal

from marey.cli._console import warn
from marey.cli._options import Fields, Out, Parsed, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError


def _style(text: str) -> float | str:
    from marey.crowd.edit import PRESETS

    return text if text in PRESETS else float(text)


@command(writes=("FieldSeries", "FourierFields"), reports="information, bytes")
def edit(
    run: Run,
    field: Fields,
    out: Out = option(..., "Edited: .zarr (plain), .mry (compressed).", "OUT"),
    keep: float | None = option(None, "Keep this share of the temporal frequencies, e.g. 0.1.", "SHARE"),
    basis: Literal["dct", "dft"] = option("dct", "Cosines, or Fourier pairs.", "dct|dft"),
    select: Literal["low", "energy-shared", "energy-pixel"] = option(
        "low", "Which frequencies: the lowest, the strongest of all pixels together, or of each.", "WHICH"
    ),
    style: Annotated[float | str, Parsed(_style, "a number, 1 = as captured, or the name of a preset")]
    | None = option(None, "1 = as captured, less is calmer, more nervous; or a preset.", "DIAL"),
    denoise: bool = option(False, "Fade the field where there are no people."),
    vorticity: float = option(1.0, "Strengthen or weaken vorticity; 1 = as it is.", "GAIN"),
    divergence: float = option(1.0, "Strengthen or weaken divergence; 1 = as it is.", "GAIN"),
    max_error: float | None = option(
        None, "Store .mry by our coder, no velocity further off than X pixels per frame.", "X"
    ),
) -> Output:
    """Edit a captured flow, and store it small.

    Examples:
        marey crowd edit street.zarr small.mry --keep 0.1         the lowest frequencies
        marey crowd edit street.zarr small.mry --max-error 0.05   guaranteed anywhere
        marey crowd edit street.zarr nervous.zarr --style 1.5
        marey crowd edit street.zarr clean.zarr --denoise --keep 0.1
        marey crowd edit street.zarr swirl.zarr --vorticity 2 --divergence 0.5
        marey view small.mry -o small.mp4                         compressed fields open anywhere

    Edits are made in this order: noise, parts, frequencies, style. With neither --keep nor --max-error, .mry
    is within 5 % (root mean square) of the edited flow. Information is the share of the given flow's energy
    that is as it was, in per cent; an edit that changes more than there was makes it negative.
    """
    from marey import crowd
    from marey.crowd import codec, spectrum
    from marey.io import load, save
    from marey.io.zarr_store import bytes_on_disk

    ending = out.suffix.lower()
    if ending not in (".zarr", ".mry"):
        raise InputError(f"{out}: edited fields are written as .zarr (plain) or .mry (compressed)")
    if max_error is not None and ending == ".zarr":
        raise InputError(f"--max-error: {out.name} is stored without loss; give it the ending .mry")
    changed = any((denoise, keep is not None, style is not None, (vorticity, divergence) != (1.0, 1.0)))
    # Without an edit, .mry stores the flow small.
    edited = run.call("editing", crowd.edit, field) if changed or ending == ".zarr" else field
    stored: object = edited
    kind = "fields" if ending == ".zarr" else "fourier" if keep and max_error is None else "wavelets"
    if kind == "fourier":
        stored = run.call("compressing", spectrum.compress, edited)
    elif kind == "wavelets":
        stored = run.call("compressing", codec.compress, edited)
    run.call(f"writing {out.name}", save, stored, out)
    again = load(out)
    if field.foreground is not None and again.foreground is None:
        warn("a Fourier file does not keep where people are seen; .zarr and --max-error do")
    share, error = spectrum.information(field, again), spectrum.field_error(edited, again)
    size, raw = bytes_on_disk(out), 8 * field.frames * field.rows * field.columns
    report = {
        "information": round(share.whole, 4),
        "information_without_mean": round(share.without_mean, 4),
        "bytes": size,
        "raw_bytes": raw,
        "ratio": round(raw / size, 2),
        "error_rms": round(error.rms, 6),
        "error_max": round(error.largest, 6),
        "frames": again.frames,
        "rows": again.rows,
        "columns": again.columns,
        "kind": kind,
    }
    return Output(None, report)
