"""Figures: which joint is what, and a body that follows them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marey.body.anatomy import anatomy, side_of
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.views.mannequin import figure
from marey.views.mannequin_parts import Poses
from tests.views.things import human, walking


def lengths(skeleton: Skeleton):
    return np.linalg.norm(skeleton.offsets, axis=1) * (skeleton.parents >= 0)


def body_of(motion: Motion, frame: int = 0):
    poses = Poses(motion)
    return figure(motion, poses).vertices(poses.points[frame], poses.matrices(frame))


def test_landmarks_of_a_human_are_found_by_name_and_length():
    skeleton = human()
    marks = anatomy(skeleton, lengths(skeleton))
    assert marks.human
    names = skeleton.names
    assert [names[j] for j in (marks.pelvis, marks.chest, marks.neck, marks.head)] == [
        "Hips",
        "Chest",
        "Neck",
        "Head",
    ]
    assert [names[j] for j in marks.legs[0][:3]] == ["LeftUpLeg", "LeftLeg", "LeftFoot"]
    assert [names[j] for j in marks.arms[1][:3]] == ["RightArm", "RightForeArm", "RightHand"]


@pytest.mark.parametrize(
    "rename",
    [
        lambda n: "mixamorig:" + n,
        lambda n: n.replace("Left", "L_").replace("Right", "R_"),
        lambda n: n.replace("LeftArm", "LeftShoulder2").replace("LeftForeArm", "LeftElbow"),
        lambda n: n.lower(),
    ],
)
def test_other_ways_to_name_joints_make_no_difference(rename):
    skeleton = human()
    renamed = Skeleton(tuple(map(rename, skeleton.names)), skeleton.parents, skeleton.offsets)
    found, known = (anatomy(body, lengths(body)) for body in (renamed, skeleton))
    for part in ("kind", "segments", "legs", "arms", "pelvis", "chest", "neck", "head"):
        assert getattr(found, part) == getattr(known, part)


def test_a_hand_is_not_a_human():
    hand = Skeleton(("WRIST", "INDEX_MCP", "RING_MCP"), [-1, 0, 0], [[0, 0, 0], [0.1, 0, 0], [0.1, 0, 0.03]])
    assert anatomy(hand, lengths(hand)).kind == "hand"
    assert side_of("RING_MCP") == ""


def test_the_mannequin_has_the_height_its_legs_suggest():
    body = body_of(walking())
    assert 1.55 < np.ptp(body[:, 1]) < 1.85
    assert abs(body[:, 1].min()) < 0.06, "feet on the ground"


def test_the_figure_is_a_set_of_closed_surfaces():
    made = figure(walking())
    edges = np.concatenate([made.faces[:, [0, 1]], made.faces[:, [1, 2]], made.faces[:, [2, 0]]])
    there = {tuple(edge) for edge in edges.tolist()}
    assert len(there) == len(edges)
    assert there == {(b, a) for a, b in there}


def test_the_figure_turns_its_outside_outwards():
    motion = walking()
    made, body = figure(motion), body_of(motion)
    a, b, c = (body[made.faces[:, i]] for i in range(3))
    volume = np.einsum("fi,fi", a, np.cross(b, c)) / 6
    assert 0.03 < volume < 0.12, "cubic metres of a person"


def test_the_body_follows_a_move_and_a_turn_rigidly():
    motion = walking()
    turn, shift = so3.exp([0.0, 1.1, 0.0]), np.array([1.0, 0.2, -3.0])
    rotations = np.array(motion.rotations)
    rotations[:, 0] = so3.multiply(turn, rotations[:, 0])
    moved = replace(motion, rotations=rotations, root=so3.rotate(turn, motion.root) + shift)
    expected = so3.rotate(turn, body_of(motion, 5)) + shift
    assert body_of(moved, 5) == pytest.approx(expected, abs=1e-6)


def test_bending_a_knee_moves_the_shank_and_nothing_above():
    motion = walking()
    rotations = np.array(motion.rotations)
    knee = motion.skeleton.index("LeftLeg")
    rotations[3, knee] = so3.exp([1.2, 0.0, 0.0])
    bent = replace(motion, rotations=rotations)
    poses, other = Poses(motion), Poses(bent)
    made = figure(motion, poses)
    before = made.vertices(poses.points[3], poses.matrices(3))
    after = made.vertices(other.points[3], other.matrices(3))
    change = np.linalg.norm(after - before, axis=1)
    assert change.max() > 0.3
    assert change[before[:, 1] > 0.62].max() < 1e-9


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_any_unit_gives_the_same_figure_at_its_size(scale):
    motion = walking()
    skeleton = motion.skeleton
    bigger = Skeleton(
        skeleton.names,
        skeleton.parents,
        skeleton.offsets * scale,
        skeleton.end_parents,
        skeleton.end_offsets * scale,
    )
    scaled = replace(motion, skeleton=bigger, root=motion.root * scale)
    assert body_of(scaled) == pytest.approx(body_of(motion) * scale, rel=1e-6, abs=1e-6 * scale)


def test_bones_stretch_with_joints_that_slide():
    skeleton = Skeleton(("root", "tip"), [-1, 0], [[0, 0, 0], [0.5, 0, 0]])
    slid = np.zeros((3, 2, 3))
    slid[:, 1, 0] = [0.5, 0.5, 1.0]
    motion = Motion(skeleton, so3.identity((3, 2)), np.zeros((3, 3)), 30, translations=slid)
    assert np.ptp(body_of(motion, 2)[:, 0]) > np.ptp(body_of(motion, 0)[:, 0]) + 0.4


@pytest.mark.parametrize(
    "skeleton",
    [
        Skeleton(("mug",), [-1], [[0, 0, 0]]),
        Skeleton(("a", "b", "c"), [-1, 0, 1], np.zeros((3, 3))),
        Skeleton(("a", "b"), [-1, 0], [[0, 0, 0], [0.02, 0, 0]]),
    ],
)
def test_odd_skeletons_have_a_body_too(skeleton):
    motion = Motion(skeleton, so3.identity((2, skeleton.joints)), np.zeros((2, 3)), 30)
    body = body_of(motion)
    assert np.isfinite(body).all()
    assert np.ptp(body, axis=0).min() > 0
