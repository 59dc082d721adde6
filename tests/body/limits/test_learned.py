"""Limits learned from motion: the ellipsoid, its centre, outliers, thin joints, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.limits.learned import (
    LearnSettings,
    inliers,
    learn,
    mean_of,
    minimum_ellipsoid,
    tangent_ellipsoid,
)
from marey.errors import FormatError, InputError
from marey.geometry import rotations as so3


def samples(seed: int = 0, count: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return so3.exp(rng.uniform(-1, 1, (count, 3)) * [0.9, 0.5, 0.3])


def test_no_sample_is_outside_and_the_duality_gap_is_closed() -> None:
    points = np.random.default_rng(1).normal(size=(300, 3))
    found = minimum_ellipsoid(points, 1e-6)
    away = points - found.middle
    inside = np.einsum("ni,ij,nj->n", away, found.shape, away)
    assert inside.max() <= 1 + 1e-6
    # All weight is on samples that the ellipsoid touches.
    assert inside[found.core].min() > 1 - 1e-4


def test_the_ellipsoid_follows_an_affine_map() -> None:
    rng = np.random.default_rng(2)
    points, A, b = rng.normal(size=(100, 3)), rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=3)
    first, second = minimum_ellipsoid(points, 1e-9), minimum_ellipsoid(points @ A.T + b, 1e-9)
    np.testing.assert_allclose(second.middle, A @ first.middle + b, atol=1e-6)
    np.testing.assert_allclose(A.T @ second.shape @ A, first.shape, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_limits_do_not_depend_on_the_frames(seed: int) -> None:
    rotations, offset = samples(), so3.random(rng=seed)
    tight = LearnSettings(tolerance=1e-10, accuracy=1e-10)
    centre, shape, _ = tangent_ellipsoid(rotations, tight)
    left, same, _ = tangent_ellipsoid(so3.multiply(offset, rotations), tight)
    assert so3.distance(left, so3.multiply(offset, centre)) < 1e-6
    np.testing.assert_allclose(same, shape, atol=1e-5)
    right, turned, _ = tangent_ellipsoid(so3.multiply(rotations, offset), tight)
    assert so3.distance(right, so3.multiply(centre, offset)) < 1e-6
    Q = so3.to_matrix(offset)
    np.testing.assert_allclose(turned, Q.T @ shape @ Q, atol=1e-5)


def test_a_short_excursion_is_left_out() -> None:
    path = so3.exp(np.linspace(0, 0.5, 60)[:, None] * [1.0, 0, 0])
    path[30:33] = so3.exp([0, 2.0, 0])
    assert np.flatnonzero(~inliers(path[:, None])[:, 0]).tolist() == [30, 31, 32]


def test_one_stray_pose_does_not_widen_the_limits() -> None:
    rotations = samples()
    stray = np.concatenate([rotations, so3.exp([[0.0, 0.0, 1.5]])])
    _, shape, used = tangent_ellipsoid(stray)
    assert 200 not in used
    _, clean, _ = tangent_ellipsoid(rotations)
    assert np.linalg.slogdet(shape)[1] == pytest.approx(np.linalg.slogdet(clean)[1], abs=0.3)


def test_a_clip_with_a_joint_the_other_way_round_is_left_out() -> None:
    walk = marey.samples.walk(2)
    joint = walk.skeleton.index("LeftFoot")
    turned = np.array(walk.rotations)
    turned[60:, joint] = so3.multiply(turned[60:, joint], so3.exp([0, 0, 3.0]))
    alone = learn([walk])
    both = learn([walk, replace(walk, rotations=turned)])
    np.testing.assert_allclose(both.axes(), alone.axes(), rtol=1e-3)
    assert both.report.outliers == alone.report.outliers + 60
    assert both.report.violations >= 60


def test_limits_are_on_the_side_where_a_joint_mostly_is() -> None:
    # The outermost rotations alone have their mean half a turn away.
    angles = np.concatenate([np.zeros(500), np.linspace(0, 2.9, 40), np.linspace(2.9, -2.9, 80)])
    walk = marey.samples.walk(1)
    turned = np.repeat(walk.rotations[:1], len(angles), axis=0)
    turned[:, 5] = so3.exp(angles[:, None] * [1.0, 0, 0])
    found = learn([replace(walk, rotations=turned, root=np.repeat(walk.root[:1], len(angles), axis=0))])
    assert found.report.violations == 0


@pytest.mark.parametrize(
    ("clip", "joint", "axes"),
    [
        ("85_12", "LeftArm", (1.758, 1.421, 1.203)),
        ("91_62", "RightUpLeg", (0.616, 0.512, 0.231)),
        ("85_01", "RightFoot", (0.698, 0.378, 0.080)),
    ],
)
def test_limits_of_the_published_clips(
    data_dir: Path, clip: str, joint: str, axes: tuple[float, float, float]
) -> None:
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{clip}.bvh")[1:]
    number = motion.skeleton.index(joint)
    own = motion.rotations[inliers(motion.rotations)[:, number], number]
    centre, shape, _ = tangent_ellipsoid(own)
    np.testing.assert_allclose(1 / np.sqrt(np.linalg.eigvalsh(shape)), axes, rtol=0.02)
    assert so3.distance(centre, mean_of(own)) < 0.4


def test_limits_are_read_as_they_were_written(tmp_path: Path) -> None:
    learned = learn([marey.samples.walk()])
    path = tmp_path / "limits.json"
    marey.save(learned, path)
    again = marey.load(path)
    np.testing.assert_array_equal(again.limits.shapes, learned.limits.shapes)
    np.testing.assert_array_equal(again.limits.centres, learned.limits.centres)
    assert again.report == learned.report and again.names == learned.names
    assert learned.limits.contains(marey.samples.walk().rotations).mean() > 0.99


@pytest.mark.parametrize("text", ["{}", '{"joint_names": [], "limits": 3}', '{"joint_names": ["a"]}'])
def test_other_files_are_no_limits(tmp_path: Path, text: str) -> None:
    path = tmp_path / "l.json"
    path.write_text(text)
    with pytest.raises(FormatError):
        marey.load(path)


def test_clips_must_have_the_same_joints() -> None:
    walk = marey.samples.walk()
    with pytest.raises(InputError, match="other joints"):
        learn([walk, walk.without(["LeftHand"])])
