from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from marey.errors import InputError
from marey.geometry import mesh, rotations
from marey.surface import SkinnedMesh, dual_quaternion, linear_blend, skinning

Array = NDArray[np.float64]
Method = Callable[..., NDArray[np.floating]]
METHODS = [linear_blend, dual_quaternion]


def rigid(rotation_vectors: Array, translations: Array) -> Array:
    matrices = np.zeros((*rotation_vectors.shape[:-1], 4, 4))
    matrices[..., :3, :3] = rotations.to_matrix(rotations.exp(rotation_vectors))
    matrices[..., :3, 3] = translations
    matrices[..., 3, 3] = 1
    return matrices


def random_skin(rng: np.random.Generator, vertices: int, joints: int, k: int) -> tuple[Array, Array, Array]:
    influences = np.stack([rng.permutation(joints)[:k] for _ in range(vertices)])
    return rng.normal(size=(vertices, 3)), influences, rng.dirichlet(np.ones(k), vertices)


def cylinder(rings: int = 41, sides: int = 24) -> tuple[Array, NDArray[np.int64]]:
    """A closed cylinder of radius 0.1 along x from -0.5 to 0.5."""
    along, around = np.meshgrid(
        np.linspace(-0.5, 0.5, rings), np.arange(sides) * 2 * np.pi / sides, indexing="ij"
    )
    points = np.stack([along, 0.1 * np.cos(around), 0.1 * np.sin(around)], axis=-1).reshape(-1, 3)
    points = np.concatenate([points, [[-0.5, 0, 0], [0.5, 0, 0]]])
    i, j = (n.ravel() for n in np.meshgrid(np.arange(rings - 1), np.arange(sides), indexing="ij"))
    a, b = i * sides + j, i * sides + (j + 1) % sides
    side = np.concatenate([np.stack([a, b, b + sides], -1), np.stack([a, b + sides, a + sides], -1)])
    j = np.arange(sides)
    left = np.stack([np.full(sides, rings * sides), (j + 1) % sides, j], axis=-1)
    last = (rings - 1) * sides
    right = np.stack([np.full(sides, rings * sides + 1), last + j, last + (j + 1) % sides], axis=-1)
    faces = np.concatenate([side, left, right])
    return points, faces if mesh.volume(points, faces) > 0 else faces[:, [0, 2, 1]]


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_one_rigid_motion_of_all_joints_moves_everything_rigidly(method: Method, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, influences, weights = random_skin(rng, 30, 5, 3)
    omega, move = rng.normal(size=3) * 2, rng.normal(size=3)
    transforms = np.broadcast_to(rigid(omega, move), (2, 5, 4, 4))
    expected = rotations.rotate(rotations.exp(omega), points) + move
    got = method(points, influences, weights, transforms)
    np.testing.assert_allclose(got, [expected, expected], atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_vertex_of_one_joint_goes_with_that_joint(method: Method) -> None:
    rng = np.random.default_rng(3)
    transforms = rigid(rng.normal(size=(4, 6, 3)), rng.normal(size=(4, 6, 3)))
    points = rng.normal(size=(6, 3))
    got = method(points, np.arange(6)[:, None], np.ones((6, 1)), transforms)
    expected = np.einsum("fvij,vj->fvi", transforms[..., :3, :3], points) + transforms[..., :3, 3]
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_linear_blend_is_the_textbook_sum() -> None:
    rng = np.random.default_rng(4)
    points, influences, weights = random_skin(rng, 50, 7, 4)
    transforms = rng.normal(size=(3, 7, 4, 4))
    transforms[..., 3, :] = [0, 0, 0, 1]
    homogeneous = np.concatenate([points, np.ones((50, 1))], axis=1)
    expected = np.einsum("vk,fvkij,vj->fvi", weights, transforms[:, influences], homogeneous)[..., :3]
    np.testing.assert_allclose(linear_blend(points, influences, weights, transforms), expected, atol=1e-12)


def test_a_twisted_cylinder_keeps_its_volume_under_dual_quaternions_only() -> None:
    points, faces = cylinder()
    share = np.clip(points[:, 0] + 0.5, 0, 1)
    weights, influences = np.stack([1 - share, share], axis=1), np.tile([0, 1], (len(points), 1))
    twist = rigid(np.array([[[0.0, 0, 0], [np.pi * 0.95, 0, 0]]]), np.zeros((1, 2, 3)))
    rest = mesh.volume(points, faces)
    linear = mesh.volume(linear_blend(points, influences, weights, twist)[0], faces) / rest
    dual = mesh.volume(dual_quaternion(points, influences, weights, twist)[0], faces) / rest
    assert linear < 0.75
    assert dual > 0.97


def test_a_twist_under_dual_quaternions_turns_each_ring_as_a_whole() -> None:
    points, _ = cylinder()
    share = np.clip(points[:, 0] + 0.5, 0, 1)
    weights, influences = np.stack([1 - share, share], axis=1), np.tile([0, 1], (len(points), 1))
    twist = rigid(np.array([[[0.0, 0, 0], [2.5, 0, 0]]]), np.zeros((1, 2, 3)))
    turned = dual_quaternion(points, influences, weights, twist)[0]
    np.testing.assert_allclose(turned[:, 0], points[:, 0], atol=1e-12)
    np.testing.assert_allclose(np.hypot(*turned[:, 1:].T), np.hypot(*points[:, 1:].T), atol=1e-12)


def test_dual_quaternions_do_not_jump_where_the_sign_of_a_quaternion_does() -> None:
    """Two joints turn together through a whole turn, where from_matrix changes sign."""
    points = np.array([[1.0, 0.2, 0.0]])
    angles = np.linspace(0, 2 * np.pi, 2001)
    omega = np.zeros((2001, 2, 3))
    omega[:, 0, 2], omega[:, 1, 2] = angles, angles + 0.3
    path = dual_quaternion(points, [[0, 1]], [[0.5, 0.5]], rigid(omega, np.zeros((2001, 2, 3))))[:, 0]
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), np.linalg.norm(points), atol=1e-12)
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 1.1 * (angles[1] - angles[0]) * 1.02


def test_dual_quaternions_ignore_which_of_the_two_signs_they_are_given() -> None:
    rng = np.random.default_rng(5)
    points, influences, weights = random_skin(rng, 40, 4, 3)
    influences, weights = skinning.heaviest_first(influences.astype(np.int32), weights)
    motions = skinning.dual_quaternions(rigid(rng.normal(size=(6, 4, 3)), rng.normal(size=(6, 4, 3))))
    flipped = motions * rng.choice([-1.0, 1.0], size=(6, 4, 1))
    one, other = np.empty((6, 40, 3)), np.empty((6, 40, 3))
    skinning.dual_quaternion_in_numpy(points, influences, weights, motions, one)
    skinning.dual_quaternion_in_numpy(points, influences, weights, flipped, other)
    np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("method", ["linear_blend", "dual_quaternion"])
@pytest.mark.parametrize("frames", [1, 7, 32, 70])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_kernel_and_numpy_agree(method: str, frames: int, dtype: type, tolerance: float) -> None:
    from marey.surface import _skinning_kernels as _kernels

    rng = np.random.default_rng(frames)
    points, influences, weights = random_skin(rng, 200, 9, 4)
    weights[::3, 2:] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    influences, weights = skinning.heaviest_first(influences.astype(np.int32), weights)
    transforms = rigid(rng.normal(size=(frames, 9, 3)), rng.normal(size=(frames, 9, 3)))
    motions = (
        transforms[:, :, :3].reshape(frames, 9, 12)
        if method == "linear_blend"
        else skinning.dual_quaternions(transforms)
    ).astype(dtype)
    ours, twin = np.full((2, frames, 200, 3), np.nan, dtype=dtype)
    args = points.astype(dtype), influences, weights.astype(dtype)
    getattr(_kernels, method)(*args, skinning._packed(motions), ours)
    getattr(skinning, f"{method}_in_numpy")(*args, motions, twin)
    np.testing.assert_allclose(ours, twin, atol=tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_blocks_of_frames_give_what_single_frames_give(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(8)
    points, influences, weights = random_skin(rng, 3000, 3, 2)
    transforms = rigid(rng.normal(size=(90, 3, 3)), rng.normal(size=(90, 3, 3)))
    monkeypatch.setattr(skinning, "_MANY", 0)
    compiled = method(points, influences, weights, transforms)
    monkeypatch.setattr(skinning, "_FEW", 10**12)
    plain = method(points, influences, weights, transforms)
    np.testing.assert_allclose(compiled, plain, atol=1e-12)
    alone = method(points, influences, weights, transforms[57:58])
    np.testing.assert_allclose(alone[0], plain[57], atol=1e-12)


def test_dual_quaternions_refuse_transforms_that_scale_and_name_the_joint() -> None:
    transforms = np.broadcast_to(np.eye(4), (3, 2, 4, 4)).copy()
    transforms[2, 1] *= 1.1
    with pytest.raises(InputError, match="joint 1 at frame 2 scales"):
        dual_quaternion([[0, 0, 0]], [[0]], [[1]], transforms)
    transforms[2, 1] = np.diag([-1, 1, 1, 1])
    with pytest.raises(InputError, match="mirrors"):
        dual_quaternion([[0, 0, 0]], [[0]], [[1]], transforms)


def test_wrong_shapes_indices_and_types_are_refused() -> None:
    still = np.eye(4)[None, None]
    with pytest.raises(InputError, match="influences: joint indices must lie in 0…0"):
        linear_blend([[0, 0, 0]], [[1]], [[1]], still)
    with pytest.raises(InputError, match="weights"):
        linear_blend([[0, 0, 0]], [[0]], [[1, 0]], still)
    with pytest.raises(InputError, match="transforms"):
        linear_blend([[0, 0, 0]], [[0]], [[1]], np.eye(4))
    with pytest.raises(InputError, match="dtype"):
        linear_blend([[0, 0, 0]], [[0]], [[1]], still, dtype=np.int32)
    with pytest.raises(InputError, match="one of linear, dual_quaternion"):
        skinning.skin([[0, 0, 0]], [[0]], [[1]], still, method="magic")


def test_a_skinned_mesh_checks_its_weights_and_bind() -> None:
    corner, faces = np.eye(3), [[0, 1, 2]]

    def skinned(weights: object = ((1.0,),) * 3, bind: object = (np.eye(4),)) -> SkinnedMesh:
        return SkinnedMesh(corner, faces, ("hip",), bind, [[0]] * 3, weights)

    np.testing.assert_array_equal(skinned().pose([[np.eye(4)]])[0], corner)
    np.testing.assert_allclose(skinned([[0.9995]] * 3).weights, 1)
    with pytest.raises(InputError, match=r"vertex 1 sum to 0\.5"):
        skinned([[1], [0.5], [1]])
    with pytest.raises(InputError, match="'hip' has no inverse"):
        skinned(bind=[np.diag([1, 1, 0, 1.0])])
    with pytest.raises(InputError, match="no vertex"):
        SkinnedMesh(np.empty((0, 3)), [], ("hip",), [np.eye(4)], np.empty((0, 1)), np.empty((0, 1)))
