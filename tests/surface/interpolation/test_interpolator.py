"""In-betweens: ends, rigid motion, lengths, volumes, symmetry, pieces and doubled vertices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from marey import samples
from marey.errors import InputError
from marey.geometry import mesh, planar, rotations
from marey.surface.interpolation import Interpolator, distortion, interpolate, linear_interpolation
from tests.geometry.operators import divergence
from tests.surface.interpolation.tubes import bent, centreline, least_radius, tube, twisted

Array = NDArray[np.float64]

TUBE, FACES = tube()
STRAIGHTER, CURLED = bent(TUBE, 0.2), bent(TUBE, 2.6)
SHARED = Interpolator.prepare(TUBE, FACES)


def in_numpy(
    first: Array, second: Array, faces: NDArray[np.int64], template: Array, weight: float, geometric: bool
) -> Array:
    """The same in-between by dense operators, singular values and matrix logarithms; not its volume."""
    frames = [
        np.concatenate([v[faces[:, :2]] - v[faces[:, 2:]], mesh.face_normals(v, faces)[:, None]], axis=1)
        for v in (first, second)
    ]
    here, there = (frame.transpose(0, 2, 1) for frame in frames)
    gradients = there @ np.linalg.inv(here)
    u, s, v = np.linalg.svd(gradients)
    turns = u @ v
    shape = v.transpose(0, 2, 1)
    stretched = s**weight if geometric else (1 - weight) + weight * s
    stretch = shape @ (stretched[:, :, None] * v)
    logs = rotations.log(rotations.from_matrix(turns))
    partial = rotations.to_matrix(rotations.exp(weight * logs))
    deformation = partial @ stretch
    rest = np.concatenate(
        [template[faces[:, :2]] - template[faces[:, 2:]], mesh.face_normals(template, faces)[:, None]], axis=1
    ).transpose(0, 2, 1)
    wanted = deformation @ here @ np.linalg.inv(rest)
    normals = mesh.face_normals(template, faces)
    flat = (np.eye(3) - normals[:, :, None] * normals[:, None]) @ wanted.transpose(0, 2, 1)
    sums = divergence(template, faces) @ flat.reshape(-1, 3)
    laplacian = mesh.laplacian(template, faces).toarray()
    found = np.linalg.lstsq(laplacian, sums, rcond=None)[0]
    return found + ((1 - weight) * first + weight * second - found).mean(axis=0)


@pytest.mark.parametrize("stretch", ["linear", "geometric"])
def test_kernel_equals_the_dense_equations_on_an_open_surface(stretch: str) -> None:
    vertices, faces = tube(14, 9)
    faces = faces[:-18]
    rng = np.random.default_rng(1)
    first = bent(vertices, 0.3) + 0.01 * rng.normal(size=vertices.shape)
    second = bent(vertices, 1.5) + 0.01 * rng.normal(size=vertices.shape)
    keep = np.arange(len(vertices) - 2)
    first, second, template = first[keep], second[keep], vertices[keep]
    found = Interpolator.prepare(template, faces).between(first, second, 0.35, stretch=stretch)
    expected = in_numpy(first, second, faces, template, 0.35, stretch == "geometric")
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("stretch", ["linear", "geometric"])
def test_both_ends_are_met(stretch: str) -> None:
    found = SHARED.between(STRAIGHTER, CURLED, [0.0, 1.0], stretch=stretch)
    np.testing.assert_allclose(found, [STRAIGHTER, CURLED], atol=1e-10)


def test_halfway_of_a_bend_keeps_length_and_volume_where_straight_lines_lose_both() -> None:
    halfway, plain = SHARED.between(STRAIGHTER, CURLED, 0.5), linear_interpolation(STRAIGHTER, CURLED, 0.5)
    volume = float(mesh.volume(STRAIGHTER, FACES))
    assert centreline(halfway) == pytest.approx(2.0, abs=1e-3)
    assert float(mesh.volume(halfway, FACES)) == pytest.approx(volume, rel=1e-3)
    assert centreline(plain) == pytest.approx(1.553, abs=2e-3)
    assert float(mesh.volume(plain, FACES)) < 0.65 * volume


def test_swapped_ends_give_the_same_mesh() -> None:
    found = SHARED.between(CURLED, STRAIGHTER, 0.7)
    np.testing.assert_allclose(found, SHARED.between(STRAIGHTER, CURLED, 0.3), atol=1e-10)


@given(seed=st.integers(0, 1000), weight=st.floats(0, 1), angle=st.floats(0.0, 3.0))
@settings(max_examples=15)
def test_a_rigid_pair_moves_rigidly(seed: int, weight: float, angle: float) -> None:
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    vector = angle * axis / np.linalg.norm(axis)
    centre, shift = TUBE.mean(axis=0), rng.normal(size=3)

    def moved(share: float) -> Array:
        turn = rotations.to_matrix(rotations.exp(share * vector))
        return (TUBE - centre) @ turn.T + centre + share * shift

    np.testing.assert_allclose(SHARED.between(moved(0), moved(1), weight), moved(weight), atol=1e-9)


def test_two_sides_differ_little_from_one() -> None:
    one = interpolate(STRAIGHTER, CURLED, FACES, 0.5)
    two = interpolate(STRAIGHTER, CURLED, FACES, 0.5, method="two-sided")
    assert np.abs(one - two).max() < 1e-4


@pytest.mark.parametrize(("turns", "radius"), [(0.75, 0.14), (1.2, 0.12), (2.0, 0.11)])
def test_a_twist_beyond_half_a_turn_does_not_collapse(turns: float, radius: float) -> None:
    other = twisted(TUBE, 2 * np.pi * turns)
    pair = SHARED.pair(TUBE, other)
    assert min(least_radius(mesh) for mesh in pair.at([0.25, 0.5, 0.75])) > radius
    assert least_radius(SHARED.pair(TUBE, other, unwrapped=False).at(0.5)) < 0.02
    np.testing.assert_allclose(pair.at(1.0), other, atol=1e-10)
    swapped = SHARED.pair(other, TUBE)
    np.testing.assert_allclose(swapped.at(0.6), pair.at(0.4), atol=1e-8)


def test_turns_within_half_a_turn_are_left_as_they_are() -> None:
    pair, plain = SHARED.pair(STRAIGHTER, CURLED), SHARED.pair(STRAIGHTER, CURLED, unwrapped=False)
    assert np.array_equal(pair.logs, plain.logs)
    assert len(pair.residuals) == 0


def test_every_piece_goes_to_the_middle_of_its_own_ends() -> None:
    beside, risen, between = (TUBE + np.array(shift) for shift in ([1, 0, 0], [3, 1, 0], [2, 0.5, 0]))
    first = np.concatenate([TUBE, beside, [[9.0, 9.0, 9.0]]])
    second = np.concatenate([CURLED, risen, [[9.0, 7.0, 9.0]]])
    faces = np.concatenate([FACES, FACES + len(TUBE)])
    found = Interpolator.prepare(first, faces).between(first, second, 0.5)
    np.testing.assert_allclose(found[len(TUBE) : -1], between, atol=1e-10)
    np.testing.assert_allclose(found[-1], [9.0, 8.0, 9.0])
    np.testing.assert_allclose(found[: len(TUBE)].mean(0), (TUBE + CURLED).mean(0) / 2, atol=1e-10)


def test_vertices_doubled_along_a_seam_stay_together() -> None:
    loose, corners = TUBE[FACES].reshape(-1, 3), np.arange(3 * len(FACES)).reshape(-1, 3)
    first, second = STRAIGHTER[FACES].reshape(-1, 3), CURLED[FACES].reshape(-1, 3)
    found = Interpolator.prepare(loose, corners).between(first, second, 0.5)
    whole = SHARED.between(STRAIGHTER, CURLED, 0.5)
    centred = whole - whole.mean(axis=0)
    expected = centred[FACES].reshape(-1, 3)
    np.testing.assert_allclose(found - found.mean(0), expected - expected.mean(0), atol=1e-9)


def test_doubled_vertices_that_part_still_meet_both_ends() -> None:
    vertices = np.concatenate([TUBE, TUBE[:1]])
    faces = np.array(FACES)
    faces[0] = [len(TUBE), *FACES[0, 1:]]
    away = np.concatenate([CURLED, CURLED[:1] + 0.05])
    found = Interpolator.prepare(vertices, faces).between(vertices, away, [0, 1])
    np.testing.assert_allclose(found, [vertices, away], atol=1e-10)


def test_faces_without_area_in_one_pose_give_finite_meshes_and_exact_ends() -> None:
    flat = np.array(CURLED)
    flat[FACES[5, 0]] = flat[FACES[5, 1]]
    found = SHARED.between(STRAIGHTER, flat, [0.0, 0.5, 1.0])
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[[0, 2]], [STRAIGHTER, flat], atol=1e-9)


def test_standing_and_facing_go_between() -> None:
    away = planar.PlanarMotion(np.array(2.0), np.array([3.0, -1.0]))
    found = interpolate(STRAIGHTER, away.apply(STRAIGHTER), FACES, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(found[[0, 2]], [STRAIGHTER, away.apply(STRAIGHTER)], atol=1e-9)
    assert planar.align(STRAIGHTER, found[1]).angle == pytest.approx(-1.0, abs=1e-9)
    middle = (planar.centroid(found[0]) + planar.centroid(found[2])) / 2
    np.testing.assert_allclose(planar.centroid(found[1]), middle, atol=1e-9)


def test_errors_of_a_walking_body_are_lower_than_those_of_straight_lines() -> None:
    walk = samples.mesh_sequence()
    first, second = walk.vertices[0], walk.vertices[walk.frames // 4]
    weights = [0.25, 0.5, 0.75]
    ours = interpolate(first, second, walk.faces, weights)
    plain = interpolate(first, second, walk.faces, weights, method="linear")
    mine = distortion(ours, first, second, walk.faces, weights)
    theirs = distortion(plain, first, second, walk.faces, weights)
    assert mine.volume < theirs.volume
    assert mine.edges < theirs.edges


def test_errors_of_a_captured_dancer_are_lower_than_those_of_straight_lines(data_dir: Path) -> None:
    with np.load(next((data_dir / "mesh4d" / "vlasic_samba").glob("*.npz")), allow_pickle=False) as stored:
        faces = stored["faces"]
        poses = stored["vertices_q"][[5, 33, 47, 51, 71, 88]] * stored["scale"] + stored["offset"]
    shared = Interpolator.prepare(poses[0], faces)
    for first, second in zip(poses[::2], poses[1::2], strict=True):
        ours = interpolate(first, second, faces, 0.5, interpolator=shared)
        plain = interpolate(first, second, faces, 0.5, method="linear")
        mine = distortion(ours, first, second, faces, 0.5)
        theirs = distortion(plain, first, second, faces, 0.5)
        assert mine.volume < theirs.volume
        assert mine.edges < theirs.edges


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((TUBE, TUBE[1:], 0.5), "second: expected the template's shape"),
        ((TUBE * np.nan, TUBE, 0.5), "first: value at .0, 0. is not finite"),
        ((TUBE, TUBE, 1.5), "from 0 to 1"),
        ((TUBE, TUBE, "half"), "not a number"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[Array, Array, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        SHARED.between(*arguments)


def test_unknown_ways_are_refused() -> None:
    with pytest.raises(InputError, match="method"):
        interpolate(TUBE, TUBE, FACES, 0.5, method="cubic")
    with pytest.raises(InputError, match="template"):
        Interpolator.prepare(np.full_like(TUBE, np.inf), FACES)


def test_small_holes_do_not_cost_the_volume() -> None:
    rest = np.delete(FACES, np.arange(300, 312, 3), axis=0)
    shared = Interpolator.prepare(TUBE, rest)
    assert shared.solid.all()
    wanted = (mesh.volume(STRAIGHTER, FACES) + mesh.volume(CURLED, FACES)) / 2
    found = mesh.volume(shared.between(STRAIGHTER, CURLED, 0.5), FACES)
    assert found == pytest.approx(float(wanted), rel=1e-4)


def test_a_sheet_beside_a_solid_is_left_as_it_was_alone() -> None:
    sheet = FACES[: len(FACES) // 4]
    alone = Interpolator.prepare(TUBE, sheet)
    assert not alone.solid.any()
    both = Interpolator.prepare(np.concatenate([TUBE + 5, TUBE]), np.concatenate([sheet + len(TUBE), FACES]))
    assert sorted(both.solid.tolist())[-1]
    start, end = (np.concatenate([other + 5, other]) for other in (STRAIGHTER, CURLED))
    used = np.unique(sheet)
    found = both.between(start, end, 0.5)[len(TUBE) :][used]
    np.testing.assert_allclose(found, alone.between(STRAIGHTER, CURLED, 0.5)[used], atol=1e-9)


@given(size=st.sampled_from([0.0, 1e-9, 1e-6, 1e-4]), seed=st.integers(0, 100))
@settings(max_examples=10)
def test_nearly_equal_poses_are_never_worse_than_straight_lines_beyond_rounding(
    size: float, seed: int
) -> None:
    second = TUBE + size * np.random.default_rng(seed).normal(size=TUBE.shape)
    mine = distortion(SHARED.between(TUBE, second, 0.5), TUBE, second, FACES, 0.5)
    theirs = distortion(linear_interpolation(TUBE, second, 0.5), TUBE, second, FACES, 0.5)
    assert mine.volume < theirs.volume + 1e-6
    assert mine.edges < theirs.edges + 1e-6


def test_opposite_steps_of_a_walk_face_the_same_way() -> None:
    walk = samples.mesh_sequence()
    first, second = walk.vertices[0], walk.vertices[33]
    assert abs(float(planar.align(first, second).angle)) > 1.0
    halfway = interpolate(first, second, walk.faces, 0.5, method="linear")
    assert distortion(halfway, first, second, walk.faces, 0.5).volume < 0.2
    turned = planar.PlanarMotion(np.array(0.8), np.array([2.0, 1.0])).apply(second)
    found = interpolate(first, turned, walk.faces, 0.5, method="linear")
    assert float(planar.align(halfway, found).angle) == pytest.approx(-0.4, abs=1e-6)
