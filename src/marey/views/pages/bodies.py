"""Pages of bodies: motions as the figures our images show, characters in their skin, markers as points."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from marey._arrays import AnyArray
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.character import Character
from marey.geometry.mesh import vertex_normals
from marey.io import gltf
from marey.views import style
from marey.views.actors import MAX_POINTS, Actor, actor
from marey.views.mannequin import Figure, figure
from marey.views.mannequin_parts import Poses
from marey.views.pages.page import Page

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
