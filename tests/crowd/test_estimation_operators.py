"""The mathematics under the estimators: operators, null spaces, solver, linearisation, pyramid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from marey.crowd.capture import divcurl, framing
from marey.crowd.capture.framing import Grey as Plane


def product(field: Plane, weights: Plane) -> Plane:
    """Half the gradient of the regulariser."""
    from marey.crowd.capture import _kernels as kernels

    out = np.empty_like(field)
    (kernels.second_order_product if len(weights) == 3 else kernels.first_order_product)(field, weights, out)
    return out


def fields(shape: tuple[int, int], count: int, seed: int = 0) -> list[Plane]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(2, *shape)).astype(np.float32) for _ in range(count)]


def holed(rows: int, columns: int, seed: int) -> NDArray[np.bool_]:
    return np.random.default_rng(seed).uniform(size=(rows, columns)) > 0.15


@given(st.integers(3, 9), st.integers(3, 9), st.sampled_from([1, 2]), st.integers(0, 99))
@settings(deadline=None, max_examples=30)
def test_the_regularisers_are_symmetric_and_not_negative(
    rows: int, columns: int, order: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = divcurl.open_terms(holed(rows, columns, seed), order)
    weights = weights * rng.uniform(0.1, 3, weights.shape).astype(np.float32)
    a, b = fields((rows, columns), 2, seed)
    crossed = float((a * product(b, weights)).sum())
    assert crossed == pytest.approx(float((b * product(a, weights)).sum()), rel=1e-3, abs=1e-2)
    assert float((a * product(a, weights)).sum()) >= -1e-3


@pytest.mark.parametrize("order", [1, 2])
def test_the_product_is_half_the_gradient_of_the_energy(order: int) -> None:
    weights = divcurl.open_terms(holed(7, 6, 3), order)

    def energy(f: NDArray[np.float64]) -> float:
        if order == 1:
            terms = [np.diff(f, axis=2, append=0), np.diff(f, axis=1, append=0)]
            factors = [1, 1]
        else:
            xx, yy, xy = (np.zeros_like(f) for _ in range(3))
            xx[:, :, 1:-1] = np.diff(f, 2, axis=2)
            yy[:, 1:-1] = np.diff(f, 2, axis=1)
            xy[:, :-1, :-1] = np.diff(np.diff(f, axis=1), axis=2)
            terms, factors = [xx, xy, yy], [1, 2, 1]
        return sum(factor * float((w * t**2).sum()) for w, t, factor in zip(weights, terms, factors))

    base, way = (f.astype(np.float64) for f in fields((7, 6), 2))
    slope = (energy(base + 1e-4 * way) - energy(base - 1e-4 * way)) / 2e-4
    assert slope == pytest.approx(2 * float((way * product(base.astype(np.float32), weights)).sum()), 1e-3)


@pytest.mark.parametrize(("order", "dimension"), [(1, 2), (2, 6)])
def test_only_constant_or_affine_motion_costs_nothing(order: int, dimension: int) -> None:
    weights = divcurl.open_terms(np.ones((8, 8), dtype=bool), order)
    unit = np.eye(128, dtype=np.float32).reshape(128, 2, 8, 8)
    matrix = np.stack([product(one, weights).ravel() for one in unit])
    assert int((np.linalg.eigvalsh(matrix.astype(np.float64)) < 1e-5).sum()) == dimension


def test_second_differences_are_the_gradients_of_divergence_and_curl_inside() -> None:
    y, x = np.mgrid[:40, :40].astype(np.float64)
    envelope = np.exp(-((x - 20) ** 2 + (y - 20) ** 2) / 60)
    field = np.stack([envelope * np.sin(0.2 * x), envelope * np.cos(0.15 * y + 0.1 * x)]).astype(np.float32)
    hessian = float((field * product(field, divcurl.open_terms(np.ones((40, 40), bool), 2))).sum())
    u_y, u_x = np.gradient(field[0].astype(np.float64))
    v_y, v_x = np.gradient(field[1].astype(np.float64))
    squares = sum((np.stack(np.gradient(part)) ** 2).sum() for part in (u_x + v_y, v_x - u_y))
    assert hessian == pytest.approx(float(squares), rel=0.1)


def test_no_term_crosses_a_mask() -> None:
    mask = np.ones((9, 9), dtype=bool)
    mask[:, 4] = False
    weights = divcurl.open_terms(mask, 2)
    field = np.zeros((2, 9, 9), dtype=np.float32)
    field[:, :, 5:] = 3.0
    field[:, :, 4] = 100.0
    assert not product(field, weights).any()


@pytest.mark.parametrize("order", [1, 2])
def test_conjugate_gradients_solve_what_a_dense_solver_does(order: int) -> None:
    from marey.crowd.capture._kernels import conjugate_gradients

    rng = np.random.default_rng(4)
    weights = 5 * divcurl.open_terms(holed(8, 8, 1), order)
    slopes = rng.normal(size=(2, 8, 8)).astype(np.float32)
    data = np.stack([slopes[0] ** 2 + 0.1, slopes[0] * slopes[1], slopes[1] ** 2 + 0.1]).astype(np.float32)
    right = fields((8, 8), 1)[0]
    unit = np.eye(128, dtype=np.float32).reshape(128, 2, 8, 8)
    blocks = np.stack(
        [data[0] * unit[:, 0] + data[1] * unit[:, 1], data[1] * unit[:, 0] + data[2] * unit[:, 1]], 1
    )
    matrix = (blocks + np.stack([product(one, weights) for one in unit])).reshape(128, 128)
    found = np.zeros_like(right)
    made, left = conjugate_gradients(data, right, weights, found, order, 400, 1e-6)
    assert made < 400
    assert left < 1e-6
    np.testing.assert_allclose(found.ravel(), np.linalg.solve(matrix.astype(float), right.ravel()), atol=2e-3)


def test_the_linearised_residual_is_the_derivative_of_the_warped_one() -> None:
    y, x = np.mgrid[:30, :40].astype(np.float64)

    def picture(shift: float) -> Plane:
        return (100 + 40 * np.sin((x - shift) / 4) * np.cos(y / 5)).astype(np.float32)

    first = picture(0)[None]
    second = picture(0.5)[None]
    here = np.zeros((2, 30, 40), dtype=np.float32)
    here[0] = 0.4
    term = divcurl.linearised(first, second, here, None, penalty="quadratic")
    there = here.copy()
    there[0] += 0.1
    residual = term.constants + (term.slopes * there).sum(axis=1)
    assert np.abs(residual[:, 5:-5, 5:-5]).max() < 0.03 * np.abs(term.slopes).max()
    matrices, right = term.system(here)
    wanted = np.einsum("kirc,kjrc->ijrc", term.slopes, term.slopes)
    np.testing.assert_allclose(matrices[1, 5:-5, 5:-5], wanted[0, 1, 5:-5, 5:-5], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        right[0, :, :-1], -(term.slopes[:, 0] * term.constants).sum(0)[:, :-1], rtol=1e-3, atol=1e-2
    )


def test_warping_by_whole_pixels_is_exact_and_knows_the_border() -> None:
    from marey.crowd.capture._kernels import warp

    picture = np.random.default_rng(0).normal(size=(1, 9, 11)).astype(np.float32)
    field = np.zeros((2, 9, 11), dtype=np.float32)
    field[0], field[1] = 2.0, -1.0
    out, inside = np.empty_like(picture), np.empty((9, 11), dtype=np.float32)
    warp(picture, field, out, inside)
    np.testing.assert_array_equal(out[0, 1:, :-2], picture[0, :-1, 2:])
    assert inside[1:, :-2].all()
    assert not inside[0].any()
    assert not inside[:, -2:].any()


def test_filling_leaves_what_is_known_and_stays_within_its_range() -> None:
    picture = np.random.default_rng(0).uniform(10, 20, size=(40, 50)).astype(np.float32)
    mask = np.ones((40, 50), dtype=bool)
    mask[5:35, 10:40] = False
    full = framing.filled(picture, mask)
    np.testing.assert_array_equal(full[mask], picture[mask])
    assert 10 <= full.min() <= full.max() <= 20


def test_two_images_moved_apart_meet_in_the_middle() -> None:
    from marey.crowd.capture._kernels import meet, normal_equations

    y, x = np.mgrid[:30, :40].astype(np.float32)
    first, last = (np.sin((x - 1.5 * side) / 4) + np.cos(y / 5) for side in (-1, 1))
    weights = np.ones((2, 30, 40), np.float32)
    weights[1, :, 20:] = 0.25
    mean, apart, trust = np.empty((3, 30, 40), np.float32)
    # Three frames apart at a pixel a frame.
    field = np.stack([np.ones_like(x), np.zeros_like(x)])
    meet(first, last, *weights, field, np.float32(1.5), mean, apart, trust)
    inner = (slice(2, -2), slice(3, -3))
    np.testing.assert_allclose(mean[inner], (np.sin(x / 4) + np.cos(y / 5))[inner], atol=0.02)
    np.testing.assert_allclose(apart[inner], 0, atol=0.02)
    assert trust[5, 5] == 1.0 and trust[5, 30] == 0.25 and trust[5, 0] == trust[5, -1] == 0.0
    sums = np.zeros((5, 15, 20), np.float32)
    normal_equations(mean, apart, trust, np.float32(3), np.float32(0), 2, sums)
    slopes = 1.5 * (mean[10:12, 11:13] - mean[10:12, 9:11])
    assert sums[0, 5, 5] == pytest.approx(float((slopes**2).sum()), rel=1e-4)
