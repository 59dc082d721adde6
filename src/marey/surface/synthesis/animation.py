"""New motion of a captured subject: meshes that know which captured frames they come from.

Captured frames keep their texture; blended ones cross-fade the two textures in the atlas both share, by the
weight of the blend (Boukhayma 2017, figures 1.2 and 3.11). One texture for all stays one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from marey._arrays import BoolArray, FloatArray, Integers, assign, checked, derived, read_only
from marey._report import Displayed, Report
from marey._work import Progress
from marey.errors import InputError
from marey.geometry import resampling
from marey.statistics.graphs.graph import Walk
from marey.surface.sequence import Library, MeshSequence, Texture


@dataclass(frozen=True, eq=False)
class Frame:
    """A mesh of an animation, and where it comes from.

    Attributes:
        vertices: `(vertices, 3)`, in the world.
        source: captured frame, a number of the library; rounded down if between two.
        destination: the one it was blended with; the same if it was not.
        weight: of the destination.
        synthetic: whether it was blended; else it is the captured `source`, moved along the ground.
    """

    vertices: FloatArray
    source: int
    destination: int
    weight: float
    synthetic: bool


@dataclass(frozen=True, eq=False)
class Provenance:
    """Where the frames of an animation come from (Boukhayma 2017, figure 3.11); `(frames,)` each.

    Attributes:
        sources: captured frames, as of :class:`Frame`.
        destinations: those they were blended with.
        weights: of the destinations, 0…1.
        synthetic: whether the frame was blended.

    >>> Provenance([4, 5], [4, 9], [0.0, 0.5], [False, True]).captured_frames
    1
    """

    sources: Integers
    destinations: Integers
    weights: FloatArray
    synthetic: BoolArray

    def __post_init__(self) -> None:
        count = len(self.sources)
        assign(
            self,
            sources=checked("sources", self.sources, (count,), dtype=np.int64),
            destinations=checked("destinations", self.destinations, (count,), dtype=np.int64),
            weights=checked("weights", self.weights, (count,)),
            synthetic=checked("synthetic", self.synthetic, (count,), dtype=np.bool_),
        )

    @property
    def captured_frames(self) -> int:
        """How many frames are captured ones."""
        return int((~self.synthetic).sum())


@dataclass(frozen=True)
class AnimationReport(Report):
    """How well an animation keeps to what was asked for, and to what was captured.

    Attributes:
        transitions: number of them.
        cost: of the walk through the graph, radians.
        foot_skate: mean speed of what touches the ground, metres a second.
        captured_foot_skate: that of the captured frames it consists of.
        foot_skate_ratio: of the two.
        path_error: mean distance from the path asked for, metres.
        path_error_max: the largest.
        label_violations: frames of a behaviour that was not asked for.
        time_errors: seconds by which each pose misses its time.
    """

    transitions: int
    cost: float
    foot_skate: float
    captured_foot_skate: float
    foot_skate_ratio: float
    path_error: float | None = None
    path_error_max: float | None = None
    label_violations: int | None = None
    time_errors: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Animation(Displayed):
    """New motion of a captured subject.

    Attributes:
        sequence: the meshes, placed in the world.
        provenance: where each frame comes from.
        walk: through the graph, if it was made from one.
        report: what was measured, if it was made to order.
    """

    sequence: MeshSequence
    provenance: Provenance
    walk: Walk | None = None
    report: AnimationReport | None = None

    def __post_init__(self) -> None:
        if self.sequence.frames != len(self.provenance.sources):
            raise InputError(
                f"animation: {self.sequence.frames} meshes, but {len(self.provenance.sources)} origins"
            )

    frames = derived(int, "sequence.frames", "Number of frames.")
    frame_rate = derived(float, "sequence.frame_rate", "Frames per second.")
    duration = derived(float, "sequence.duration", "Seconds.")

    def resample(self, frame_rate: float) -> Animation:
        """The same at another frame rate; each frame keeps the origin of the nearest one."""
        positions = resampling.sample_positions(self.frames, self.frame_rate, frame_rate)
        near, origin = resampling.nearest(self.frames, positions), self.provenance
        kept = Provenance(
            origin.sources[near], origin.destinations[near], origin.weights[near], origin.synthetic[near]
        )
        return Animation(self.sequence.resample(frame_rate), kept)

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Save it, see :func:`marey.save`; a `.mry` file keeps where the frames come from."""
        from marey import save

        save(self, path, **options)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        captured = self.provenance.captured_frames
        made = {"captured_frames": captured, "synthetic_frames": self.frames - captured}
        return {**self.sequence.facts(), "kind": "animation", **made}


def collect_frames(
    library: Library, frames: Iterable[Frame], total: int, *, name: str, progress: Progress | None = None
) -> Animation:
    """All `total` frames of a stream as one animation."""
    first = library.sequences[0]
    vertices: FloatArray = np.empty((total, *first.vertices.shape[1:]), first.vertices.dtype)
    origins: list[tuple[int, int, float, bool]] = []
    for i, frame in enumerate(frames):
        vertices[i] = frame.vertices
        origins.append((frame.source, frame.destination, frame.weight, frame.synthetic))
        if progress is not None:
            progress(i + 1, total)
    provenance = Provenance(*(np.array(column) for column in zip(*origins, strict=True)))
    textures = cross_fade_textures(library, provenance)
    return Animation(replace(first, vertices=read_only(vertices), textures=textures, name=name), provenance)


def cross_fade_textures(library: Library, provenance: Provenance) -> tuple[Texture, ...]:
    """Textures of an animation: none, one for all, or one a frame."""
    if not all(sequence.textures for sequence in library.sequences):
        return ()
    single = {sequence.textures for sequence in library.sequences}
    if len(single) == 1 and len(next(iter(single))) == 1:
        return next(iter(single))
    return tuple(
        _cross_faded(library, int(source), int(destination), float(weight))
        for source, destination, weight in zip(
            provenance.sources, provenance.destinations, provenance.weights, strict=True
        )
    )


def _cross_faded(library: Library, source: int, destination: int, weight: float) -> Texture:
    textures = [
        texture
        for sequence, local in (library.locate(source), library.locate(destination))
        if (texture := library.sequences[sequence].texture(local)) is not None
    ]
    first, second = textures
    if weight in (0, 1) or first == second:
        return textures[int(weight)]
    here, there = first.read(), second.read()
    if here.shape != there.shape:
        raise InputError(
            f"frames {source} and {destination}: their textures are {here.shape[1]} × {here.shape[0]} and "
            f"{there.shape[1]} × {there.shape[0]} pixels; a blend needs one atlas"
        )
    mixed = here + weight * (there.astype(np.float32) - here)
    return Texture.from_image(np.round(mixed).astype(np.uint8))
