"""Surface distances and interpolation as published (Boukhayma 2017), by plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import polar

import marey
from tests.cli.commands import result
from tests.published import plain


def tube(bend: float, stretch: float = 1.0) -> tuple[plain.Array, np.ndarray]:
    """A tube bent within a plane of symmetry, so that no turn about the vertical fits one pose to another."""
    around, along = np.meshgrid(np.linspace(0, 2 * np.pi, 12, endpoint=False), np.linspace(0, 1, 7))
    angle, radius = bend * along, 0.15 * (1 + 0.2 * along)
    out = (1.0 / bend) + radius * np.cos(around)
    points = np.stack(
        [stretch * radius * np.sin(around), stretch * out * np.sin(angle), 1.0 / bend - out * np.cos(angle)],
        axis=-1,
    )
    faces = []
    for row in range(6):
        for column in range(12):
            a, b = 12 * row + column, 12 * row + (column + 1) % 12
            faces += (
                [[a, b, a + 12], [b, b + 12, a + 12]] if column % 2 else [[a, b, b + 12], [a, b + 12, a + 12]]
            )
    return points.reshape(-1, 3), np.array(faces)


def gradients(pose: plain.Array, other: plain.Array, faces: np.ndarray) -> plain.Array:
    """T `(faces, 3, 3)` with T e = e' of edges and normals (columns), of determinant above 0."""

    def axes(vertices):
        first, second = (
            vertices[faces[:, 0]] - vertices[faces[:, 2]],
            vertices[faces[:, 1]] - vertices[faces[:, 2]],
        )
        normal = np.cross(first, second)
        return np.stack([first, second, normal / np.linalg.norm(normal, axis=1, keepdims=True)], axis=-1)

    return axes(other) @ np.linalg.inv(axes(pose))


def steps(pose: plain.Array, other: plain.Array, faces: np.ndarray) -> tuple[plain.Array, plain.Array]:
    """Rotation vectors and stretches of all faces."""
    parts = [polar(one) for one in gradients(pose, other, faces)]
    return plain.log(np.stack([turn for turn, _ in parts])), np.stack([stretch for _, stretch in parts])


def poisson(pose: plain.Array, faces: np.ndarray, wanted: plain.Array) -> plain.Array:
    """The mesh about its centroid whose gradients are nearest to wanted ones, by the pose's areas."""
    rows, right = [], []
    for (a, b, c), turn in zip(faces, wanted, strict=True):
        edges = np.stack([pose[a] - pose[c], pose[b] - pose[c]])
        root = np.sqrt(0.5 * np.linalg.norm(np.cross(*edges)))
        inverse = np.linalg.pinv(edges)
        block = np.zeros((3, len(pose)))
        block[:, a], block[:, b] = inverse[:, 0], inverse[:, 1]
        block[:, c] = -inverse.sum(axis=1)
        rows.append(root * block)
        right.append(root * inverse @ (edges @ turn.T))
    found = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)[0]
    return found - found.mean(axis=0)


@pytest.mark.parametrize("stretch", ["linear", "geometric"])
def test_two_sided_interpolation(tmp_path, capsys, stretch):
    (here, faces), (there, _) = tube(0.3), tube(1.4, 1.1)
    for name, vertices in (("a", here), ("b", there)):
        marey.save(marey.surface.MeshSequence(vertices[None], faces, 30.0), tmp_path / f"{name}.mry")
    weight = 0.4
    result(
        capsys, "surface", "interpolate", tmp_path / "a.mry", tmp_path / "b.mry", tmp_path / "c.mry",
        "--at", weight, "--method", "two-sided", "--stretch", stretch,
    )  # fmt: skip
    found = marey.load(tmp_path / "c.mry").vertices[0]

    turns, stretches = steps(here, there, faces)
    partly = (1 - weight) * np.eye(3) + weight * stretches
    if stretch == "geometric":
        values, vectors = np.linalg.eigh(stretches)
        partly = (vectors * values[:, None] ** weight) @ np.swapaxes(vectors, 1, 2)
    forward = plain.exp(weight * turns) @ partly
    back = forward @ np.linalg.inv(gradients(here, there, faces))
    made = (1 - weight) * poisson(here, faces, forward) + weight * poisson(there, faces, back)
    apart, theirs = (np.linalg.norm(mesh[:, None] - mesh, axis=-1) for mesh in (found, made))
    assert np.abs(apart - theirs).max() < 1e-10


def test_the_first_form_of_the_surface_distance(tmp_path, capsys):
    poses = [tube(0.3), tube(1.0, 1.1), tube(1.6, 0.95)]
    faces = poses[0][1]
    for number, (vertices, _) in enumerate(poses):
        marey.save(marey.surface.MeshSequence(vertices[None], faces, 30.0), tmp_path / f"{number}.mry")
    files = [tmp_path / f"{number}.mry" for number in range(3)]
    told = result(
        capsys, "surface", "distance", *files, "-o", tmp_path / "d.npz", "--metric", "surface-2.13",
        "--stretch-weight", "0.5",
    )  # fmt: skip
    assert told["metric"] == "surface-2.13"
    found = marey.load(tmp_path / "d.npz").values
    for i in range(3):
        for j in range(i + 1, 3):
            turns, stretches = steps(poses[i][0], poses[j][0], faces)
            each = np.linalg.norm(turns, axis=1) + 0.5 * np.linalg.norm(stretches - np.eye(3), axis=(1, 2))
            assert found[i, j] == pytest.approx(each.mean(), rel=1e-6)
            assert found[j, i] == found[i, j]
