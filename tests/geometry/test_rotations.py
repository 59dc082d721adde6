"""Rotations form a group, with an exponential, a logarithm and a bi-invariant distance."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from marey.errors import InputError
from marey.geometry import _batch
from marey.geometry import rotations as rot

from .strategies import directions, rotation_vectors, rotations, vectors


def same_rotation(a, b, tolerance):
    """q and -q count as equal."""
    a, b = np.broadcast_arrays(a, b)
    return np.minimum(np.abs(a - b).max(axis=-1), np.abs(a + b).max(axis=-1)).max() <= tolerance


def scipy_rotation(q):
    return Rotation.from_quat(q, scalar_first=True)


# The group


@given(rotations, rotations, rotations)
def test_product_is_associative(a, b, c):
    left = rot.multiply(rot.multiply(a, b), c)
    assert np.abs(left - rot.multiply(a, rot.multiply(b, c))).max() < 1e-15


@given(rotations)
def test_identity_and_inverse(q):
    assert np.array_equal(rot.multiply(q, rot.identity()), q)
    assert np.array_equal(rot.multiply(rot.identity(), q), q)
    assert np.abs(rot.multiply(q, rot.inverse(q)) - rot.identity()).max() < 1e-15
    assert np.abs(rot.multiply(rot.inverse(q), q) - rot.identity()).max() < 1e-15


@given(rotations, rotations, vectors())
def test_rotate_is_an_action_that_keeps_lengths(a, b, v):
    assert np.allclose(rot.rotate(rot.multiply(a, b), v), rot.rotate(a, rot.rotate(b, v)), atol=1e-13)
    assert np.isclose(np.linalg.norm(rot.rotate(a, v)), np.linalg.norm(v), atol=1e-300, rtol=1e-14)
    assert np.allclose(rot.rotate(a, v), rot.to_matrix(a) @ v, atol=1e-13)


@given(rotations)
def test_matrices_are_proper_rotations_and_come_back(q):
    R = rot.to_matrix(q)
    assert np.abs(R @ R.T - np.eye(3)).max() < 2e-15
    assert np.linalg.det(R) > 0
    back = rot.from_matrix(R)
    assert back[0] >= 0
    assert same_rotation(back, q, 1e-15)


def test_product_and_matrices_agree_with_scipy():
    a, b = rot.random((7, 5), rng=1), rot.random((7, 5), rng=2)
    product = rot.to_matrix(rot.multiply(a, b)).reshape(-1, 3, 3)
    expected = (scipy_rotation(a.reshape(-1, 4)) * scipy_rotation(b.reshape(-1, 4))).as_matrix()
    assert np.abs(product - expected).max() < 1e-15
    assert (
        np.abs(product - rot.to_matrix(a).reshape(-1, 3, 3) @ rot.to_matrix(b).reshape(-1, 3, 3)).max()
        < 1e-15
    )


@given(vectors(), vectors())
def test_hat_is_the_cross_product(a, b):
    assert np.array_equal(rot.hat(a) @ b, np.cross(a, b)) or np.allclose(rot.hat(a) @ b, np.cross(a, b))


# Exponential and logarithm


@given(vectors(1.8))
def test_exp_is_the_matrix_exponential(v):
    assert np.abs(rot.to_matrix(rot.exp(v)) - expm(rot.hat(v))).max() < 5e-15


@given(vectors(10.0))
def test_exp_goes_round_more_than_once(v):
    assert np.abs(rot.to_matrix(rot.exp(v)) - Rotation.from_rotvec(v).as_matrix()).max() < 5e-15


@given(rotation_vectors)
def test_log_inverts_exp_up_to_a_half_turn(v):
    back = rot.log(rot.exp(v))
    if np.linalg.norm(v) > np.pi - 1e-14:  # either axis is right
        back = back * np.sign(back @ v)
    assert np.abs(back - v).max() < 1e-14


@given(rotations)
def test_exp_inverts_log_up_to_sign(q):
    assert same_rotation(rot.exp(rot.log(q)), q, 1e-14)


@given(rotations)
def test_log_is_the_same_for_both_signs_and_at_most_pi(q):
    assert np.array_equal(rot.log(q), rot.log(-q))
    assert np.linalg.norm(rot.log(q)) <= np.pi * (1 + 1e-15)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12, 0.0])
def test_log_is_exact_near_pi(gap):
    axis = np.array([0.6, -0.48, 0.64])
    angle = np.pi - gap
    assert np.abs(rot.log(rot.exp(angle * axis)) - angle * axis).max() < 1e-15
    R = Rotation.from_rotvec(angle * axis).as_matrix()
    assert np.abs(rot.log(rot.from_matrix(R)) - angle * axis).max() < 2e-15


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-155, 1e-16, 1e-9, 1e-6, 1e-4, 1e-2])
def test_log_and_exp_are_exact_near_zero(angle):
    v = angle * np.array([0.6, -0.48, 0.64])
    np.testing.assert_allclose(rot.log(rot.exp(v)), v, rtol=1e-15, atol=0)
    np.testing.assert_allclose(rot.exp(v)[1:], 0.5 * v * np.sinc(0.5 * angle / np.pi), rtol=1e-15, atol=0)


def test_log_of_half_turns_takes_one_axis_for_both_signs():
    q = np.array([[0.0, -1, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1], [0, 0.6, -0.8, 0], [0, 0, -0.6, 0.8]])
    assert np.array_equal(rot.log(q), rot.log(-q))
    assert np.array_equal(rot.log(q)[:3], np.pi * np.eye(3))


def test_log_does_not_mind_the_length_of_its_argument():
    q = rot.random(50, rng=3)
    assert np.abs(rot.log(3.0 * q) - rot.log(q)).max() < 1e-15


# Distances


@given(rotations, rotations)
def test_distance_is_the_length_of_the_relative_log(a, b):
    relative = np.linalg.norm(rot.log(rot.multiply(rot.inverse(a), b)))
    assert abs(rot.distance(a, b) - relative) < 1e-14
    assert rot.distance(a, b) == rot.distance(b, a) == rot.distance(-a, b)
    assert rot.distance(a, a) == rot.distance(a, -a) == 0.0


@given(rotations, rotations, rotations, rotations)
def test_distance_is_bi_invariant(a, b, left, right):
    moved = [rot.multiply(rot.multiply(left, q), right) for q in (a, b)]
    assert abs(rot.distance(*moved) - rot.distance(a, b)) < 1e-13


@given(rotations, rotations, rotations)
def test_distance_obeys_the_triangle_inequality(a, b, c):
    assert rot.distance(a, c) <= rot.distance(a, b) + rot.distance(b, c) + 1e-14


# Interpolation, arcs and splits


@given(rotations, rotations, st.floats(-1.0, 2.0))
def test_slerp_follows_the_geodesic(a, b, t):
    if rot.distance(a, b) > np.pi - 1e-6:  # two arcs are equally short
        return
    geodesic = rot.multiply(a, rot.exp(t * rot.log(rot.multiply(rot.inverse(a), b))))
    assert same_rotation(rot.slerp(a, b, t), geodesic, 1e-14)


@given(rotations, rotations)
def test_slerp_starts_and_ends_where_told(a, b):
    assert same_rotation(rot.slerp(a, b, 0.0), a, 1e-15)
    assert same_rotation(rot.slerp(a, b, 1.0), b, 1e-15)
    middle = rot.slerp(a, b, 0.5)
    assert abs(np.linalg.norm(middle) - 1.0) < 1e-15
    assert abs(rot.distance(a, middle) - rot.distance(middle, b)) < 1e-14


def test_slerp_broadcasts_shares_over_leading_shape():
    a, b, t = rot.random((5, 1), rng=0), rot.random(3, rng=1), np.linspace(0, 1, 5)[:, None]
    result = rot.slerp(a, b, t)
    assert result.shape == (5, 3, 4)
    assert np.array_equal(result[2, 1], rot.slerp(a[2, 0], b[1], 0.5))


@given(directions, directions, st.floats(0.1, 10.0))
def test_between_turns_one_direction_into_the_other_by_the_smallest_angle(u, v, scale):
    q = rot.between(scale * u, v)
    assert np.abs(rot.rotate(q, u) - v).max() < 2e-15
    angle = 2.0 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v))
    assert abs(np.linalg.norm(rot.log(q)) - angle) < 2e-15


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8, 1e-12, 1e-16, 0.0])
def test_between_is_exact_near_equal_and_near_opposite_directions(gap):
    rng = np.random.default_rng(0)
    u = rng.standard_normal((200, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    for sign in (1.0, -1.0):
        v = sign * u + gap * rng.standard_normal((200, 3))
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        assert np.abs(rot.rotate(rot.between(u, v), u) - v).max() < 2e-15


def test_between_zero_vectors_does_nothing():
    assert np.array_equal(rot.between(np.zeros(3), [1.0, 0.0, 0.0]), rot.identity())
    assert np.array_equal(rot.between([1.0, 0.0, 0.0], np.zeros(3)), rot.identity())


@given(rotations, directions)
def test_swing_and_twist_multiply_to_the_rotation(q, axis):
    swing, twist = rot.swing_twist(q, 2.0 * axis)
    assert np.abs(rot.multiply(swing, twist) - q).max() < 1e-15
    assert np.linalg.norm(np.cross(rot.log(twist), axis)) < 1e-14
    assert abs(swing[1:] @ axis) < 1e-15


def test_swing_twist_of_a_half_turn_at_right_angles_is_all_swing():
    swing, twist = rot.swing_twist([0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    assert np.array_equal(twist, rot.identity())
    assert np.array_equal(swing, [0.0, 0.0, 1.0, 0.0])
    with pytest.raises(InputError, match="non-zero"):
        rot.swing_twist(rot.identity(), np.zeros(3))


def test_random_rotations_are_uniform():
    angles = np.linalg.norm(rot.log(rot.random(50_000, rng=0)), axis=1)
    # The angle of a uniform rotation has the density (1 - cos) / pi on [0, pi].
    shares = np.linspace(0.1, 3.1, 16)
    measured = (angles[:, None] < shares).mean(axis=0)
    assert np.abs(measured - (shares - np.sin(shares)) / np.pi).max() < 0.01
    assert np.array_equal(rot.random(3, rng=7), rot.random(3, rng=np.random.default_rng(7)))


# Arrays


def test_functions_broadcast_like_numpy():
    a, b, v = rot.random((4, 1), rng=0), rot.random(3, rng=1), np.arange(9.0).reshape(3, 3)
    assert rot.multiply(a, b).shape == (4, 3, 4)
    assert np.array_equal(rot.multiply(a, b)[2, 1], rot.multiply(a[2, 0], b[1]))
    assert np.array_equal(rot.rotate(a, v)[2, 1], rot.rotate(a[2, 0], v[1]))
    assert rot.identity().shape == (4,)
    assert rot.identity(3).shape == (3, 4)
    assert rot.multiply(np.zeros((0, 4)), b[:1]).shape == (0, 4)
    assert rot.exp(np.zeros((0, 3))).shape == (0, 4)
    assert rot.log(np.zeros((0, 4))).shape == (0, 3)


def test_single_precision_input_is_computed_in_double():
    q = rot.random(10, rng=0).astype(np.float32)
    assert rot.log(q).dtype == np.float64
    assert np.array_equal(rot.log(q), rot.log(q.astype(np.float64)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rot.multiply(np.zeros((2, 3)), np.zeros(4)), r"\(\.\.\., 4\), found \(2, 3\)"),
        (lambda: rot.rotate(rot.identity(), 1.0), r"\(\.\.\., 3\), found \(\)"),
        (lambda: rot.exp(np.zeros(4)), "rotation vectors"),
        (lambda: rot.from_matrix(np.eye(4)), r"\(\.\.\., 3, 3\)"),
        (lambda: rot.normalise([[1.0, 0, 0, 0], [0, 0, 0, 0]]), r"index \(1,\) has length 0"),
        (lambda: rot.normalise([np.nan, 0, 0, 0]), "length nan"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


# Compiled kernels against their NumPy twins: the same functions on few rotations at a time


def in_pieces(function, *arrays, size=200):
    pieces = [function(*(array[i : i + size] for array in arrays)) for i in range(0, len(arrays[0]), size)]
    return np.concatenate(pieces)


@pytest.fixture(scope="module")
def many():
    import numba  # noqa: F401 - once it is loaded, kernels serve arrays of a thousand and more

    q = rot.random(11_234, rng=8)
    assert _batch.pays(len(q))
    assert not _batch.pays(999)
    q[:8] = [
        [1, 0, 0, 0],
        [-1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, -1, 0, 0],
        [0, 0, -1, 0],
        [0, 0, 0, -1],
        [0, 0, 0, 1],
        [0, 0.6, -0.8, 0],
    ]
    q[8:1_000] = rot.exp(1e-7 * rot.log(q[8:1_000]))
    return q


def test_kernels_equal_their_numpy_twins_bit_for_bit(many):
    v = rot.log(many[::-1])
    v[:100] *= 3.0
    v[100:200] *= 1e-200
    assert np.array_equal(rot.multiply(many, many[::-1]), in_pieces(rot.multiply, many, many[::-1]))
    assert np.array_equal(rot.rotate(many, v), in_pieces(rot.rotate, many, v))
    assert np.array_equal(rot.log(many), in_pieces(rot.log, many))
    assert np.array_equal(rot.exp(v), in_pieces(rot.exp, v))


def test_kernels_pass_on_what_is_not_a_number(many):
    q = many.copy()
    q[5, 2] = np.nan
    for kernel, twin in (
        (rot.log(q), in_pieces(rot.log, q)),
        (rot.exp(q[:, 1:]), in_pieces(rot.exp, q[:, 1:])),
    ):
        assert np.isnan(kernel[5]).any()
        assert np.array_equal(kernel, twin, equal_nan=True)


def test_kernels_broadcast_and_take_any_memory_layout(many):
    frames = many[:10_000].reshape(2_500, 4, 4)
    joints, shared = rot.random(4, rng=0), rot.random(1, rng=1)
    per_frame = rot.random((2_500, 1), rng=2)
    for other in (joints, shared, shared[0], shared[None], per_frame, joints[None]):
        full = np.ascontiguousarray(np.broadcast_to(other, frames.shape))
        assert np.array_equal(rot.multiply(frames, other), in_pieces(rot.multiply, frames, full))
        assert np.array_equal(rot.multiply(other, frames), in_pieces(rot.multiply, full, frames))
    assert np.array_equal(
        rot.rotate(frames, [1.0, 2.0, 3.0])[7, 3], rot.rotate(frames[7, 3], [1.0, 2.0, 3.0])
    )
    assert np.array_equal(rot.log(np.asfortranarray(many)), rot.log(many))
    assert np.array_equal(rot.multiply(many[::-1], many), in_pieces(rot.multiply, many[::-1], many))
    frozen = many.copy()
    frozen.flags.writeable = False
    assert np.array_equal(rot.multiply(frozen, frozen), rot.multiply(many, many))
    with pytest.raises(ValueError, match="broadcast"):
        rot.multiply(many, many[:-1])


def test_kernels_agree_with_scipy(many):
    assert same_rotation(
        rot.multiply(many, many[::-1]),
        (scipy_rotation(many) * scipy_rotation(many[::-1])).as_quat(scalar_first=True),
        1e-15,
    )
    logs = rot.log(many[8:])
    assert np.abs(logs - scipy_rotation(many[8:]).as_rotvec()).max() < 2e-15
    assert same_rotation(rot.exp(logs), many[8:], 1e-15)


def test_importing_and_small_arrays_do_not_load_numba_or_scipy():
    code = (
        "import sys, marey\n"
        "rot = marey.geometry.rotations\n"
        "marey.geometry.rigid, marey.body.kinematics\n"
        "rot.log(rot.multiply(rot.random(100, rng=0), rot.identity()))\n"
        "assert not {'numba', 'scipy'} & set(sys.modules), 'heavy import'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_kernels_compile_where_compiled_code_cannot_be_kept():
    from marey._compiling import njit

    scope: dict[str, object] = {}
    # numba finds no folder beside a function that comes from no file.
    exec(compile("def twice(x):\n    return 2.0 * x", "<nowhere>", "exec"), scope)
    assert njit("float64(float64)", cache=True)(scope["twice"])(3.0) == 6.0
