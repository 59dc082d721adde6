"""Crowd motion capture straight to disk, for films of any length, which may be interrupted and resumed.

Fields go to a draft beside the target, `OUT.partial`, a zarr store that grows chunk by chunk and knows what
it is a capture of. When it is whole it takes the target's place, or is turned into the target's format; until
then there is no target. Killed at any moment, a capture goes on after the last whole chunk, and the result is
the same bit for bit, since no field depends on another. Memory: a few chunks of 4 MB.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marey import __version__
from marey._progress import Progress
from marey.crowd.capturing import CapturePlan
from marey.crowd.fields import UNKNOWN
from marey.errors import InputError
from marey.io import fields, format_to_write, save
from marey.io._files import check_target, is_numbered
from marey.io._made import move_into
from marey.io.fields import FieldWriter

ENDING = ".partial"
NOTE = "capture.json"
"""What a draft is a capture of."""


@dataclass(frozen=True)
class CaptureReport:
    """What a capture came to.

    frames: number of fields; `resumed_at` of them were there already
    speed_mean, speed_max: pixels per frame, where motion counts
    presence_share: how much of what counts is covered by people, 0 to 1; None if it is not known
    repeated: pictures that are the same as the one before, as films with lost frames have
    """

    frames: int
    resumed_at: int
    speed_mean: float
    speed_max: float
    presence_share: float | None
    repeated: int


def capture_to(
    plan: CapturePlan,
    path: Path,
    *,
    resume: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> CaptureReport:
    """Run a capture into a file: `.zarr` of any length, `.mry` or `.flo` of what fits into memory.

    plan: from :func:`marey.crowd.capturing.plan_capture`
    resume: go on with the draft of an interrupted capture of the same film with the same options, if there
        is one; without it such a draft is an error, as it may hold hours of work

    >>> import tempfile
    >>> from marey import samples
    >>> from marey.crowd.capturing import plan_capture
    >>> film = samples.footage(samples.crowd(people=6, seconds=1))
    >>> target = Path(tempfile.mkdtemp()) / "flow.zarr"
    >>> capture_to(plan_capture(film, size=80), target).frames
    24
    >>> fields.read(target).velocities.shape
    (24, 24, 80, 2)
    """
    path = Path(path)
    _check_target(path, plan)
    path = path.resolve() if path.is_symlink() else path
    draft = draft_of(path)
    if draft.exists() and not (draft.is_dir() and {e.name for e in draft.iterdir()} <= {*fields.PARTS, NOTE}):
        raise InputError(f"{draft}: is in the way of the capture's draft, and no such draft; move it")
    if draft.exists() and not resume:
        raise InputError(
            f"{draft}: an interrupted capture lies there; go on with it (--resume, resume=True) or delete it"
        )
    writer = _opened(draft, plan)
    resumed_at = writer.frames
    try:
        with writer:
            for moved, seen in plan.moments(resumed_at, jobs=jobs):
                writer.append(moved[None], None if seen is None else seen[None])
                if progress is not None:
                    progress(writer.frames, plan.frames)
    except BaseException as error:
        if not _frames_counted(draft):
            _remove(draft)
        if isinstance(error, InputError):
            error.args = (str(error).replace(str(draft), str(path)),)
        raise
    report = _measured(draft, resumed_at)
    _finish(draft, path)
    return report


def draft_of(path: Path) -> Path:
    """Where a capture lies until it is whole.

    >>> draft_of(Path("flow.zarr")).name
    'flow.zarr.partial'
    """
    return path.with_name(path.name + ENDING)


def description(plan: CapturePlan) -> dict[str, Any]:
    """What a capture is of and how it is made; two captures with the same description are the same."""
    framing = plan.framing
    return {
        "marey": __version__,
        "engine": plan.engine,
        "options": plan.options,
        "presence": plan.presence,
        "pictures": plan.footage.frames,
        "video size": list(framing.source),
        "size": list(framing.size),
        "frame rate": plan.footage.frame_rate,
        "mask": _digest(framing.mask),
        "camera": _digest(framing.homography, *(framing.lens or ())),
        "film": _digest(plan.footage.read(0)),
    }


def _opened(draft: Path, plan: CapturePlan) -> FieldWriter:
    """The draft, new, or as far as it came."""
    told = description(plan)
    if _frames_counted(draft):
        _check_same(draft, told)
        return FieldWriter.resume(draft)
    if draft.exists():
        _remove(draft)
    writer = FieldWriter(
        draft,
        plan.rows,
        plan.columns,
        plan.footage.frame_rate,
        mask=plan.framing.mask,
        homography=plan.framing.homography,
        name=plan.footage.name,
        with_presence=plan.presence,
    )
    (draft / NOTE).write_text(json.dumps(told), encoding="utf-8")
    return writer


def _frames_counted(draft: Path) -> int:
    """Frames the draft's header counts; 0 if it was killed before it had any."""
    try:
        header = json.loads((draft / "zarr.json").read_text(encoding="utf-8"))
        return int(header["attributes"]["marey"]["frames"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _check_same(draft: Path, told: dict[str, Any]) -> None:
    try:
        before = json.loads((draft / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        before = {}
    for name, value in told.items():
        if before.get(name) != value:
            was = f": {before[name]}, not {value}" if name in before else ""
            raise InputError(
                f"{draft}: is a capture with another {name}{was}; repeat the command that was interrupted, "
                "or delete the draft"
            )


def _measured(path: Path, resumed_at: int) -> CaptureReport:
    """Figures of a whole series, in one pass over it."""
    frames = repeated = 0
    total, largest, pixels, seen, known = 0.0, 0.0, 0, 0.0, 0
    for block in fields.blocks(path):
        speeds = np.hypot(block.velocities[..., 0], block.velocities[..., 1])
        repeated += int((speeds.max(axis=(1, 2)) == 0).sum())
        counted = speeds if block.mask is None else speeds[:, block.mask]
        total += float(counted.sum(dtype=np.float64))
        largest = max(largest, float(counted.max()))
        pixels += counted.size
        frames += block.frames
        if block.presence is not None:
            there = block.presence if block.mask is None else block.presence[:, block.mask]
            there = there[there != UNKNOWN]
            seen += float(there.sum(dtype=np.float64)) / 255
            known += there.size
    return CaptureReport(
        frames, resumed_at, total / pixels, largest, seen / known if known else None, repeated
    )


def _check_target(path: Path, plan: CapturePlan) -> None:
    """What would fail at the end, after all the work, fails now."""
    check_target(path)
    if "FieldSeries" not in format_to_write(path).writes:
        raise InputError(f"{path}: fields are written as .zarr, .mry or .flo")
    if not path.parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {path.parent}")
    if path.suffix.lower() == ".zarr":
        return
    if path.suffix.lower() == ".flo" and plan.frames > 1 and not is_numbered(path):
        raise InputError(f"{path}: {plan.frames} fields; give a numbered name such as {path.stem}_%04d.flo")
    size = 8 * plan.frames * plan.rows * plan.columns
    if size > fields.LARGEST_SERIES:
        raise InputError(f"{path}: {size / 1e9:.0f} GB of fields; more than memory holds, so give .zarr")


def _finish(draft: Path, path: Path) -> None:
    """Put the whole series in its place."""
    if path.suffix.lower() != ".zarr":
        save(fields.read(draft), path)
    else:
        (draft / NOTE).unlink(missing_ok=True)
        move_into(path, draft)
    _remove(draft)


def _remove(draft: Path) -> None:
    """Remove what a capture keeps in its draft, and the draft unless something else is in it."""
    for part in (draft / name for name in (*fields.PARTS, NOTE)):
        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)
    with suppress(OSError):
        draft.rmdir()


def _digest(*arrays: Any) -> str | None:
    """A fingerprint; None of nothing."""
    if all(array is None for array in arrays):
        return None
    mixed = hashlib.sha256()
    for array in arrays:
        if array is not None:
            mixed.update(np.ascontiguousarray(array).tobytes())
    return mixed.hexdigest()[:16]
