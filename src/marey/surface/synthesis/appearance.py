"""Frames gathered into an animation, with their textures (Boukhayma 2017, figures 1.2 and 3.11).

Captured frames keep their texture; blended ones dissolve the two textures in the atlas both share, by the
weight of the blend. One texture for all stays one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from marey._arrays import FloatArray, read_only
from marey._progress import Progress
from marey.errors import InputError
from marey.surface.library import Library
from marey.surface.synthesis.animation import Animation, Provenance
from marey.surface.synthesis.blending import Frame
from marey.surface.texture import Texture


def gathered(
    library: Library, frames: Iterable[Frame], total: int, *, name: str, progress: Progress | None = None
) -> Animation:
    """All frames of a stream as one animation.

    total: how many there are
    """
    first = library.sequences[0]
    vertices: FloatArray = np.empty((total, *first.vertices.shape[1:]), first.vertices.dtype)
    origins: list[tuple[int, int, float, bool]] = []
    for i, frame in enumerate(frames):
        vertices[i] = frame.vertices
        origins.append((frame.source, frame.destination, frame.weight, frame.synthetic))
        if progress is not None:
            progress(i + 1, total)
    provenance = Provenance(*(np.array(column) for column in zip(*origins, strict=True)))
    sequence = replace(
        first, vertices=read_only(vertices), textures=dissolved_textures(library, provenance), name=name
    )
    return Animation(sequence, provenance)


def dissolved_textures(library: Library, provenance: Provenance) -> tuple[Texture, ...]:
    """Textures of an animation: none, one for all, or one a frame."""
    if not all(sequence.textures for sequence in library.sequences):
        return ()
    single = {sequence.textures for sequence in library.sequences}
    if len(single) == 1 and len(next(iter(single))) == 1:
        return next(iter(single))
    return tuple(
        _dissolved(library, int(source), int(destination), float(weight))
        for source, destination, weight in zip(
            provenance.sources, provenance.destinations, provenance.weights, strict=True
        )
    )


def _dissolved(library: Library, source: int, destination: int, weight: float) -> Texture:
    first, second = _texture(library, source), _texture(library, destination)
    if weight == 0 or first == second:
        return first
    if weight == 1:
        return second
    here, there = first.read(), second.read()
    if here.shape != there.shape:
        raise InputError(
            f"frames {source} and {destination}: their textures are {here.shape[1]} × {here.shape[0]} and "
            f"{there.shape[1]} × {there.shape[0]} pixels; a blend needs one atlas"
        )
    mixed = here + weight * (there.astype(np.float32) - here)
    return Texture.from_image(np.round(mixed).astype(np.uint8))


def _texture(library: Library, frame: int) -> Texture:
    sequence, local = library.locate(frame)
    found = library.sequences[sequence].texture(local)
    assert found is not None
    return found
