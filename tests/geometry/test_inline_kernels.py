"""Claims about the compiled quaternions: what `rotations` and `matrices` give, one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from marey.geometry import _inline_kernels as kernels
from marey.geometry import matrices, rotations

VECTORS = np.concatenate([
    np.random.default_rng(0).normal(size=(40, 3)),
    np.array([[0.0, 0.0, 0.0], [1e-9, 0.0, 0.0], [0.0, 1e-4, 0.0], [0.004, 0.003, 0.0], [0.0, 0.0, 3.1]]),
])  # fmt: skip
QUATERNIONS = rotations.exp(VECTORS)
PAIRS = list(zip(QUATERNIONS, np.roll(QUATERNIONS, 1, axis=0), VECTORS, strict=True))


def close(found: ArrayLike, expected: ArrayLike) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("a", "b", "v"), PAIRS)
def test_tuples_give_what_arrays_give(a: np.ndarray, b: np.ndarray, v: np.ndarray) -> None:
    p, q, w = kernels.quaternion(a), kernels.quaternion(b), kernels.vector(v)
    close(kernels.product(p, q), rotations.multiply(a, b))
    close(kernels.conjugate(p), rotations.inverse(a))
    close(kernels.rotate(p, w), rotations.rotate(a, v))
    close(kernels.exp(w), rotations.exp(v))
    close(kernels.log(p), rotations.log(a))
    close(kernels.log((-p[0], -p[1], -p[2], -p[3])), rotations.log(a))
    close(kernels.log_between(p, q), rotations.log(rotations.multiply(rotations.inverse(a), b)))
    close(kernels.turn(p, w), rotations.multiply(a, rotations.exp(v)))
    close(kernels.matrix(p), matrices.to_matrix(a))
    close(kernels.about_y(w[1]), rotations.exp([0.0, v[1], 0.0]))
    close(
        kernels.matrix_product(kernels.matrix(p), kernels.matrix(q)),
        matrices.to_matrix(a) @ matrices.to_matrix(b),
    )


@pytest.mark.parametrize("q", QUATERNIONS)
def test_a_matrix_turns_back_into_its_quaternion(q: np.ndarray) -> None:
    found = np.array(kernels.from_matrix(kernels.matrix(kernels.quaternion(q))))
    np.testing.assert_allclose(found * np.sign(found @ q), q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("v", VECTORS)
def test_differentials_are_those_of_tangent(v: np.ndarray) -> None:
    w = kernels.vector(v)
    close(kernels.exp_and_factors(w)[0], rotations.exp(v))
    np.testing.assert_allclose(kernels.dexp_inverse(w), matrices.dexp_body_inverse(v), rtol=0, atol=1e-11)


def test_stored_tuples_fill_the_first_numbers_of_a_row() -> None:
    row = np.zeros(4)
    kernels.store((1.0, 2.0, 3.0), row)
    assert row.tolist() == [1.0, 2.0, 3.0, 0.0]
    kernels.store(kernels.normalise((0.0, 0.0, 0.0, 2.0)), row)
    assert row.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_cholesky_solves_and_refuses_what_is_not_positive() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(7, 5))
    H, b = A.T @ A, rng.normal(size=5)
    expected = np.linalg.solve(H, b)
    assert kernels.cholesky_solve(np.tril(H), 5, b)
    np.testing.assert_allclose(b, expected, rtol=1e-10)
    assert not kernels.cholesky_solve(-np.eye(3), 3, np.ones(3))


def test_a_heap_gives_its_entries_in_the_order_of_key_and_tie() -> None:
    rng = np.random.default_rng(2)
    entries = [(float(rng.integers(6)), int(rng.integers(4)), n) for n in range(60)]
    keys, items, size = np.empty(60), np.empty((60, 2), np.int64), 0
    for key, tie, item in entries:
        size = kernels.heap_push(keys, items, size, key, tie, item)
    taken = []
    while size:
        item, size = kernels.heap_pop(keys, items, size)
        taken.append(entries[item][:2])
    assert taken == sorted(entry[:2] for entry in entries)


@pytest.mark.parametrize(
    ("place", "cell"), [(-1.0, (0, 0.0)), (1.25, (1, 0.25)), (9.0, (2, 1.0)), (np.nan, (0, 0.0))]
)
def test_a_place_lies_between_two_nodes_of_its_row(place: float, cell: tuple[int, float]) -> None:
    assert kernels.grid_cell(place, 4) == cell
    assert kernels.grid_cell(place, 1) == (0, 0.0)
