"""Pages of bodies and surfaces: figures, characters in their skin, markers, captured meshes, new motion.

A long mesh sequence is kept as a few shapes and their weights over time, no vertex more than a millimetre
off, a short one frame by frame; 6 bytes for each vertex and shape.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from marey._arrays import AnyArray
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.character import Character
from marey.geometry.mesh import vertex_normals
from marey.io import gltf
from marey.surface.sequence import MeshSequence, Texture
from marey.surface.shapes import shapes_of
from marey.surface.synthesis.animation import Animation
from marey.views import style
from marey.views.actors import MAX_POINTS, Actor, actor
from marey.views.mannequin import Figure, figure
from marey.views.mannequin_parts import Poses
from marey.views.pages.page import BUDGET, Page
from marey.views.renderer import Appearance
from marey.views.style import CAPTURED, SYNTHETIC

SAMPLED_POSES = 6
# Of one carrier and frame: three axes and an origin in 16 bits.
CARRIER_BYTES = 24


def motion_page(motion: Motion, page: Page) -> None:
    """A motion as a mannequin where the joints make a human, rounded bones elsewhere."""
    page.first_frame = motion.first_frame
    carriers = 2 * motion.joints + 16
    motion = page.thin(motion, motion.frames, CARRIER_BYTES * carriers)
    page.frames, page.frame_rate = motion.frames, motion.frame_rate
    page.frame_actor(actor(motion))
    poses = Poses(motion)
    add_figure(page, figure(motion, poses), poses)


def add_figure(page: Page, body: Figure, poses: Poses) -> None:
    """Put a figure that follows a clip on the stage."""
    origins, axes = [], []
    for frame in range(len(poses)):
        origin, turned = body.carriers(poses.points[frame], poses.matrices(frame))
        origins.append(origin.astype(np.float32))
        axes.append(turned.swapaxes(1, 2).astype(np.float32))
    # Relative to the body, 16 bits are a tenth of a millimetre however far it goes.
    base = poses.body
    parents = poses.skeleton.parents
    ends = enumerate(poses.skeleton.end_parents, start=poses.skeleton.joints)
    links = [(int(parent), joint) for joint, parent in enumerate(parents) if parent >= 0]
    page.layer(
        "figure",
        vertices=page.exact(body.local),
        normals=page.exact(carried_normals(body, poses)),
        faces=page.exact(body.faces.astype(np.uint32)),
        colours=page.exact(body.colours),
        carrier=page.exact(body.carrier.astype(np.uint16)),
        base=page.exact(base),
        origins=page.quantised(np.array(origins) - base[:, None].astype(np.float32)),
        axes=page.quantised(np.array(axes).reshape(len(origins), -1, 9)),
        points=page.quantised(poses.points - base[:, None]),
        links=[*links, *((int(parent), end) for end, parent in ends)],
    )


def character_page(character: Character, page: Page) -> None:
    """A character in its skin, with all its clips."""
    frames = max(motion.frames for motion in character.motions)
    character = page.thin(character, frames * len(character.motions), 16.0 * character.motion.joints)
    page.frames, page.frame_rate = character.motion.frames, character.motion.frame_rate
    page.frame_actor(actor(character))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "character.glb"
        gltf.write(character, path)
        page.layer("glb", glb=page.keep(path.read_bytes()))


def markers_page(markers: Markers, page: Page) -> None:
    """Markers as points."""
    markers = page.thin(markers, markers.frames, 6.0 * len(markers.names))
    add_points(page, actor(markers), np.asarray(markers.positions))


def add_points(page: Page, points: Actor, positions: AnyArray) -> None:
    """Points `(frames, points, 3)`, NaN while unseen, as balls."""
    positions = positions[:, :: max(positions.shape[1] // MAX_POINTS, 1)]
    page.frames, page.frame_rate = points.frames, points.frame_rate
    page.frame_actor(points, ghosts=False)
    page.layer(
        "points",
        positions=page.quantised(positions),
        radius=(0.011 if positions.shape[1] < 300 else 0.005) * points.size,
        colour=style.PALETTE[0],
    )


def carried_normals(body: Figure, poses: Poses) -> AnyArray:
    """Normals of a figure in the frames of their carriers, `(vertices, 3)`, the mean over some poses.

    Faces may span two carriers (rings of the trunk), so normals are those of the mesh as it stands.
    """
    total = np.zeros_like(body.local)
    for frame in np.unique(np.linspace(0, len(poses) - 1, SAMPLED_POSES).astype(int)):
        points, rotations = poses.points[frame], poses.matrices(int(frame))
        normals = vertex_normals(body.vertices(points, rotations), body.faces)
        turned = body.carriers(points, rotations)[1][body.carrier]
        total += np.linalg.solve(turned, normals[..., None])[..., 0]
    size = np.linalg.norm(total, axis=1, keepdims=True)
    return np.asarray(total / np.where(size > 0, size, 1.0))


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
