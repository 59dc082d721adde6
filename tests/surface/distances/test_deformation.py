from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from marey.geometry import mesh, rotations
from tests.surface.distances.bodies import tube
from tests.surface.distances.textbook import deformation

Array = NDArray[np.float64]


def by_svd(source: Array, target: Array, faces: NDArray[np.integer]) -> tuple[Array, Array, Array]:
    """Gradient, rotation and stretch of each triangle, by inverse and singular values."""

    def edges(points: Array) -> Array:
        a, b, c = (points[faces[:, corner]] for corner in range(3))
        normal = np.cross(a - c, b - c)
        return np.stack([a - c, b - c, normal / np.linalg.norm(normal, axis=1)[:, None]], axis=2)

    gradient = edges(target) @ np.linalg.inv(edges(source))
    left, values, right = np.linalg.svd(gradient)
    return gradient, left @ right, np.swapaxes(right, 1, 2) @ (values[:, :, None] * right)


@given(seed=st.integers(0, 2**32 - 1), strength=st.floats(0.0, 1.5))
@settings(max_examples=25)
def test_closed_form_equals_the_svd_even_when_strongly_stretched(seed: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    source, faces = tube(6, 8)
    target = source @ (np.eye(3) + strength * rng.normal(size=(3, 3)) / 2) + 0.01 * rng.normal(
        size=source.shape
    )
    gradient, rotation, stretch = by_svd(source, target, faces)
    found = deformation(source, target, faces)
    scale = max(1.0, float(np.abs(gradient).max()))
    # Slivers magnify rounding in the oracle's inverse as well.
    condition = np.linalg.cond(gradient).max()
    tolerance = 1e-14 * max(condition, 100)
    np.testing.assert_allclose(found.rotations, rotation, atol=tolerance)
    np.testing.assert_allclose(found.stretches, stretch, atol=tolerance * scale)
    np.testing.assert_allclose(found.gradients, gradient, atol=tolerance * scale)


def test_factors_are_a_proper_rotation_and_a_symmetric_stretch_to_1e_12() -> None:
    rng = np.random.default_rng(1)
    source, faces = tube()
    target = source * [1.4, 0.7, 1.1] + 0.01 * rng.normal(size=source.shape)
    found = deformation(source, target, faces)
    _, rotation, stretch = by_svd(source, target, faces)
    assert np.abs(found.rotations - rotation).max() < 1e-12
    assert np.abs(found.stretches - stretch).max() < 1e-12
    identity = np.swapaxes(found.rotations, 1, 2) @ found.rotations
    assert np.abs(identity - np.eye(3)).max() < 1e-13
    assert np.abs(np.linalg.det(found.rotations) - 1).max() < 1e-13
    assert np.abs(found.stretches - np.swapaxes(found.stretches, 1, 2)).max() < 1e-14
    assert np.linalg.eigvalsh(found.stretches).min() > 0


def test_gradients_take_edges_to_edges_and_grow_with_the_area() -> None:
    rng = np.random.default_rng(2)
    source, faces = tube()
    target = source + 0.02 * rng.normal(size=source.shape)
    found = deformation(source, target, faces)
    for a, b in ((0, 2), (1, 2), (0, 1)):
        before, after = (p[faces[:, a]] - p[faces[:, b]] for p in (source, target))
        np.testing.assert_allclose(np.einsum("mij,mj->mi", found.gradients, before), after, atol=1e-13)
    ratio = mesh.face_areas(target, faces) / mesh.face_areas(source, faces)
    np.testing.assert_allclose(np.linalg.det(found.gradients), ratio, rtol=1e-10)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.5, 2.0, np.pi - 1e-6, np.pi])
def test_a_rigid_turn_has_its_angle_in_every_triangle(angle: float) -> None:
    source, faces = tube()
    axis = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    found = deformation(source, rotations.rotate(rotations.exp(angle * axis), source), faces)
    np.testing.assert_allclose(found.angles, angle, atol=1e-12)
    assert found.log_stretch.max() < 1e-12


def test_triangles_without_area_are_told_and_left_alone() -> None:
    source, faces = tube(4, 6)
    target = source.copy()
    target[faces[0, 0]] = target[faces[0, 1]]
    found = deformation(source, target, faces)
    assert found.degenerate[0] and found.degenerate.sum() == 2
    assert np.isfinite(found.rotations).all() and np.isfinite(found.stretches).all()
    np.testing.assert_array_equal(found.gradients[0], np.eye(3))
    assert deformation(source * 0, target, faces).degenerate.all()


def test_many_poses_at_once_equal_each_by_itself() -> None:
    source, faces = tube(5, 6)
    poses = source + 0.02 * np.random.default_rng(3).normal(size=(4, *source.shape))
    together = deformation(np.broadcast_to(source, poses.shape), poses, faces)
    for pose, rotation in zip(poses, together.rotations, strict=True):
        np.testing.assert_array_equal(deformation(source, pose, faces).rotations, rotation)
