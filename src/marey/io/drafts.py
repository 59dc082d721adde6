"""Field series that are made over hours: a draft beside the target, `OUT.partial`, that can be resumed.

The draft is a zarr store that grows chunk by chunk and knows what it is made from. When it is whole it takes
the target's place, or is turned into the target's format; until then there is no target. Killed at any
moment, the work goes on after the last whole chunk.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from marey.crowd.fields import FieldSeries, check_fields
from marey.errors import InputError
from marey.io import format_to_write, save, zarr_store
from marey.io._files import check_target, is_numbered, move_into
from marey.io.zarr_store import FIELD_PARTS, FieldWriter

NOTE = "made_from.json"
"""What a draft is made from."""
FORMATS = ".zarr, .mry or .flo"


class FieldDraft:
    """A series that is written to `path`: `.zarr` of any length, `.mry` or `.flo` of what fits into memory.

    Args:
        path: The target.
        resume: Go on with the draft of interrupted work with the same options, if there is one; without it
            such a draft is an error, as it may hold hours of work.

    >>> FieldDraft("flow.zarr").draft.name
    'flow.zarr.partial'
    """

    def __init__(self, path: Path | str, *, resume: bool = False) -> None:
        path = Path(path)
        self.path = path.resolve() if path.is_symlink() else path
        self.draft = self.path.with_name(self.path.name + ".partial")
        self.resume = resume

    @contextmanager
    def opened(self, like: FieldSeries, frames: int, about: dict[str, object]) -> Iterator[FieldWriter]:
        """The draft, new or as far as it came.

        Args:
            like: A series of the same size, rate, mask, camera and name, with foreground if it is to have it.
            frames: How many there will be.
            about: What it is made from (JSON); an interrupted draft must have the same.
        """
        self._check(like, frames)
        writer = self._writer(like, about)
        try:
            with writer:
                yield writer
        except BaseException as error:
            if not self._frames_counted():
                self._remove()
            if isinstance(error, InputError):
                error.args = (str(error).replace(str(self.draft), str(self.path)),)
            raise

    def blocks(self) -> Iterator[FieldSeries]:
        """What is stored, a few frames at a time."""
        return zarr_store.field_blocks(self.draft)

    def finish(self) -> None:
        """Put the whole series in its place."""
        if self.path.suffix.lower() != ".zarr":
            save(zarr_store.read_fields(self.draft), self.path)
        else:
            (self.draft / NOTE).unlink(missing_ok=True)
            move_into(self.path, self.draft)
        self._remove()

    def _check(self, like: FieldSeries, frames: int) -> None:
        """What would fail at the end, after all the work, fails now."""
        path, draft = self.path, self.draft
        check_target(path)
        if "FieldSeries" not in format_to_write(path).writes:
            raise InputError(f"{path}: fields are written as {FORMATS}")
        if not path.parent.is_dir():
            raise InputError(f"{path}: cannot be written: there is no folder {path.parent}")
        if path.suffix.lower() == ".flo" and frames > 1 and not is_numbered(path):
            raise InputError(f"{path}: {frames} fields; give a numbered name such as {path.stem}_%04d.flo")
        if path.suffix.lower() != ".zarr":
            check_fields(frames, like.rows, like.columns, f"{path} cannot hold them, give .zarr")
        known = {*FIELD_PARTS, NOTE}
        if draft.exists() and not (draft.is_dir() and {entry.name for entry in draft.iterdir()} <= known):
            raise InputError(f"{draft}: is no draft of marey, which would be written there; move it")
        if draft.exists() and not self.resume:
            raise InputError(
                f"{draft}: is an interrupted capture; go on with it (--resume, resume=True) or delete it"
            )

    def _writer(self, like: FieldSeries, about: dict[str, object]) -> FieldWriter:
        if self._frames_counted():
            self._check_same(about)
            return FieldWriter.resume(self.draft)
        self._remove()
        writer = FieldWriter.like(self.draft, like, precision="float32")
        (self.draft / NOTE).write_text(json.dumps(about), encoding="utf-8")
        return writer

    def _frames_counted(self) -> int:
        """Frames the draft's header counts; 0 if it was killed before it had any."""
        try:
            header = json.loads((self.draft / "zarr.json").read_text(encoding="utf-8"))
            return int(header["attributes"]["marey"]["frames"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def _check_same(self, about: dict[str, object]) -> None:
        try:
            before = json.loads((self.draft / NOTE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            before = {}
        for name, value in about.items():
            if before.get(name) != value:
                was = f": {before[name]}, not {value}" if name in before else ""
                raise InputError(
                    f"{self.draft}: is a capture with another {name}{was}; repeat the command that was "
                    "interrupted, or delete the draft"
                )

    def _remove(self) -> None:
        """Remove what is kept in the draft, and the draft unless something else is in it."""
        for part in (self.draft / name for name in (*FIELD_PARTS, NOTE)):
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)
        with suppress(OSError):
            self.draft.rmdir()
