"""Gradient, divergence and Laplacian of triangle meshes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.geometry import mesh

from .operators import divergence, gradient

Array = NDArray[np.float64]


def wobbly_sphere(rng: np.random.Generator, count: int = 120) -> tuple[Array, NDArray[np.int64]]:
    from scipy.spatial import ConvexHull

    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    faces = ConvexHull(directions).simplices.astype(np.int64)
    inwards = np.einsum("fi,fi->f", mesh.area_vectors(directions, faces), directions[faces[:, 0]]) < 0
    faces[inwards] = faces[inwards][:, ::-1]
    return directions * (1 + 0.3 * rng.random((count, 1))), faces


VERTICES, FACES = wobbly_sphere(np.random.default_rng(3))


def test_gradients_of_the_corner_functions_sum_to_zero() -> None:
    ones = np.ones(len(VERTICES))
    assert np.abs(gradient(VERTICES, FACES) @ ones).max() < 1e-11


def test_gradient_of_the_coordinates_is_the_projection_onto_the_face() -> None:
    found = (gradient(VERTICES, FACES) @ VERTICES).reshape(-1, 3, 3)
    normals = mesh.face_normals(VERTICES, FACES)
    expected = np.eye(3) - normals[:, :, None] * normals[:, None, :]
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_laplacian_is_divergence_of_gradient_and_has_half_cotangents() -> None:
    product = (divergence(VERTICES, FACES) @ gradient(VERTICES, FACES)).toarray()
    laplacian = mesh.laplacian(VERTICES, FACES).toarray()
    np.testing.assert_allclose(product, laplacian, atol=1e-11)
    cotangents = np.zeros_like(laplacian)
    for face in FACES:
        for corner in range(3):
            k, i, j = face[corner], face[(corner + 1) % 3], face[(corner + 2) % 3]
            u, v = VERTICES[i] - VERTICES[k], VERTICES[j] - VERTICES[k]
            half = 0.5 * (u @ v) / np.linalg.norm(np.cross(u, v))
            cotangents[[i, j], [j, i]] -= half
            cotangents[[i, j], [i, j]] += half
    np.testing.assert_allclose(laplacian, cotangents, atol=1e-11)


def test_laplacian_has_as_many_zero_eigenvalues_as_the_surface_has_pieces() -> None:
    vertices = np.concatenate([VERTICES, VERTICES + 5.0])
    faces = np.concatenate([FACES, FACES + len(VERTICES)])
    values = np.linalg.eigvalsh(mesh.laplacian(vertices, faces).toarray())
    assert (np.abs(values[:2]) < 1e-10).all()
    assert values[2] > 1e-3
    assert len(np.unique(mesh.components(faces, len(vertices)))) == 2


def test_a_face_without_area_gives_finite_operators_and_weighs_nothing() -> None:
    vertices = np.concatenate([VERTICES, VERTICES[:1]])
    faces = np.concatenate([FACES, [[0, len(VERTICES), 1], [2, 2, 3]]])
    for operator in (gradient, mesh.laplacian):
        assert np.isfinite(operator(vertices, faces).toarray()).all()
    assert not mesh.couplings(vertices, faces)[-2:].any()


def test_a_needle_has_bounded_cotangents_and_keeps_the_laplacian_semi_definite() -> None:
    needle = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 1e-8, 0.0]])
    laplacian = mesh.laplacian(needle, [[0, 1, 2]]).toarray()
    assert np.abs(laplacian).max() < 1e7
    assert np.linalg.eigvalsh(laplacian).min() > -1e-6


def test_mean_metric_of_turned_poses_is_that_of_one() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    both = np.stack([VERTICES, VERTICES @ turn.T])
    one = mesh.couplings(VERTICES, FACES)
    np.testing.assert_allclose(mesh.couplings(both, FACES), one, atol=1e-11)


def test_links_join_each_face_of_a_closed_mesh_to_three_others() -> None:
    links = mesh.face_links(FACES)
    assert (np.bincount(links.ravel()) == 3).all()
    assert mesh.is_closed(FACES)
    assert not mesh.is_closed(FACES[1:])


def test_only_vertices_together_in_every_pose_are_welded() -> None:
    poses = np.array([[[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0], [1, 0, 0]]], float)
    assert mesh.merge_doubles(poses).tolist() == [0, 0, 2]


def test_caps_close_holes_that_touch_and_leave_closed_surfaces_alone() -> None:
    from tests.surface.interpolation.tubes import tube

    _, faces = tube(8, 6)
    assert len(mesh.hole_fans(faces)) == 0
    open_ends = faces[:-12]
    assert mesh.is_closed(np.concatenate([open_ends, mesh.hole_fans(open_ends)]))
    corner = faces[20, 0]
    touching = np.delete(faces, np.flatnonzero((faces == corner).any(axis=1))[[0, 3]], axis=0)
    assert len(mesh.boundary_edges(np.concatenate([touching, mesh.hole_fans(touching)]))) == 0
