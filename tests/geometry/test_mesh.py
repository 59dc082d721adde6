from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from marey.errors import InputError
from marey.geometry import mesh, rotations

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
BOX = np.array(
    [
        *[[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5]],  # x = 0, x = 1
        *[[0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6]],  # y = 0, y = 1
        *[[0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]],  # z = 0, z = 1
    ]
)


def sphere(rows: int, columns: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A closed unit sphere of quads cut in two, poles doubled."""
    polar, around = np.meshgrid(
        np.linspace(0, np.pi, rows + 1), np.arange(columns) * 2 * np.pi / columns, indexing="ij"
    )
    points = np.stack([np.sin(polar) * np.cos(around), np.cos(polar), -np.sin(polar) * np.sin(around)], -1)
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    a, b = i * columns + j, i * columns + (j + 1) % columns
    c, d = b + columns, a + columns
    faces = np.concatenate([np.stack([a, d, c], -1).reshape(-1, 3), np.stack([a, c, b], -1).reshape(-1, 3)])
    return points.reshape(-1, 3), faces


def test_a_box_has_the_volume_area_and_outward_normals_of_a_box() -> None:
    points = CORNERS * [1, 2, 3] + [10, 20, 30]
    assert mesh.volume(points, BOX) == pytest.approx(6)
    assert mesh.area(points, BOX) == pytest.approx(22)
    outwards = points[BOX].mean(axis=1) - points.mean(axis=0)
    normals = mesh.face_normals(points, BOX)
    assert (np.einsum("fi,fi->f", normals, outwards) > 0).all()
    np.testing.assert_allclose(np.abs(normals).sum(axis=1), 1)


def test_flipped_faces_turn_volume_and_normals_over() -> None:
    assert mesh.volume(CORNERS, BOX[:, [0, 2, 1]]) == pytest.approx(-1)
    np.testing.assert_array_equal(
        mesh.face_normals(CORNERS, BOX[:, [0, 2, 1]]), -mesh.face_normals(CORNERS, BOX) + 0.0
    )


def test_vertex_normals_of_a_sphere_point_along_its_radii() -> None:
    points, faces = sphere(40, 80)
    normals = mesh.vertex_normals(points, faces)
    inside = slice(80, -80)  # the doubled poles have one triangle each
    assert np.einsum("vi,vi->v", normals, points)[inside].min() > 0.999
    assert mesh.volume(points, faces) == pytest.approx(4 * np.pi / 3, rel=5e-3)
    assert mesh.area(points, faces) == pytest.approx(4 * np.pi, rel=5e-3)


def test_a_sequence_gives_what_its_frames_give() -> None:
    rng = np.random.default_rng(1)
    sequence = CORNERS + rng.normal(scale=0.1, size=(2, 3, 8, 3))
    for operator in (mesh.face_normals, mesh.vertex_normals, mesh.face_areas, mesh.area, mesh.volume):
        whole = operator(sequence, BOX)
        for frame in np.ndindex(2, 3):
            np.testing.assert_allclose(whole[frame], operator(sequence[frame], BOX), atol=1e-15)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_measures_do_not_change_when_the_mesh_is_moved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = CORNERS + rng.normal(scale=0.2, size=(8, 3))
    turn = rotations.random(rng=rng)
    moved = rotations.rotate(turn, points) + rng.normal(size=3) * 10
    assert mesh.volume(moved, BOX) == pytest.approx(mesh.volume(points, BOX), abs=1e-12)
    np.testing.assert_allclose(mesh.face_areas(moved, BOX), mesh.face_areas(points, BOX), atol=1e-12)
    np.testing.assert_allclose(
        mesh.vertex_normals(moved, BOX), rotations.rotate(turn, mesh.vertex_normals(points, BOX)), atol=1e-9
    )


def test_edges_of_closed_meshes_obey_euler() -> None:
    points, faces = sphere(4, 6)
    welded = np.unique(np.round(points, 9), axis=0, return_inverse=True)[1].ravel()[faces]
    solid = welded[(welded != np.roll(welded, 1, axis=1)).all(axis=1)]
    edges = mesh.unique_edges(solid)
    assert len(np.unique(solid)) - len(edges) + len(solid) == 2
    assert len(mesh.unique_edges(BOX)) == 18
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(mesh.unique_edges(np.empty((0, 3), dtype=int))) == 0


def test_float32_stays_float32() -> None:
    points = CORNERS.astype(np.float32)
    assert mesh.vertex_normals(points, BOX).dtype == np.float32
    assert mesh.face_normals(points, BOX).dtype == np.float32
    assert mesh.bounding_box(points)[0].dtype == np.float32
    assert mesh.volume(points, BOX).dtype == np.float64


def test_degenerate_faces_and_lonely_vertices_have_no_normal_and_no_nan() -> None:
    points = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [5, 5, 5]]
    assert not mesh.face_normals(points, [[0, 1, 2]]).any()
    assert not mesh.vertex_normals(points, [[0, 1, 2]]).any()


def test_edges_of_quads_or_fractions_are_refused() -> None:
    for faces in ([[0, 1, 2, 3]] * 3, [[0.0, 1.0, 2.0]], [0, 1, 2]):
        with pytest.raises(InputError, match="faces: expected whole numbers"):
            mesh.unique_edges(faces)
    assert mesh.unique_edges([]).shape == (0, 2)


def test_shapes_and_indices_are_checked() -> None:
    with pytest.raises(InputError, match="indices must lie in 0…7"):
        mesh.volume(CORNERS, [[0, 1, 8]])
    with pytest.raises(InputError, match="indices must lie in 0…7"):
        mesh.area(CORNERS, [[0, 1, -1]])
    with pytest.raises(InputError, match="whole numbers"):
        mesh.area(CORNERS, [[0, 1, 2, 3]])
    with pytest.raises(InputError, match="vertices"):
        mesh.area([[0, 1]], BOX)
    with pytest.raises(InputError, match="no bounding box"):
        mesh.bounding_box(np.empty((0, 3)))
