"""Single frames on the command line: `FILE`, `FILE:FRAME`, or `FILE:CLIP:FRAME` of a character's clips."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marey.cli.surface._inputs import sequences_in
from marey.errors import InputError
from marey.surface.sequence import MeshSequence


@dataclass(frozen=True)
class FrameReference:
    """A frame of a file; `frame` counts from 0, or below 0 from the end; None if none was written."""

    file: Path
    frame: int | None = None
    clip: str | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.clip, self.frame) if part is not None)


def parse_frame_reference(text: str) -> FrameReference:
    """What a user wrote for a frame. A path may have colons in it: only a number after the last one counts.

    >>> parse_frame_reference("walk.npz:12")
    FrameReference(file=PosixPath('walk.npz'), frame=12, clip=None)
    >>> parse_frame_reference("C:/takes/walk.npz").frame is None
    True
    """
    if Path(text).exists():
        return FrameReference(Path(text))
    found = re.fullmatch(r"(.+):(-?\d+)", text, re.DOTALL)
    if found is None:
        return FrameReference(Path(text))
    before, frame = found.group(1), int(found.group(2))
    file, colon, clip = before.rpartition(":")
    if colon and not Path(before).exists() and Path(file).exists():
        return FrameReference(Path(file), frame, clip)
    return FrameReference(Path(before), frame)


def load_frame(reference: FrameReference, **options: Any) -> tuple[MeshSequence, int]:
    """The sequence a frame belongs to, and the frame's number in it, from 0."""
    return load_frames([reference], **options)[0]


def load_frames(
    references: Sequence[FrameReference], *, character: str | None = None, **options: Any
) -> list[tuple[MeshSequence, int]]:
    """As `load_frame`, of several; every file is read once, and frames of one sequence share it."""
    files = list(dict.fromkeys(reference.file for reference in references))
    found = dict(zip(files, sequences_in(files, character=character, **options), strict=True))
    return [_located(found[reference.file], reference) for reference in references]


def _located(sequences: list[MeshSequence], reference: FrameReference) -> tuple[MeshSequence, int]:
    sequence = _chosen(sequences, reference)
    frame, frames = reference.frame, sequence.frames
    if frame is None:
        if frames > 1:
            raise InputError(
                f"{reference}: it has {frames} frames; write {reference}:FRAME, e.g. {reference}:0"
            )
        return sequence, 0
    if not -frames <= frame < frames:
        raise InputError(f"{reference}: there is no frame {frame}; it has {frames}, counted from 0")
    return sequence, frame % frames


def _chosen(sequences: list[MeshSequence], reference: FrameReference) -> MeshSequence:
    if reference.clip is None and len(sequences) == 1:
        return sequences[0]
    names = [sequence.name.removeprefix(f"{reference.file.stem}-") for sequence in sequences]
    if reference.clip in names:
        return sequences[names.index(reference.clip)]
    told = "has several clips" if reference.clip is None else f"has no clip {reference.clip!r}"
    raise InputError(f"{reference.file}: {told}; write {reference.file}:CLIP:FRAME, of {', '.join(names)}")
