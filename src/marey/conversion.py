"""Any format to any other, with frames, rate, unit and up axis as wanted: `marey convert`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from marey._work import Progress
from marey.errors import InputError
from marey.io import load, save, writable_part


def convert(
    source: object,
    out: str | PathLike[str],
    *,
    frame_rate: float | None = None,
    mirror: bool = False,
    unit: str | None = None,
    up: str | None = None,
    max_error: float | None = None,
    progress: Progress | None = None,
) -> object:
    """Write data, or what a file holds, in the format of another file; what was written is returned.

    Args:
        source: A path, or data.
        out: File to write; its ending chooses the format.
        frame_rate: Resample to this many frames per second.
        mirror: Swap left and right.
        unit: Of the file written, where its format leaves the choice.
        up: Up axis of the file written, "y" or "z".
        max_error: Of meshes in GLB: metres by which a vertex may move for fewer shapes.

    >>> import marey, tempfile
    >>> convert(marey.samples.walk(), Path(tempfile.mkdtemp()) / "walk.bvh", frame_rate=30).frames
    120
    """
    data = load(source) if isinstance(source, str | PathLike) else source
    if frame_rate is not None:
        data = _changed(data, "resample", "frame_rate", frame_rate)
    if mirror:
        data = _changed(data, "mirror", "mirror")
    data = writable_part(data, Path(out))
    save(data, out, unit=unit, up=up, max_error=max_error, progress=progress)
    return data


def _changed(data: object, method: str, option: str, *arguments: float) -> object:
    change = getattr(data, method, None)
    if change is None:
        raise InputError(f"{option}: a {type(data).__name__} cannot be {method.rstrip('e')}ed")
    changed: object = change(*arguments)
    return changed
