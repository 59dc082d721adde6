"""Rigid transforms form a group; twists and wrenches change frames by the adjoint and its transpose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry.rigid import Rigid, to_matrix

from . import twists as rigid
from .strategies import rotation_vectors, rotations, vectors

transforms = st.builds(Rigid, rotations, vectors(2.0))
twists = st.builds(lambda omega, v: np.concatenate([omega, v]), rotation_vectors, vectors(2.0))


def matrix(g):
    return to_matrix(g)


@given(transforms, transforms)
def test_composition_and_inverse_are_those_of_the_matrices(a, b):
    assert np.abs(matrix(rigid.compose(a, b)) - matrix(a) @ matrix(b)).max() < 1e-14
    assert np.abs(matrix(rigid.inverse(a)) @ matrix(a) - np.eye(4)).max() < 1e-14
    assert np.abs(matrix(rigid.from_matrix(matrix(a))) - matrix(a)).max() < 1e-14


@given(transforms, vectors())
def test_apply_is_the_matrix_on_homogeneous_points(g, point):
    assert np.abs(rigid.apply(g, point) - (matrix(g) @ [*point, 1.0])[:3]).max() < 1e-13


@given(twists)
def test_exp_is_the_matrix_exponential(twist):
    assert np.abs(matrix(rigid.exp(twist)) - expm(rigid.hat(twist))).max() < 2e-14


@given(twists)
def test_log_inverts_exp(twist):
    back = rigid.log(rigid.exp(twist))
    if np.linalg.norm(twist[:3]) > np.pi - 1e-13:  # both ways round are right: the rotation decides
        assert np.abs(matrix(rigid.exp(back)) - matrix(rigid.exp(twist))).max() < 2e-14
    else:
        assert np.abs(back - twist).max() < 2e-14


@given(transforms)
def test_exp_inverts_log_near_zero_and_near_pi(g):
    assert np.abs(matrix(rigid.exp(rigid.log(g))) - matrix(g)).max() < 2e-14


@given(twists)
def test_vee_undoes_hat(twist):
    assert np.array_equal(rigid.vee(rigid.hat(twist)), twist)


@given(transforms, twists)
def test_adjoint_is_conjugation(g, twist):
    conjugated = rigid.vee(matrix(g) @ rigid.hat(twist) @ matrix(rigid.inverse(g)))
    assert np.abs(rigid.adjoint(g) @ twist - conjugated).max() < 1e-14


@given(transforms, transforms)
def test_adjoint_is_a_homomorphism(a, b):
    product = rigid.adjoint(a) @ rigid.adjoint(b)
    assert np.abs(rigid.adjoint(rigid.compose(a, b)) - product).max() < 2e-14
    assert np.abs(rigid.adjoint(rigid.inverse(a)) @ rigid.adjoint(a) - np.eye(6)).max() < 2e-14


@given(transforms, twists, twists)
def test_power_does_not_depend_on_the_frame(g, velocity, wrench):
    """f_s . v_s = f_b . v_b with v_s = Ad_g v_b and f_s = coAd(g^-1) f_b."""
    spatial_velocity = rigid.adjoint(g) @ velocity
    spatial_wrench = rigid.coadjoint(rigid.inverse(g)) @ wrench
    assert abs(spatial_wrench @ spatial_velocity - wrench @ velocity) < 2e-13
    assert np.array_equal(rigid.coadjoint(g), rigid.adjoint(g).T)


def test_frame_change_of_velocities_along_a_motion():
    """c = a b with b fixed: the body velocity of c is Ad(b^-1) times that of a."""
    rng = np.random.default_rng(0)
    a, twist = Rigid(rot.random(rng=rng), rng.standard_normal(3)), rng.standard_normal(6)
    b = Rigid(rot.random(rng=rng), rng.standard_normal(3))
    h = 1e-5
    ahead, behind = (rigid.compose(rigid.compose(a, rigid.exp(s * h * twist)), b) for s in (1.0, -1.0))
    c = rigid.compose(a, b)
    numeric = rigid.vee(matrix(rigid.inverse(c)) @ (matrix(ahead) - matrix(behind)) / (2 * h))
    assert np.abs(numeric - rigid.adjoint(rigid.inverse(b)) @ twist).max() < 1e-9
    spatial = rigid.vee((matrix(ahead) - matrix(behind)) / (2 * h) @ matrix(rigid.inverse(c)))
    assert np.abs(spatial - rigid.adjoint(a) @ twist).max() < 1e-9


def test_a_screw_about_a_shifted_axis():
    """A half turn about the vertical through (1, 0, 0), rising by 2, moves the origin to (2, 2, 0)."""
    twist = np.array([0.0, np.pi, 0.0, 0.0, 2.0, np.pi])
    assert np.abs(rigid.apply(rigid.exp(twist), np.zeros(3)) - [2.0, 2.0, 0.0]).max() < 1e-15


def test_any_leading_shape():
    rng = np.random.default_rng(1)
    g = Rigid(rot.random((5, 2), rng=rng), rng.standard_normal((5, 2, 3)))
    assert rigid.adjoint(g).shape == (5, 2, 6, 6)
    assert rigid.log(g).shape == (5, 2, 6)
    assert np.abs(rigid.log(g)[3, 1] - rigid.log(Rigid(g.rotation[3, 1], g.translation[3, 1]))).max() < 1e-15
    assert rigid.compose(g, rigid.identity()).translation.shape == (5, 2, 3)
    assert matrix(Rigid(rot.identity(), np.zeros((7, 3)))).shape == (7, 4, 4)
    points = rng.standard_normal((5, 2, 3))
    assert np.abs(rigid.apply(rigid.inverse(g), rigid.apply(g, points)) - points).max() < 1e-14


def test_wrong_shapes_are_named():
    with pytest.raises(InputError, match="angular part first"):
        rigid.exp(np.zeros(3))
    with pytest.raises(InputError, match=r"\(\.\.\., 4, 4\)"):
        rigid.from_matrix(np.eye(3))
