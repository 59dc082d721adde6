"""Proxies of constant connectivity: quadric collapses onto existing vertices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from marey import MeshSequence, samples
from marey.errors import InputError
from marey.geometry import mesh
from marey.surface.decimation import Decimation, _quadrics, decimate, diverse_poses
from marey.surface.sequence import Library

Array = NDArray[np.float64]


def sphere(rounds: int = 2, *, seed: int = 0) -> tuple[Array, NDArray[np.int64]]:
    """A closed surface of 10·4^rounds + 2 vertices, shaken so that no two collapses cost the same."""
    golden = (1 + 5**0.5) / 2
    points = [(0, s, t * golden) for s in (-1, 1) for t in (-1, 1)]
    points = [tuple(np.roll(p, k)) for k in range(3) for p in points]
    vertices = np.array(points, dtype=np.float64)
    gaps = np.linalg.norm(vertices[:, None] - vertices[None], axis=-1)
    faces = [
        (a, b, c)
        for a in range(12)
        for b in range(a + 1, 12)
        for c in range(b + 1, 12)
        if max(gaps[a, b], gaps[b, c], gaps[a, c]) < 2.1
    ]
    outwards = [(a, b, c) if np.linalg.det(vertices[[a, b, c]]) > 0 else (a, c, b) for a, b, c in faces]
    triangles = np.array(outwards)
    for _ in range(rounds):
        vertices, triangles = halved(vertices, triangles)
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return vertices * np.random.default_rng(seed).uniform(0.9, 1.1, (len(vertices), 1)), triangles


def halved(vertices: Array, faces: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    edges = mesh.unique_edges(faces)
    middle = {tuple(edge): len(vertices) + k for k, edge in enumerate(edges.tolist())}

    def between(a: int, b: int) -> int:
        return middle[(min(a, b), max(a, b))]

    parts = []
    for a, b, c in faces.tolist():
        ab, bc, ca = between(a, b), between(b, c), between(c, a)
        parts += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
    return np.concatenate([vertices, vertices[edges].mean(axis=1)]), np.array(parts)


def euler_characteristic(faces: NDArray[np.integer]) -> int:
    return len(np.unique(faces)) - len(mesh.unique_edges(faces)) + len(faces)


def faces_per_edge(faces: NDArray[np.integer]) -> NDArray[np.int64]:
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return np.unique(edges, axis=0, return_counts=True)[1]


def greedy(points: Array, faces: NDArray[np.int64], wanted: int) -> tuple[set[int], set[tuple[int, ...]]]:
    """The cheapest admissible half-edge collapse of all, again and again, each time looked for anew."""
    from marey.surface import _decimation_kernels as kernels

    points = points - points.mean(axis=1, keepdims=True)
    quadrics, areas, border = _quadrics(points, faces.astype(np.int32))
    left = [tuple(face) for face in faces.tolist()]
    alive = set(range(points.shape[1]))
    matrices = np.zeros((points.shape[1], len(points), 4, 4))
    matrices[..., np.triu_indices(4)[0], np.triu_indices(4)[1]] = quadrics
    matrices += np.triu(matrices, 1).swapaxes(-1, -2)

    def ring(v: int) -> set[int]:
        return {w for face in left if v in face for w in face} - {v}

    def cost(u: int, v: int) -> float:
        at = np.concatenate([points[:, v], np.ones((len(points), 1))], axis=1)
        total = np.einsum("pi,pij,pj->", at, matrices[u] + matrices[v], at)
        length = ((points[:, u] - points[:, v]) ** 2).sum()
        return float(total + kernels.LENGTH_SHARE * areas[u] * length)

    def allowed(u: int, v: int) -> bool:
        shared = sum(u in face and v in face for face in left)
        if len(ring(u) & ring(v)) != shared or (border[u] and not border[v]):
            return False
        if shared != (1 if border[u] else 2) or (len(ring(u)) == 3 and len(ring(v)) == 3):
            return False
        for face in left:
            if u in face and v not in face:
                after = [v if w == u else w for w in face]
                for pose in points:
                    before_n, before_q = shape(pose[list(face)])
                    after_n, after_q = shape(pose[after])
                    turned = before_n @ after_n
                    if turned < kernels.LEAST_COSINE * np.linalg.norm(before_n) * np.linalg.norm(after_n):
                        return False
                    if after_q < kernels.LEAST_QUALITY and after_q < before_q:
                        return False
        return True

    while len(alive) > wanted:
        options = sorted((cost(u, v), u, v) for u in alive for v in ring(u))
        best = next(((u, v) for _, u, v in options if allowed(u, v)), None)
        if best is None:
            break
        u, v = best
        left = [tuple(v if w == u else w for w in face) for face in left if not (u in face and v in face)]
        matrices[v] += matrices[u]
        areas[v] += areas[u]
        alive.remove(u)
    return alive, {tuple(sorted(face)) for face in left}


def shape(corners: Array) -> tuple[Array, float]:
    sides = corners[[1, 2, 2]] - corners[[0, 0, 1]]
    normal = np.cross(sides[0], sides[1])
    return normal, float(2 * np.sqrt(3) * np.linalg.norm(normal) / (sides**2).sum())


def test_kernel_makes_the_same_collapses_as_a_search_over_all_of_them() -> None:
    vertices, faces = sphere(1)
    poses = np.stack([vertices, vertices * [1.0, 1.4, 0.8]])
    still = MeshSequence(poses, faces, 30)
    found = Decimation.of(still, vertices=20, poses=poses)
    kept, triangles = greedy(poses, faces, 20)
    assert set(found.kept.tolist()) == kept
    assert {tuple(sorted(found.kept[face].tolist())) for face in found.faces} == triangles


def test_kernel_agrees_with_the_search_on_a_surface_with_a_border() -> None:
    x, z = np.meshgrid(np.arange(6.0), np.arange(5.0))
    rng = np.random.default_rng(3)
    vertices = np.stack([x.ravel(), 0.2 * rng.standard_normal(30), z.ravel()], axis=1)
    corner = np.arange(30).reshape(5, 6)[:-1, :-1].ravel()
    faces = np.concatenate(
        [np.stack([corner, corner + 6, corner + 1], 1), np.stack([corner + 1, corner + 6, corner + 7], 1)]
    )
    found = Decimation.of(MeshSequence(vertices[None], faces, 30), vertices=16)
    kept, triangles = greedy(vertices[None], faces, 16)
    assert set(found.kept.tolist()) == kept
    assert {tuple(sorted(found.kept[face].tolist())) for face in found.faces} == triangles
    assert set(np.array([0, 5, 24, 29])) <= kept  # corners of the sheet


def test_closed_manifold_stays_one_with_its_topology_and_volume() -> None:
    skin = samples.human().skin
    small = decimate(skin, vertices=900)
    assert len(small.vertices) == 900
    assert euler_characteristic(small.faces) == euler_characteristic(skin.faces) == 2
    assert (faces_per_edge(small.faces) == 2).all()
    volumes = [float(mesh.volume(s.vertices, s.faces)) for s in (small, skin)]
    assert volumes[0] == pytest.approx(volumes[1], rel=0.03)


def test_decimated_then_posed_is_posed_then_decimated() -> None:
    person = samples.human(samples.walk(seconds=0.3, frame_rate=20))
    proxy = Decimation.of(person.skin, vertices=700)
    small_first = replace(person, skin=proxy.apply(person.skin)).pose()
    posed_first = proxy.apply(person.pose())
    np.testing.assert_allclose(small_first.vertices, posed_first.vertices, atol=1e-12)
    np.testing.assert_array_equal(small_first.faces, posed_first.faces)
    np.testing.assert_allclose(small_first.colours, posed_first.colours)


def test_vertices_know_where_they_went() -> None:
    vertices, faces = sphere(2)
    proxy = Decimation.of(MeshSequence(vertices[None], faces, 30), vertices=60)
    np.testing.assert_array_equal(proxy.into[proxy.kept], np.arange(60))
    gap = np.linalg.norm(vertices - vertices[proxy.kept[proxy.into]], axis=1)
    assert gap.max() < 0.8


def test_texture_becomes_colours_near_those_it_shows() -> None:
    skin = samples.human().skin
    small = decimate(skin, vertices=1500)
    assert small.colours is not None and small.uv is None and small.texture is None
    trousers = (small.vertices[:, 1] > 0.2) & (small.vertices[:, 1] < 0.6)
    red, _, blue = small.colours[trousers].mean(axis=0)
    assert blue > 1.5 * red


def test_libraries_keep_one_connectivity_and_their_labels() -> None:
    walk = samples.mesh_sequence(samples.walk(seconds=0.5, frame_rate=10))
    library = Library((walk[:3], walk[3:]), labels=("start", "end"))
    small = decimate(library, vertices=500)
    assert small.labels == ("start", "end")
    assert small.vertices(4).shape == (500, 3)
    assert small.vertices(0).dtype == np.float32


def test_diverse_poses_are_those_that_differ() -> None:
    vertices, faces = sphere(1)
    stretched = vertices * [1.0, 3.0, 1.0]
    sequence = MeshSequence(np.stack([vertices] * 5 + [stretched] + [vertices] * 5), faces, 30)
    poses = diverse_poses(sequence)
    assert len(poses) == 2
    np.testing.assert_array_equal(poses[1], stretched)


def test_a_mesh_that_is_small_enough_is_left_alone() -> None:
    vertices, faces = sphere(1)
    sequence = MeshSequence(vertices[None], faces, 30)
    np.testing.assert_array_equal(decimate(sequence, vertices=4000).faces, sequence.faces)


def test_a_tetrahedron_is_not_collapsed_into_nothing() -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    vertices, triangles = halved(corners, np.array(faces))
    small = decimate(MeshSequence(vertices[None], triangles, 30), vertices=4)
    assert euler_characteristic(small.faces) == 2 and len(small.faces) >= 4


def test_wrong_requests_say_so() -> None:
    vertices, faces = sphere(1)
    sequence = MeshSequence(vertices[None], faces, 30)
    with pytest.raises(InputError, match="at least 4"):
        decimate(sequence, vertices=3)
    with pytest.raises(InputError, match="poses: expected shape"):
        decimate(sequence, vertices=20, poses=vertices)
    with pytest.raises(InputError, match="made for 42 vertices"):
        Decimation.of(sequence, vertices=20).apply(MeshSequence(np.zeros((1, 3, 3)), [[0, 1, 2]], 30))
