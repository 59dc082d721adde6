"""Make the sample human: src/marey/samples/human.npz.

A skinned, textured mesh of some 7,600 vertices on the skeleton of the walk, built by formula in about two
seconds. Shape, weights, atlas and outfit each have a module of their own; here they are put together.

    cd tools && python -m human.build
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from human.atlas import Part, baked_points, unwrap
from human.human_shape import body_shapes, resting
from human.implicit import distance_near, distance_on_grid
from human.outfit import painted
from human.skin_binding import heat_weights, nearest_bone
from human.surface_nets import polygonise, relaxed, triangulated
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.kinematics import forward_kinematics
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as rot
from marey.geometry.rigid import Rigid, to_matrix
from marey.samples.human import ASSET
from marey.surface.sequence import Texture
from marey.surface.skinning import SkinnedMesh

PIXELS = 1024
# Without thinning out the colours, whose edges are sharp.
JPEG = (cv2.IMWRITE_JPEG_QUALITY, 90, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444)

# Metres, by the end of the joint's name: thickness of the body there.
_THICKNESS = {
    "Hips": 0.105, "LowerBack": 0.13, "Spine": 0.14, "Spine1": 0.10, "Neck": 0.095, "Head": 0.105,
    "Shoulder": 0.060, "Arm": 0.050, "ForeArm": 0.038, "Hand": 0.030, "HandIndex1": 0.026, "Thumb": 0.014,
    "UpLeg": 0.085, "Leg": 0.050, "Foot": 0.050, "ToeBase": 0.040,
}  # fmt: skip

_REGION = {
    "Hips": "torso", "LowerBack": "torso", "Spine": "torso", "Spine1": "torso", "Shoulder": "torso",
    "Neck": "head", "Head": "head", "Arm": "arm", "ForeArm": "arm", "Hand": "hand", "HandIndex1": "hand",
    "Thumb": "thumb", "UpLeg": "leg", "Leg": "leg", "Foot": "foot", "ToeBase": "foot",
}  # fmt: skip


def arrays() -> dict[str, NDArray[Any]]:
    """What the file holds: the mesh and its binding, and the texture as a JPEG image.

    Vertices and weights keep all digits: distances and graphs of the samples have near ties.
    """
    skin = mesh()
    assert skin.uv is not None and skin.uv_faces is not None and skin.texture is not None
    return {
        "vertices": skin.vertices,
        "faces": skin.faces.astype(np.uint16),
        "weights": skin.weights,
        "uv": skin.uv.astype(np.float32),
        "uv_faces": skin.uv_faces.astype(np.uint16),
        "influences": skin.influences.astype(np.uint8),
        "bind": skin.bind,
        "texture": cv2.imencode(".jpg", skin.texture.read()[..., ::-1], JPEG)[1].ravel(),
    }


def mesh() -> SkinnedMesh:
    """The human at rest, bound to the skeleton of the samples."""
    rest = resting()
    skeleton, pose = rest.skeleton, forward_kinematics(rest)
    positions, turns = pose.positions[0], pose.rotations[0]
    ends = positions[skeleton.end_parents] + rot.rotate(turns[skeleton.end_parents], skeleton.end_offsets)
    joints = dict(zip(skeleton.names, positions))
    joints |= {f"{skeleton.names[j]} end": end for j, end in zip(skeleton.end_parents, ends)}
    axes = dict(zip(skeleton.names, rot.to_matrix(turns)))

    shapes = body_shapes(joints, axes)
    grid = _grid()
    vertices, quads = polygonise(distance_on_grid(shapes, grid), grid)
    surface = distance_near(shapes, vertices, margin=0.02)
    vertices = relaxed(vertices, triangulated(vertices, quads), surface, rounds=8)
    faces = triangulated(vertices, quads)

    thickness = np.array([_THICKNESS[_without_side(name)] for name in skeleton.names])
    owner = nearest_bone(vertices, _bones(skeleton, positions, ends), thickness)
    influences, weights = heat_weights(vertices, faces, owner, np.maximum(0.55 * thickness[owner], 0.02))
    uv, uv_faces, texture = _appearance(vertices, faces, owner, skeleton.names, joints)
    return SkinnedMesh(
        vertices,
        faces,
        skeleton.names,
        to_matrix(Rigid(turns, positions)),
        influences,
        weights,
        uv,
        uv_faces,
        texture=texture,
    )


def _bones(skeleton: Skeleton, positions: Array, ends: Array) -> list[tuple[int, Array, Array]]:
    """Joint, start and end of every bone: from each joint to its children, its end sites, and the heels."""
    targets = [(int(skeleton.parents[j]), positions[j]) for j in range(1, skeleton.joints)]
    targets += [(int(j), end) for j, end in zip(skeleton.end_parents, ends)]
    for foot in skeleton.indices(("LeftFoot", "RightFoot")):
        targets.append((foot, positions[foot] + [0.0, -0.03, -0.045]))
    return [(joint, positions[joint], end) for joint, end in targets]


def _appearance(
    vertices: Array,
    faces: NDArray[np.int64],
    owner: NDArray[np.int64],
    names: tuple[str, ...],
    joints: dict[str, Array],
) -> tuple[Array, NDArray[np.int64], Texture]:
    parts = _parts(joints)
    labels = list(parts)
    of_joint = np.array([labels.index(_part_name(name)) for name in names])
    of_corner = of_joint[owner[faces]]
    part = np.where(of_corner[:, 1] == of_corner[:, 2], of_corner[:, 1], of_corner[:, 0])
    uv, uv_faces = unwrap(vertices, faces, part, list(parts.values()))

    filled, points, face = baked_points(vertices, faces, uv, uv_faces, PIXELS)
    regions = np.array([_without_side(label) for label in labels])[part[face]]
    image = np.zeros((PIXELS, PIXELS, 3))
    image[filled] = painted(points, regions, joints["LeftArm"])
    return uv, uv_faces, Texture.from_image(_bled(image, filled))


def _parts(joints: dict[str, Array]) -> dict[str, Part]:
    """The pieces of the atlas and their lines."""
    up, back = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -1.0])
    parts = {
        "torso": Part(joints["Hips"], joints["Hips"] + up, back),
        "head": Part(
            joints["Head"] + [0.0, 0.0, 0.01], joints["Head"] + [0.0, 1.0, 0.01], back, enlarged=1.7
        ),
    }
    for side in ("Left", "Right"):
        at = {name.removeprefix(side): point for name, point in joints.items() if name.startswith(side)}
        foot = at["Foot"] * [1.0, 0.0, 1.0] + [0.0, 0.04, 0.0]
        parts |= {
            f"{side}arm": Part(at["Arm"], at["Hand"], back),
            f"{side}hand": Part(at["Hand"], at["HandIndex1 end"], back, enlarged=1.2),
            f"{side}thumb": Part(at["Thumb"], at["Thumb end"], back, enlarged=1.2),
            f"{side}leg": Part(at["Foot"], at["UpLeg"], back),
            f"{side}foot": Part(foot, foot - back, -up),
        }
    return parts


def _grid() -> tuple[Array, Array, Array]:
    """Finer where head, hands and feet are."""
    half = _spaced((0.0, 0.012), (0.08, 0.012), (0.15, 0.024), (0.45, 0.024), (0.56, 0.012), (0.76, 0.012))
    return (
        np.concatenate([-half[:0:-1], half]),
        _spaced(
            (-0.03, 0.016),
            (0.05, 0.016),
            (0.12, 0.026),
            (0.85, 0.026),
            (0.92, 0.016),
            (1.04, 0.016),
            (1.12, 0.026),
            (1.40, 0.026),
            (1.52, 0.012),
            (1.80, 0.012),
        ),
        _spaced((-0.20, 0.018), (0.07, 0.018), (0.10, 0.014), (0.16, 0.014), (0.30, 0.020)),
    )


def _spaced(*knots: tuple[float, float]) -> Array:
    """Coordinates from the first knot to the last whose spacing passes through that of the knots."""
    at, spacing = np.array(knots).T
    values = [at[0]]
    while values[-1] < at[-1]:
        values.append(values[-1] + np.interp(values[-1], at, spacing))
    return np.array(values)


def _bled(image: Array, filled: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """`image` as bytes, its charts grown a few texels into the empty space, so that no border shows."""
    pixels = np.round(255 * image).astype(np.uint8)
    known = filled.astype(np.uint8)
    for _ in range(4):
        grown = cv2.dilate(pixels, np.ones((3, 3), np.uint8))
        fresh = (cv2.dilate(known, np.ones((3, 3), np.uint8)) > 0) & (known == 0)
        pixels[fresh] = grown[fresh]
        known[fresh] = 1
    pixels[known == 0] = 128
    return pixels


def _without_side(name: str) -> str:
    return name.removeprefix("Left").removeprefix("Right")


def _part_name(joint: str) -> str:
    region = _REGION[_without_side(joint)]
    return region if region in ("torso", "head") else joint[: 4 if joint.startswith("Left") else 5] + region


if __name__ == "__main__":
    np.savez_compressed(ASSET, **arrays())
    print(f"{ASSET}: {ASSET.stat().st_size / 1e3:.0f} kB")
