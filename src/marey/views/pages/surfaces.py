"""Pages of captured surfaces: the mesh with its texture, and where the frames of new motion come from."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from marey.io import gltf
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation
from marey.views.actors import actor
from marey.views.animations import CAPTURED, SYNTHETIC, at_rate
from marey.views.pages.bodies import add_points
from marey.views.pages.page import BUDGET, Page, thinning
from marey.views.pages.staging import frame_actor

# Frames up to which each is a shape of its own; of more, few shapes within so many metres are blended.
MOST_EXACT_FRAMES, UNSEEN = 24, 0.001
# Shapes beyond these play nowhere.
MOST_SHAPES = 160


def sequence_page(sequence: MeshSequence, page: Page) -> None:
    """A mesh sequence; a long one as a few shapes that are blended."""
    if not len(sequence.faces):
        add_points(page, actor(sequence), np.asarray(sequence.vertices))
        return
    _add_sequence(page, sequence, _frames_within(page, sequence))


def animation_page(animation: Animation, page: Page) -> None:
    """New motion of a captured subject: captured frames and synthetic ones told apart by colour, unless the
    subject has a texture, and along the time."""
    step = _frames_within(page, animation.sequence)
    if step > 1:
        animation = at_rate(animation, animation.sequence.frame_rate / step)
    synthetic = animation.provenance.synthetic
    textured = animation.sequence.uv is not None and bool(animation.sequence.textures)
    tints = {} if textured else {"tints": [CAPTURED, SYNTHETIC], "tint_of": synthetic.astype(int)}
    _add_sequence(page, animation.sequence, 1, **tints)
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


def _add_sequence(page: Page, sequence: MeshSequence, step: int, **tints: object) -> None:
    if step > 1:
        sequence = sequence[::step]
    page.frames, page.frame_rate = sequence.frames, sequence.frame_rate
    frame_actor(page, actor(sequence))
    error = UNSEEN if sequence.frames > MOST_EXACT_FRAMES else 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mesh.glb"
        gltf.write(sequence, path, max_error=error)
        page.layer("glb", glb=page.keep(path.read_bytes()), **tints)


def _frames_within(page: Page, sequence: MeshSequence) -> int:
    """Every how many frames one is shown, so that a page can hold them and a browser play them."""
    vertices = sequence.vertices.shape[1]
    step = thinning(sequence.frames, 24.0 * vertices, budget=12 * BUDGET)
    if step > 1:
        page.frame_step *= step
        page.notes.append(f"Every {step}th frame is shown: all of them would not fit into a page.")
    return step
