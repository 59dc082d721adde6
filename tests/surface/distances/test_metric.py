from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import marey
from marey import _work
from marey.body.compare import geodesic
from marey.errors import InputError, MareyWarning
from marey.geometry import mesh, rotations
from marey.surface import MeshSequence
from marey.surface import _distance_kernels as _kernels
from marey.surface.distances import (
    ReferencePose,
    deformation_features,
    distances,
    middle_frame,
    sample_triangles,
    yaw_between,
)
from marey.surface.sequence import Library
from tests.surface.distances.bodies import bending, bent, moved, tube
from tests.surface.distances.textbook import deformation, pose_distance, rotation_angles


@pytest.fixture(scope="module")
def walk() -> Library:
    walking = marey.samples.mesh_sequence()
    return Library((walking[0:60:5], walking[100:130:5].transform(rotation=[0.8, 0, 0.6, 0])))


def upper(matrix: np.ndarray) -> np.ndarray:
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)], np.float64)


def test_a_pose_has_no_distance_from_itself_and_both_ways_are_alike_to_1e_12() -> None:
    library = bending(3, stretch=0.1)
    a, b = library.vertices(0), library.vertices(2)
    assert pose_distance(a, a, library.faces) < 1e-12
    turn = yaw_between(a, b, library.faces)
    there = pose_distance(a, b, library.faces, turn=turn)
    assert abs(there - pose_distance(b, a, library.faces, turn=-turn)) < 1e-12
    assert there > 0.1


def test_where_a_pose_stands_and_faces_does_not_matter() -> None:
    points, faces = tube()
    other = bent(points, 0.7)
    plain = pose_distance(points, other, faces)
    for turn in (0.4, -2.0, 3.1):
        away = moved(other, turn, (3.0, -8.0))
        assert pose_distance(points, away, faces) == pytest.approx(plain, abs=1e-11)
        assert yaw_between(points, away, faces) == pytest.approx(-turn + yaw_between(points, other, faces))


@pytest.mark.parametrize("exact", [False, True])
def test_the_matrix_of_moved_sequences_is_the_same(walk: Library, exact: bool) -> None:
    shifted = Library(
        tuple(
            sequence.transform(rotation=[np.cos(a), 0, np.sin(a), 0], translation=[a, 0, -3 * a])
            for a, sequence in zip((0.3, 2.0), walk.sequences, strict=True)
        )
    )
    before = distances(walk, exact=exact, triangles=300).values
    after = distances(shifted, exact=exact, triangles=300).values
    np.testing.assert_allclose(after, before, atol=2e-5)


def test_distances_rise_with_the_bend() -> None:
    library = bending(12)
    values = distances(library).values
    assert (np.diff(values[0]) > 0).all()
    np.testing.assert_array_equal(values, values.T)
    assert not values.diagonal().any()


@pytest.mark.parametrize(("stretch", "bound"), [(0.01, 1e-4), (0.1, 0.005)])
def test_quick_distances_are_near_the_exact_ones(stretch: float, bound: float) -> None:
    library = bending(10, stretch=stretch)
    quick, exact = distances(library), distances(library, exact=True)
    np.testing.assert_array_equal(quick.yaw_offsets, exact.yaw_offsets)
    np.testing.assert_allclose(upper(quick.values).mean(), upper(exact.values).mean(), rtol=bound)


def test_exact_distances_are_those_of_each_pair(walk: Library) -> None:
    found = distances(walk, exact=True)
    areas = mesh.face_areas(walk.vertices(middle_frame(walk)), walk.faces)
    for i, j in ((0, 3), (2, 17), (9, 15)):
        alone = pose_distance(
            walk.vertices(i), walk.vertices(j), walk.faces, turn=float(found.yaw_offsets[i, j]), areas=areas
        )
        assert found.values[i, j] == pytest.approx(alone, rel=1e-6)


def test_quick_distances_are_angles_of_template_rotations_to_single_precision() -> None:
    library = bending(8, stretch=0.05)
    middle = library.vertices(middle_frame(library))
    found = distances(library, stretch_weight=0.3)
    areas = mesh.face_areas(middle, library.faces)
    turned, logs = [], []
    for vertices in library.all_vertices():
        parts = deformation(np.broadcast_to(middle, vertices.shape), vertices, library.faces)
        values, vectors = np.linalg.eigh(parts.stretches)
        turned.append(parts.rotations)
        logs.append((vectors * np.log(values)[:, None]) @ np.swapaxes(vectors, 1, 2))
    for i in range(8):
        for j in range(i + 1, 8):
            c, s = np.cos(found.yaw_offsets[i, j]), np.sin(found.yaw_offsets[i, j])
            between = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ turned[j] @ np.swapaxes(turned[i], 1, 2)
            stretch = np.linalg.norm(logs[i] - logs[j], axis=(1, 2))
            plain = np.average(rotation_angles(between) + 0.3 * stretch, weights=areas)
            assert found.values[i, j] == pytest.approx(plain, rel=3e-6)


def test_small_and_large_angles_keep_their_digits() -> None:
    points, faces = tube(6, 8)
    axis = np.array([1.0, 0.0, 0.0])
    angles = np.array([0, 1e-6, 1e-4, 1e-2, 1.0, 3.0, np.pi])
    poses = [rotations.rotate(rotations.exp(angle * axis), points) for angle in angles]
    library = Library((MeshSequence(np.array(poses), faces, 30),))
    plain = ReferencePose.of(points, faces)
    found, areas = deformation_features(library, plain, scale=0.0)
    values, turns = np.zeros((7, 7), np.float32), np.zeros((7, 7), np.float32)
    share = (areas / areas.sum()).astype(np.float32)
    _kernels.add_distances(found, share, turns, (0, 7), (0, 7), values)
    expected = np.abs(np.subtract.outer(angles, angles))
    np.testing.assert_allclose(upper(values), upper(expected), rtol=2e-6, atol=3e-7)


def test_portions_of_triangles_and_threads_do_not_change_the_result(
    walk: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = distances(walk).values
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(_work, "block_rows", lambda _: 4000)
    monkeypatch.setattr(_work, "_cores", lambda: 1)
    parts = distances(walk, progress=lambda *step: seen.append(step)).values
    np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-7)
    assert seen[-1] == (4, 4) and seen == sorted(seen)


def test_a_tenth_of_the_triangles_tells_nearly_the_same(walk: Library) -> None:
    whole, some = upper(distances(walk).values), upper(distances(walk, triangles=1000).values)
    assert np.corrcoef(whole, some)[0, 1] > 0.999
    assert np.abs(some - whole).max() < 0.02


def test_sampled_triangles_share_the_whole_area_evenly() -> None:
    points, faces = tube(40, 20)
    chosen, areas = sample_triangles(points, faces, 100)
    assert len(np.unique(chosen)) == len(chosen) == 100
    assert areas.sum() == pytest.approx(mesh.area(points, faces))
    assert areas.max() < 1.5 * areas.mean()
    everything, own = sample_triangles(points, faces, 10**6)
    assert len(everything) == len(faces)
    np.testing.assert_allclose(own, mesh.face_areas(points, faces))


def test_headings_by_triangles_agree_with_the_joints_where_footprints_cross() -> None:
    motion = marey.samples.walk(seconds=1.5)
    library = Library((marey.samples.mesh_sequence(motion)[::3],))
    joints = geodesic([motion.rotations[::3]])
    ours, footprints = distances(library, triangles=500), distances(library, metric="euclidean")
    agreement = [np.corrcoef(upper(joints.values), upper(d.values))[0, 1] for d in (ours, footprints)]
    assert agreement[0] > 0.95 and agreement[0] > agreement[1]
    assert (
        np.abs(ours.yaw_offsets - joints.yaw_offsets).max()
        < 0.2
        < 0.5
        < np.abs(footprints.yaw_offsets - joints.yaw_offsets).max()
    )
    for i, j in ((0, 7), (3, 11)):
        alone = yaw_between(library.vertices(i), library.vertices(j), library.faces)
        assert ours.yaw_offsets[i, j] == pytest.approx(alone, abs=0.02)


def test_the_reference_is_chosen_without_matrices_of_all_pairs() -> None:
    """Beside the two results there are blocks alone: the alignment of all vertices is not kept."""
    points, faces = tube(3, 4)
    poses = [moved(bent(points, 0.1 + a), a, (a, 0.0)) for a in np.linspace(0, 1.5, 1200)]
    library = Library((MeshSequence(np.array(poses), faces, 30),))
    distances(Library((library.sequences[0][:2],)))
    tracemalloc.start()
    distances(library)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 13 * library.frames**2


def test_sampling_takes_milliseconds() -> None:
    points, faces = tube(200, 50)
    started = time.process_time()
    sample_triangles(points, faces, 1000)
    assert time.process_time() - started < 0.05


def test_triangles_without_area_count_nothing() -> None:
    library = bending(6)
    poses = np.array(list(library.all_vertices()))
    whole = distances(library).values
    faces = np.concatenate([library.faces, [[0, 0, 1], [3, 4, 3]]])
    with_flat = Library((MeshSequence(poses, faces, 30),))
    for exact in (False, True):
        np.testing.assert_allclose(distances(with_flat, exact=exact).values, whole, rtol=1e-3, atol=1e-6)
    with pytest.raises(InputError, match="without area"):
        distances(Library((MeshSequence(poses * 0, library.faces, 30),)))


def test_much_stretch_is_told() -> None:
    library = bending(6, stretch=0.5)
    with pytest.warns(MareyWarning, match="stretch"):
        distances(library)


def test_wrong_wishes_are_named() -> None:
    library = bending(2)
    for wish in ({"metric": "taste"}, {"triangles": 0}, {"stretch_weight": -1.0}):
        with pytest.raises(InputError, match=next(iter(wish)).split("_")[0]):
            distances(library, **wish)
    cloud = Library(
        (MeshSequence(np.random.default_rng(0).normal(size=(2, 9, 3)), np.empty((0, 3), np.int32), 30),)
    )
    with pytest.raises(InputError, match="no faces"):
        distances(cloud)
    assert distances(cloud, metric="euclidean").values[0, 1] > 0


def test_one_frame_has_a_matrix_too() -> None:
    assert distances(bending(1)).values.tolist() == [[0.0]]


def test_a_real_dancer_is_told_by_a_thousand_triangles_and_without_exactness(data_dir: Path) -> None:
    stored = np.load(data_dir / "mesh4d" / "vlasic_samba" / "samba_000_099_q16.npz")
    vertices = (stored["vertices_q"][::9] * stored["scale"] + stored["offset"]).astype(np.float32)
    library = Library((MeshSequence(vertices, stored["faces"], 30),))
    with pytest.warns(MareyWarning, match="stretch"):
        whole, some = distances(library), distances(library, triangles=1000)
    exact = distances(library, exact=True, triangles=1000)
    np.testing.assert_allclose(upper(some.values), upper(exact.values), rtol=0.02)
    assert upper(some.values).mean() == pytest.approx(upper(exact.values).mean(), rel=0.002)
    assert np.corrcoef(upper(whole.values), upper(some.values))[0, 1] > 0.999
