"""USD written by marey, opened again with Pixar's own library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.io import usd
from marey.surface.sequence import MeshSequence
from marey.surface.skinning import SkinnedMesh

pytest.importorskip("pxr")
from pxr import Usd, UsdGeom, UsdSkel

TOLERANCE = 1e-5  # metres


def leg(frames: int = 12, frame_rate: float = 24, name: str = "kick") -> Motion:
    rng = np.random.default_rng(5)
    offsets = np.array([[0, 0.9, 0], [0, -0.45, 0.01], [0.01, -0.44, 0]])
    skeleton = Skeleton(("hip joint", "knee", "ankle"), [-1, 0, 1], offsets, [2], [[0, 0, 0.15]])
    turns = np.cumsum(rng.normal(scale=0.1, size=(frames, 3, 3)), axis=0)
    root = np.array([0, 0.9, 0]) + np.cumsum(rng.normal(scale=0.02, size=(frames, 3)), axis=0)
    return Motion(skeleton, rot.exp(turns), root, frame_rate, name=name)


def skinned_leg(bound: tuple[str, ...] = ("ankle", "hip joint", "knee")) -> Character:
    """Bound in another order than the skeleton's, at a pose in which the joints are turned."""
    rng = np.random.default_rng(6)
    motion = leg()
    pose = forward_kinematics(motion)
    bind = np.zeros((len(bound), 4, 4))
    for row, name in enumerate(bound):
        joint = motion.skeleton.index(name)
        bind[row, :3, :3] = rot.to_matrix(pose.rotations[0, joint])
        bind[row, :3, 3], bind[row, 3, 3] = pose.positions[0, joint], 1
    bind[len(set(bound)) :, 0, 3] += 0.03
    weights = rng.random((30, len(bound)))
    skin = SkinnedMesh(
        rng.uniform(-0.5, 0.9, (30, 3)),
        rng.integers(0, 30, (20, 3)),
        bound,
        bind,
        np.repeat(np.arange(len(bound))[None], 30, axis=0),
        weights / weights.sum(axis=1, keepdims=True),
        uv=rng.random((9, 2)),
        uv_faces=rng.integers(0, 9, (20, 3)),
    )
    return Character(skin, (motion, leg(frames=5, frame_rate=48, name="twice as fast")), name="leg")


def opened_skeleton(path: Path) -> tuple[Any, Any, Any]:
    stage = Usd.Stage.Open(str(path))
    root = UsdSkel.Root(stage.GetDefaultPrim())
    cache = UsdSkel.Cache()
    cache.Populate(root, Usd.TraverseInstanceProxies())
    rig = next(p for p in stage.Traverse() if p.IsA(UsdSkel.Skeleton))
    mesh = next(p for p in stage.Traverse() if p.IsA(UsdGeom.Mesh))
    query = cache.GetSkelQuery(UsdSkel.Skeleton(rig))
    return stage, query, cache.GetSkinningQuery(mesh)


def joint_positions(query: Any, code: float) -> np.ndarray:
    return np.array(query.ComputeJointSkelTransforms(code))[:, 3, :3]


def skinned_points(stage: Any, query: Any, skinning: Any, code: float) -> np.ndarray:
    mesh = UsdGeom.Mesh(next(p for p in stage.Traverse() if p.IsA(UsdGeom.Mesh)))
    points = mesh.GetPointsAttr().Get()
    assert skinning.ComputeSkinnedPoints(query.ComputeSkinningTransforms(code), points, code)
    return np.array(points)


@pytest.mark.parametrize("ending", [".usdc", ".usda", ".usd"])
def test_usd_finds_the_joints_of_a_motion_where_they_are(tmp_path: Path, ending: str) -> None:
    motion = leg()
    usd.write(motion, tmp_path / f"leg{ending}")
    stage, query, skinning = opened_skeleton(tmp_path / f"leg{ending}")
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == 24
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, 11)
    assert list(query.GetJointOrder()) == ["hip_joint", "hip_joint/knee", "hip_joint/knee/ankle"]
    expected = forward_kinematics(motion).positions
    for frame in range(motion.frames):
        np.testing.assert_allclose(joint_positions(query, frame), expected[frame], atol=TOLERANCE)
    assert len(skinned_points(stage, query, skinning, 3)) == 3 * 24


def test_sliding_joints_slide_in_usd(tmp_path: Path) -> None:
    motion = leg()
    translations = np.repeat(motion.skeleton.offsets[None], motion.frames, axis=0)
    translations[:, 0] = motion.root
    translations[:, 1, 1] -= 0.02 * np.arange(motion.frames)
    motion = Motion(motion.skeleton, motion.rotations, motion.root, 24, translations=translations)
    usd.write(motion, tmp_path / "leg.usdc")
    stage, query, _ = opened_skeleton(tmp_path / "leg.usdc")
    assert stage.GetEndTimeCode() == 11
    expected = forward_kinematics(motion).positions
    for frame in range(motion.frames):
        np.testing.assert_allclose(joint_positions(query, frame), expected[frame], atol=TOLERANCE)


@pytest.mark.parametrize(
    "bound", [("ankle", "hip joint", "knee"), ("knee", "ankle"), ("knee", "ankle", "knee")]
)
def test_usd_skins_a_character_as_we_do(tmp_path: Path, bound: tuple[str, ...]) -> None:
    character = skinned_leg(bound)
    usd.write(character, tmp_path / "leg.usdc")
    stage, query, skinning = opened_skeleton(tmp_path / "leg.usdc")
    expected = character.pose().vertices
    for frame in (0, 4, 11):
        np.testing.assert_allclose(
            skinned_points(stage, query, skinning, frame), expected[frame], atol=TOLERANCE
        )
    clips = [p.GetName() for p in stage.Traverse() if p.IsA(UsdSkel.Animation)]
    assert clips == ["kick", "twice_as_fast"]
    second = next(p for p in stage.Traverse() if p.GetName() == "twice_as_fast")
    assert UsdSkel.Animation(second).GetRotationsAttr().GetTimeSamples() == [0, 0.5, 1, 1.5, 2]


def test_texture_coordinates_and_colours_are_kept(tmp_path: Path) -> None:
    character = skinned_leg()
    usd.write(character, tmp_path / "leg.usdc")
    stage, _, _ = opened_skeleton(tmp_path / "leg.usdc")
    mesh = next(p for p in stage.Traverse() if p.IsA(UsdGeom.Mesh))
    st = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    corners = character.skin.uv[character.skin.uv_faces].reshape(-1, 2)
    np.testing.assert_allclose(np.array(st.ComputeFlattened()), corners, atol=1e-6)


def test_a_mesh_sequence_becomes_moving_points(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    colours = rng.random((10, 3))
    sequence = MeshSequence(rng.random((4, 10, 3)), rng.integers(0, 10, (6, 3)), 29.97, colours=colours)
    usd.write(sequence, tmp_path / "blob.usdc")
    stage = Usd.Stage.Open(str(tmp_path / "blob.usdc"))
    mesh = UsdGeom.Mesh(stage.GetDefaultPrim())
    assert stage.GetTimeCodesPerSecond() == 29.97
    assert mesh.GetPointsAttr().GetTimeSamples() == [0, 1, 2, 3]
    for frame in range(4):
        np.testing.assert_allclose(mesh.GetPointsAttr().Get(frame), sequence.vertices[frame], atol=1e-6)
    np.testing.assert_array_equal(np.reshape(mesh.GetFaceVertexIndicesAttr().Get(), (-1, 3)), sequence.faces)
    light = np.array(mesh.GetDisplayColorAttr().Get())
    assert light.shape == (10, 3)
    assert (light <= colours + 1e-6).all()


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        usd.write(leg(), tmp_path / "nowhere" / "leg.usdc")
    assert list(tmp_path.iterdir()) == []
    usd.write(leg(), tmp_path / "leg.usdc")
    usd.write(leg(frames=3), tmp_path / "leg.usdc")
    assert [f.name for f in tmp_path.iterdir()] == ["leg.usdc"]
    assert Usd.Stage.Open(str(tmp_path / "leg.usdc")).GetEndTimeCode() == 2
