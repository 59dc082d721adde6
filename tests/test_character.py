from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from marey.body import Motion, Skeleton
from marey.character import Character
from marey.errors import InputError
from marey.geometry import rotations
from marey.surface import SkinnedMesh, Texture

NAMES = ("hips", "chest", "head")
SKELETON = Skeleton(NAMES, [-1, 0, 1], [[0, 0, 0], [0, 0.5, 0], [0, 0.5, 0]])
REST = Motion(SKELETON, rotations.identity((1, 3)), [[0, 1, 0]], 30.0, name="rest")


def swaying(frames: int = 12, seed: int = 0) -> Motion:
    rng = np.random.default_rng(seed)
    turns = rotations.exp(rng.normal(size=(frames, 3, 3)))
    return Motion(SKELETON, turns, rng.normal(size=(frames, 3)), 30.0, name="sway")


def column(names: tuple[str, ...] = NAMES, texture: Texture | None = None) -> SkinnedMesh:
    """Points up a spine from y = 1 to y = 2.2, shared by the joint below and the joint above."""
    height = np.linspace(0, 1.2, 25)
    vertices = np.stack([0.1 * np.cos(7 * height), 1 + height, 0.1 * np.sin(7 * height)], axis=1)
    bind = np.broadcast_to(np.eye(4), (3, 4, 4)).copy()
    order = [names.index(name) for name in NAMES]
    bind[order, 1, 3] = [1.0, 1.5, 2.0]
    below = np.minimum((height / 0.5).astype(int), 2)
    above = np.minimum(below + 1, 2)
    share = np.where(below < 2, height / 0.5 - below, 0.0)
    influences = np.array(order)[np.stack([below, above], axis=1)]
    faces = np.stack([np.arange(23), np.arange(23) + 1, np.arange(23) + 2], axis=1)
    weights = np.stack([1 - share, share], axis=1)
    return SkinnedMesh(vertices, faces, names, bind, influences, weights, texture=texture)


def test_the_rest_pose_gives_the_mesh_at_rest() -> None:
    character = Character(column(), (REST,))
    for method in ("linear", "dual_quaternion"):
        np.testing.assert_allclose(
            character.pose(method=method).vertices[0], character.skin.vertices, atol=1e-12
        )


def test_vertices_at_a_joint_go_where_forward_kinematics_puts_it() -> None:
    motion = swaying()
    skin = SkinnedMesh(
        [[0, 1, 0], [0, 1.5, 0], [0, 2, 0]], [[0, 1, 2]], NAMES, column().bind, [[0], [1], [2]], [[1]] * 3
    )
    for method in ("linear", "dual_quaternion"):
        posed = Character(skin, (motion,)).pose(method=method)
        np.testing.assert_allclose(posed.vertices, motion.positions(), atol=1e-12)


def test_joints_are_matched_by_name_whatever_their_order() -> None:
    motion = swaying()
    one = Character(column(), (motion,)).pose()
    other = Character(column(("head", "hips", "chest")), (motion,)).pose()
    np.testing.assert_allclose(one.vertices, other.vertices, atol=1e-13)


def test_a_chosen_frame_is_that_frame_of_the_whole_clip() -> None:
    character = Character(column(), (swaying(),))
    whole = character.pose()
    np.testing.assert_allclose(character.pose(frames=-2).vertices[0], whole.vertices[-2], atol=1e-14)
    part = character.pose(frames=slice(2, 9, 3))
    np.testing.assert_allclose(part.vertices, whole.vertices[2:9:3], atol=1e-14)
    assert part.frame_rate == pytest.approx(10)
    with pytest.raises(InputError, match="frame 12 of a clip of 12"):
        character.pose(frames=12)


def test_the_posed_sequence_keeps_appearance_rate_and_convention() -> None:
    texture = Texture(data=b"png")
    motion = swaying().with_convention(unit="cm", up="z")
    posed = Character(column(texture=texture), (motion,)).pose(dtype=np.float32)
    assert posed.vertices.dtype == np.float32
    assert posed.textures == (texture,)
    assert posed.convention == motion.convention
    assert (posed.frame_rate, posed.name) == (30.0, "sway")


def test_any_clip_with_the_right_joints_can_be_posed() -> None:
    character = Character(column(), (REST, swaying()))
    assert character.clip("sway").frames == 12
    assert character.pose(character.clip("sway")).frames == 12
    assert character.with_motion(swaying(5)).motion.frames == 5
    with pytest.raises(InputError, match="there are rest, sway"):
        character.clip("run")


def test_cutting_and_resampling_go_through_every_clip() -> None:
    character = Character(column(), (swaying(), swaying(8)))
    assert [m.frames for m in character[2:6].motions] == [4, 4]
    assert [m.frames for m in character.between(0.0, 0.1).motions] == [4, 4]
    assert [m.frames for m in character.resample(60.0).motions] == [23, 15]


def test_a_skeleton_without_a_bound_joint_is_refused_by_name() -> None:
    headless = Motion(
        Skeleton(NAMES[:2], [-1, 0], SKELETON.offsets[:2]), rotations.identity((1, 2)), [[0, 1, 0]], 30.0
    )
    with pytest.raises(InputError, match="'head', which the skeleton lacks"):
        Character(column(), (REST, headless))
    with pytest.raises(InputError, match="'head', which the skeleton lacks"):
        Character(column(), (REST,)).pose(headless)
    with pytest.raises(InputError, match="at least one motion"):
        Character(column(), ())


def test_a_whole_human_keeps_its_limbs_volume_better_with_dual_quaternions(data_dir: Path) -> None:
    """MPFB2's human bound to its own rig, both forearms turned in (pronated) by 150°."""
    from marey.geometry import mesh
    from marey.io import obj

    folder = data_dir / "mesh4d" / "mpfb2_human_CC0"
    body = obj.read(folder / "base.obj", unit="dm")
    rig = json.loads((folder / "rig.cmu_mb.json").read_text())
    shares = json.loads((folder / "weights.cmu_mb.json").read_text())["weights"]

    names, parents = ordered_bones(rig)
    heads = np.array([rig[name]["head"]["default_position"] for name in names])[:, [0, 2, 1]] * [1, 1, -1]
    skeleton = Skeleton(
        tuple(names), parents, [h - heads[p] if p >= 0 else h * 0 for h, p in zip(heads, parents)]
    )
    bind = np.broadcast_to(np.eye(4), (len(names), 4, 4)).copy()
    bind[:, :3, 3] = heads

    dense = np.zeros((len(body.vertices[0]), len(names)))
    for joint, name in enumerate(names):
        for vertex, weight in shares.get(name, []):
            dense[int(vertex), joint] = weight
    skinned = dense.sum(axis=1) > 0
    dense[~skinned, 0] = 1
    influences = np.argsort(-dense, axis=1)[:, :4]
    weights = np.take_along_axis(dense, influences, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    skin = SkinnedMesh(body.vertices[0], body.faces, tuple(names), bind, influences, weights)

    turns = rotations.identity((1, len(names)))
    for side in ("Left", "Right"):
        hand, elbow = names.index(f"{side}Hand"), names.index(f"{side}ForeArm")
        axis = heads[hand] - heads[elbow]
        turns[0, hand] = rotations.exp(np.deg2rad(150) * axis / np.linalg.norm(axis))
    character = Character(skin, (Motion(skeleton, turns, heads[:1], 30.0),))

    flesh = body.faces[(body.faces < 13380).all(axis=1)]
    rest = mesh.volume(body.vertices[0], flesh)
    lost = {
        method: 1 - mesh.volume(character.pose(method=method).vertices[0], flesh) / rest
        for method in ("linear", "dual_quaternion")
    }
    assert 0 <= lost["dual_quaternion"] < 0.2 * lost["linear"]


def ordered_bones(rig: dict[str, dict[str, str]]) -> tuple[list[str], list[int]]:
    names = [name for name in rig if not rig[name]["parent"]]
    for name in names:
        names += [child for child in rig if rig[child]["parent"] == name]
    return names, [names.index(rig[name]["parent"]) if rig[name]["parent"] else -1 for name in names]
