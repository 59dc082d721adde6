"""Pages of captured surfaces: the mesh with its textures, and where the frames of new motion come from.

A long sequence is kept as a few shapes and their weights over time, no vertex more than a millimetre off, a
short one frame by frame; 6 bytes for each vertex and shape.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from marey._arrays import AnyArray
from marey.surface.sequence import MeshSequence, Texture
from marey.surface.shapes import shapes_of
from marey.surface.synthesis.animation import Animation
from marey.views.actors import actor
from marey.views.pages.bodies import add_points
from marey.views.pages.page import BUDGET, Page
from marey.views.renderer import Appearance
from marey.views.style import CAPTURED, SYNTHETIC

VERTEX_BYTES = 6
# Frames up to which each is kept as it is; of more, few shapes within so many metres are blended.
MAX_EXACT_FRAMES, TOLERANCE = 24, 0.001
# A browser would otherwise run out of memory for images.
MAX_TEXTURES = 40


def sequence_page(sequence: MeshSequence, page: Page) -> None:
    """A mesh sequence, with the texture of each frame if there are several."""
    sequence = _thinned(page, sequence)
    if not len(sequence.faces):
        add_points(page, actor(sequence), np.asarray(sequence.vertices))
        return
    add_surface(page, sequence)


def animation_page(animation: Animation, page: Page) -> None:
    """New motion of a captured subject; the time, and a mesh without texture, show what is synthetic."""
    sequence = _thinned(page, animation.sequence)
    synthetic = animation.provenance.synthetic[:: page.frame_step]
    textured = sequence.uv is not None and bool(sequence.textures)
    add_surface(page, sequence, synthetic=None if textured else synthetic)
    turns = [0, *(np.flatnonzero(np.diff(synthetic)) + 1).tolist(), len(synthetic)]
    for first, after in pairwise(turns):
        made = bool(synthetic[first])
        page.spans.append(
            {
                "first": max(first - 0.5, 0),
                "last": min(after - 0.5, len(synthetic) - 1),
                "label": "synthetic" if made else "captured",
                "colour": SYNTHETIC if made else CAPTURED,
            }
        )


def add_surface(page: Page, sequence: MeshSequence, *, synthetic: AnyArray | None = None) -> None:
    """Put a sequence with faces on the stage.

    synthetic: `(frames,)`, which frames were synthesised; they have another colour
    """
    page.frames, page.frame_rate = sequence.frames, sequence.frame_rate
    subject = actor(sequence)
    page.frame_actor(subject)
    drawn = _drawn(page, subject.look)
    if synthetic is not None:
        drawn |= {"colours": None, "tints": [CAPTURED, SYNTHETIC], "tint_of": synthetic.astype(int)}
    page.layer("surface", **_movement(page, sequence), **drawn, **_textures(page, sequence))


def _movement(page: Page, sequence: MeshSequence) -> dict[str, Any]:
    shapes = shapes_of(sequence, TOLERANCE) if sequence.frames > MAX_EXACT_FRAMES else None
    if shapes is None or not len(shapes.targets):
        return {"targets": page.quantised(sequence.vertices)}
    places = np.column_stack([np.unwrap(shapes.placements.angle), shapes.placements.shift])
    return {
        "base": page.exact(shapes.base),
        "targets": page.quantised(shapes.targets),
        "weights": page.exact(shapes.weights),
        "places": page.exact(places),
    }


def _drawn(page: Page, look: Appearance) -> dict[str, Any]:
    """Faces, colours and texture coordinates, vertices split where the texture has a seam."""
    count = len(look.colours)
    faces, source, uv = np.asarray(look.faces), np.arange(count), None
    if len(look.uv):
        pairs = faces.astype(np.int64) * len(look.uv) + look.uv_faces
        kept, corner = np.unique(pairs, return_inverse=True)
        faces, source, uv = corner.reshape(-1, 3), kept // len(look.uv), look.uv[kept % len(look.uv)]
    welded = np.arange(count) if look.welded is None else look.welded
    return {
        "faces": page.exact(faces.astype(np.uint32)),
        "source": page.exact(source.astype(np.uint32)),
        "welded": page.exact(welded.astype(np.uint32)),
        "uv": None if uv is None else page.exact(uv),
        "colours": None if uv is not None else page.quantised(look.colours[source]),
    }


def _textures(page: Page, sequence: MeshSequence) -> dict[str, Any]:
    """Images of the frames, those that differ; of very many every second is kept, or third, …"""
    if sequence.uv is None or not sequence.textures:
        return {}
    step = -(-sequence.frames // MAX_TEXTURES) if len(sequence.textures) > 1 else sequence.frames
    kept: dict[Texture, int] = {}
    texture_of = []
    for frame in range(sequence.frames):
        texture = sequence.texture(frame - frame % step)
        assert texture is not None
        texture_of.append(kept.setdefault(texture, len(kept)))
    if step > 1 and len(sequence.textures) > 1:
        page.notes.append(f"The texture changes every {step} frames.")
    return {"textures": [page.keep(texture.encoded()) for texture in kept], "texture_of": texture_of}


def _thinned(page: Page, sequence: MeshSequence) -> MeshSequence:
    """The frames that are shown; shapes make a long sequence a good deal smaller."""
    return page.thin(sequence, sequence.frames, VERTEX_BYTES * sequence.vertices.shape[1], budget=4 * BUDGET)
