"""The performances of one subject: sequences of one connectivity (Boukhayma 2017, section 3.3).

Everything above it (distances, transitions, graph) speaks of frames by their number in the library. Vertices
stay in the sequences, which may be maps of files larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray, assign
from marey.errors import InputError
from marey.statistics.graphs.graph import ClipIndex
from marey.surface.sequence import MeshSequence


@dataclass(frozen=True, eq=False)
class Library:
    """Sequences of one subject: the same faces and frame rate in all of them.

    Attributes:
        sequences: at least one; those without a name, or with a name that is taken, are numbered.
        labels: the behaviour each sequence shows, e.g. "walk"; their names, if not given.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> library = Library((walk[:20], walk[30:50]), labels=("walk", "walk"))
    >>> library.frames, library.names, library.locate(25)
    (40, ('walk', 'walk-2'), (1, 5))
    """

    sequences: tuple[MeshSequence, ...]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sequences = tuple(self.sequences)
        if not sequences:
            raise InputError("library: there is no sequence")
        names = _distinct([sequence.name or "sequence" for sequence in sequences])
        sequences = tuple(
            sequence if sequence.name == name else sequence.renamed(name)
            for sequence, name in zip(sequences, names, strict=True)
        )
        _check_alike(sequences)
        labels = tuple(self.labels) or names
        if len(labels) != len(sequences):
            raise InputError(f"labels: {len(labels)} for {len(sequences)} sequences; give one each, or none")
        assign(self, sequences=sequences, labels=labels)

    @cached_property
    def clips(self) -> ClipIndex:
        """Names, labels and frame numbers of the sequences."""
        starts = np.concatenate([[0], np.cumsum([sequence.frames for sequence in self.sequences])])
        names = tuple(sequence.name for sequence in self.sequences)
        return ClipIndex(names, starts, self.labels, self.sequences[0].frame_rate)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sequences, all different."""
        return self.clips.names

    @property
    def starts(self) -> NDArray[np.int64]:
        """Number of each sequence's first frame, then the number of all frames, `(sequences + 1,)`."""
        return self.clips.starts

    @property
    def frames(self) -> int:
        """Number of frames of all sequences."""
        return self.clips.frames

    @property
    def frame_rate(self) -> float:
        """Frames per second of all sequences."""
        return self.clips.frame_rate

    @property
    def faces(self) -> IntArray:
        """`(faces, 3)`, shared by all sequences."""
        return self.sequences[0].faces

    @property
    def sequence_of(self) -> NDArray[np.int64]:
        """Which sequence each frame belongs to, `(frames,)`."""
        return self.clips.clip_of

    def vertices(self, frame: int) -> FloatArray:
        """Vertices of a frame, `(vertices, 3)`, where they were captured."""
        sequence, local = self.locate(frame)
        return self.sequences[sequence].vertices[local]

    def all_vertices(self) -> Iterator[FloatArray]:
        """Vertices of every frame in turn, `(vertices, 3)` each."""
        for sequence in self.sequences:
            yield from sequence.vertices

    def locate(self, frame: int) -> tuple[int, int]:
        """Which sequence a frame belongs to, and its number there."""
        return self.clips.locate(frame)

    def number(self, name: str, frame: int = 0) -> int:
        """The library's number for a frame of the sequence called `name`; below 0, counted from its end."""
        return self.clips.number(name, frame)

    def frame(self, reference: int | str) -> int:
        """The number of a frame given as its number, or written as `SEQUENCE:FRAME`.

        >>> import marey
        >>> Library((marey.samples.mesh_sequence()[:20],)).frame("walk:-1")
        19
        """
        return self.clips.frame(reference)

    def __len__(self) -> int:
        return len(self.sequences)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        count, candidate = 1, name
        while candidate in found:
            count += 1
            candidate = f"{name}-{count}"
        found.append(candidate)
    return tuple(found)


def _check_alike(sequences: Sequence[MeshSequence]) -> None:
    first = sequences[0]
    for other in sequences[1:]:
        if other.vertices.shape[1] != first.vertices.shape[1] or not np.array_equal(other.faces, first.faces):
            raise InputError(
                f"{other.name}: its connectivity is not that of {first.name} "
                f"({other.vertices.shape[1]} and {first.vertices.shape[1]} vertices, "
                f"{len(other.faces)} and {len(first.faces)} faces); a library is of one subject"
            )
        if not np.isclose(other.frame_rate, first.frame_rate):
            raise InputError(
                f"{other.name}: {other.frame_rate:g} frames per second, but {first.name} has "
                f"{first.frame_rate:g}; resample one of them first (marey convert --frame-rate)"
            )
