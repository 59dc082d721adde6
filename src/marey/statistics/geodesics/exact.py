"""Exact principal geodesics: true projections, directions by three schemes, coordinates of the second kind.

The linearised analysis measures distances in the tangent space at the mean. Here they are those of the
rotations (Tournier 2011, section 8.1.1): samples are projected on geodesics and geodesic submanifolds by
Newton's method, and directions are improved so that the projections vary most, or that they are nearest to
the samples, or, by deflation, so that each geodesic is nearest to what the ones before have left. On captured
motion the gain is small (the linearised directions are within a percent in error); the projection is the
useful part, for poses far from the mean. Cost: some ten projections of all samples a direction, each a few
logarithms a joint.

    second kind: mean exp(λ_1 v_1) exp(λ_2 v_2) … exp(λ_k v_k)
    first kind:  mean exp(λ_1 v_1 + … + λ_k v_k), which is `PrincipalGeodesics.decode`

agree when one coordinate alone is not zero. With the coordinates of the tangent projection the product does
*not* lead back to the data, however many modes there are, since turns do not commute; encode by
:func:`encode_second_kind` or :func:`deflate`. The first kind is the default everywhere: it inverts its
projection, and costs one exponential a joint where the product costs one a joint and mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.matrices import dexp_body, dexp_body_inverse, inverse_second
from marey.statistics.geodesics.linear import PrincipalGeodesics, principal_axes

Map = Callable[[Array], Array]
SCHEMES = ("variance", "error", "deflation")


def project(
    geodesics: PrincipalGeodesics, rotations: ArrayLike, *, weights: ArrayLike | None = None
) -> Array:
    """Coordinates `(samples, modes)` of the points of the geodesic submanifold nearest to the samples.

    Args:
        rotations: `(samples, joints, 4)`.
        weights: `(joints,)`, of squared angles, in which to measure the distance; None = canonical.

    >>> turns = so3.exp(np.linspace(-1, 1, 9)[:, None, None] * [[0, 0, 0.5], [0.2, 0, 0]])
    >>> from marey.statistics.geodesics.linear import principal_geodesics
    >>> found = principal_geodesics(turns, modes=1)
    >>> np.allclose(project(found, turns), found.encode(turns))
    True
    """
    samples = np.asarray(rotations, dtype=np.float64)
    return nearest_coordinates(
        samples,
        PrincipalGeodesics.encode(geodesics, samples),
        geodesics.decode,
        geodesics.jacobian,
        _joint_weights(weights, len(geodesics.mean)),
    )


def project_on_geodesic(
    rotations: ArrayLike, direction: ArrayLike, *, weights: ArrayLike | None = None, most: int = 30
) -> Array:
    """Steps α `(samples,)` at which `exp(α v)` is nearest to the samples.

    Args:
        rotations: `(samples, joints, 4)`, about the identity.
        direction: v, `(joints, 3)`.
        weights: `(joints,)`, of squared angles; None = canonical.

    >>> quarter = so3.exp([[[0.0, 0.0, np.pi / 2]]])
    >>> project_on_geodesic(quarter, [[0.0, 0.0, 0.5]]).round(9)
    array([3.14159265])
    """
    samples = np.asarray(rotations, dtype=np.float64)
    v = np.asarray(direction, dtype=np.float64)
    weight = _joint_weights(weights, len(v))
    square = float((weight * (v**2).sum(axis=-1)).sum())
    if square <= 0.0:
        return np.zeros(len(samples))
    alpha = np.einsum("mji,ji,j->m", so3.log(samples), v, weight) / square
    u, cost = _from_geodesic(samples, alpha, v, weight)
    reach, active = np.ones(len(alpha)), np.arange(len(alpha))
    for _ in range(most):
        slope = np.einsum("mji,ji,j->m", u[active], v, weight)
        # v · dexp⁻¹(u) v = |v|² - d |u × v|²; never less than a tenth of its value in flat space.
        bend = inverse_second((u[active] ** 2).sum(axis=-1)) * (np.cross(u[active], v) ** 2).sum(axis=-1)
        curve = np.maximum(square - bend @ weight, 0.1 * square)
        step = reach[active] * slope / curve
        trial = alpha[active] - step
        new, new_cost = _from_geodesic(samples[active], trial, v, weight)
        better = new_cost <= cost[active]
        taken = active[better]
        alpha[taken], u[taken], cost[taken] = trial[better], new[better], new_cost[better]
        reach[active] = np.where(better, 1.0, 0.5 * reach[active])
        size = np.abs(step) * np.sqrt(square)
        active = active[np.where(better, size > 1e-12, reach[active] > 1e-6)]
        if not active.size:
            break
    return np.asarray(alpha)


def refine(
    rotations: ArrayLike,
    start: PrincipalGeodesics,
    *,
    scheme: str = "error",
    weights: ArrayLike | None = None,
    most: int = 10,
) -> PrincipalGeodesics:
    """Exact directions from linearised ones, one after the other, with the ones before held.

    Args:
        scheme: "variance" makes the projections vary most, "error" brings them nearest to the samples; both
            keep directions orthonormal in the metric. "deflation" projects on single geodesics and goes on
            with what is left, `exp(-α v) x`: its directions are for coordinates of the second kind.
        weights: `(joints,)`, the metric that `start` was found in; None = canonical.
        most: Steps a direction.

    The variances are those of the exact coordinates, the spectrum stays that of the linearised analysis:
    its sum, the whole variance, is the same.
    """
    samples = np.asarray(rotations, dtype=np.float64)
    weight = _joint_weights(weights, len(start.mean))
    if scheme == "deflation":
        directions, variances = _deflated(samples, start, weight, most)
    elif scheme in SCHEMES:
        directions, variances = _nested(samples, start, weight, scheme, most)
    else:
        raise InputError(f"scheme {scheme!r}: one of {', '.join(SCHEMES)}")
    return replace(start, directions=directions, duals=directions * weight[:, None], variances=variances)


def decode_second_kind(geodesics: PrincipalGeodesics, coordinates: ArrayLike) -> Array:
    """Rotations `(..., joints, 4)` of coordinates `(..., modes)` of the second kind.

    >>> turns = so3.exp(np.linspace(-1, 1, 9)[:, None, None] * [[0, 0, 0.5], [0.2, 0, 0]])
    >>> from marey.statistics.geodesics.linear import principal_geodesics
    >>> found = principal_geodesics(turns, modes=1)
    >>> np.allclose(decode_second_kind(found, found.encode(turns)), turns)
    True
    """
    values = np.asarray(coordinates, dtype=np.float64)
    turned = np.broadcast_to(geodesics.mean, (*values.shape[:-1], *geodesics.mean.shape))
    for mode in range(geodesics.modes):
        turned = so3.multiply(turned, _factor(geodesics, values, mode))
    return np.array(turned)


def jacobian_second_kind(geodesics: PrincipalGeodesics, coordinates: ArrayLike) -> Array:
    """Body velocities `R_jᵀ ∂R_j/∂λ_i` `(..., modes, joints, 3)` of :func:`decode_second_kind`.

    With S the product of the factors after the i-th it is `Sᵀ v_i` (equation 8.12, corrected: it
    prints the factors before).
    """
    values = np.asarray(coordinates, dtype=np.float64)
    leading = values.shape[:-1]
    columns = np.empty((*leading, *geodesics.directions.shape))
    after = so3.identity((*leading, len(geodesics.mean)))
    for mode in range(geodesics.modes - 1, -1, -1):
        columns[..., mode, :, :] = so3.rotate(so3.inverse(after), geodesics.directions[mode])
        after = so3.multiply(_factor(geodesics, values, mode), after)
    return columns


def deflate(
    geodesics: PrincipalGeodesics, rotations: ArrayLike, *, weights: ArrayLike | None = None
) -> Array:
    """Coordinates `(samples, modes)` of rotations `(samples, joints, 4)`, one geodesic after the other.

    Each coordinate is the exact projection of what the ones before have left. Not the nearest in all
    coordinates together, but never worse with one mode more.

    Args:
        weights: `(joints,)`, of squared angles; None = canonical.
    """
    left = so3.multiply(so3.inverse(geodesics.mean), rotations)
    found = np.empty((len(left), geodesics.modes))
    for mode, direction in enumerate(geodesics.directions):
        found[:, mode] = project_on_geodesic(left, direction, weights=weights)
        left = so3.multiply(so3.inverse(_factor(geodesics, found, mode)), left)
    return found


def encode_second_kind(
    geodesics: PrincipalGeodesics, rotations: ArrayLike, *, weights: ArrayLike | None = None
) -> Array:
    """Coordinates `(samples, modes)` whose product is nearest to rotations `(samples, joints, 4)`.

    Gauss–Newton from the deflated coordinates, all of them together.
    """
    samples = np.asarray(rotations, dtype=np.float64)
    return nearest_coordinates(
        samples,
        deflate(geodesics, samples, weights=weights),
        lambda values: decode_second_kind(geodesics, values),
        lambda values: jacobian_second_kind(geodesics, values),
        _joint_weights(weights, len(geodesics.mean)),
    )


def nearest_coordinates(
    rotations: Array, start: Array, decode: Map, jacobian: Map, weights: Array, *, most: int = 30
) -> Array:
    """Coordinates `(samples, modes)` that minimise the weighted squared distance to `(samples, joints, 4)`.

    Levenberg–Marquardt: the residual of a joint is `u = log(x⁻¹ f(λ))` and changes by `dexp_b⁻¹(u) ω`, with ω
    the body velocities of the map f. Every sample has its own step and stops by itself. Cost a step and
    sample: one logarithm a joint and a (modes × 3 joints) product.

    Args:
        start: `(samples, modes)`.
        decode: From coordinates to rotations.
        jacobian: From coordinates to body velocities `(samples, modes, joints, 3)`.
        weights: `(joints,)`, of squared angles.
    """
    found = np.array(start, dtype=np.float64)
    if not found.shape[1]:
        return found
    # So many samples at a time bound the memory.
    for begin in range(0, len(found), 512):
        here = slice(begin, begin + 512)
        found[here] = _solved(rotations[here], found[here], decode, jacobian, weights, most)
    return found


class _State(NamedTuple):
    """A direction tried: coordinates `(samples, modes)`, the value to make small, its slope `(joints, 3)`."""

    coordinates: Array
    value: float
    slope: Array


def _nested(
    samples: Array, start: PrincipalGeodesics, weight: Array, scheme: str, most: int
) -> tuple[Array, Array]:
    """Directions by maximal variance or least error, each at right angles to the ones before."""
    kept = np.empty((0, *start.mean.shape[:1], 3))
    coordinates = np.empty((len(samples), 0))
    for direction in start.directions:
        before = kept

        def tried(v: Array, guess: Array, before: Array = before) -> _State:
            trial = _with_directions(start, np.concatenate([before, v[None]]), weight)
            found = nearest_coordinates(samples, guess, trial.decode, trial.jacobian, weight)
            return _objective(samples, trial, found, weight, scheme)

        first = _unit(_square(direction, before, weight), weight)
        alone = np.einsum("mji,ji,j->m", start.logarithms(samples), first, weight)
        state = tried(first, np.column_stack([coordinates, alone]))
        v, state = _descended(first, state, tried, before, weight, most)
        kept, coordinates = np.concatenate([before, v[None]]), state.coordinates
    return kept, (coordinates**2).mean(axis=0)


def _deflated(samples: Array, start: PrincipalGeodesics, weight: Array, most: int) -> tuple[Array, Array]:
    """Directions by deflation, and the mean squares of the steps along them."""
    left = so3.multiply(so3.inverse(start.mean), samples)
    joints = len(start.mean)
    nothing = np.empty((0, joints, 3))
    directions, variances = [], []
    for _ in range(start.modes):

        def tried(v: Array, guess: Array, left: Array = left) -> _State:
            alpha = project_on_geodesic(left, v, weights=weight)
            u, cost = _from_geodesic(left, alpha, v, weight)
            # dexp_bᵀ = dexp_s, at α v.
            pulled = np.einsum("mjba,mjb->mja", dexp_body(alpha[:, None, None] * v), u)
            slope = np.einsum("m,mja->ja", alpha, pulled)
            return _State(alpha[:, None], 0.5 * float(cost.sum()), slope)

        logs = so3.log(left).reshape(len(left), -1)
        axes = principal_axes(logs.T @ logs / len(left), np.repeat(weight, 3))
        first = axes.directions[0].reshape(joints, 3)
        v, state = _descended(first, tried(first, np.empty(0)), tried, nothing, weight, most)
        alpha = state.coordinates[:, 0]
        left = so3.multiply(so3.exp(-alpha[:, None, None] * v), left)
        directions.append(v)
        variances.append(float((alpha**2).mean()))
    return np.array(directions).reshape(-1, joints, 3), np.array(variances)


def _descended(
    v: Array,
    state: _State,
    tried: Callable[[Array, Array], _State],
    before: Array,
    weight: Array,
    most: int,
) -> tuple[Array, _State]:
    """The direction improved by steps that are exact in flat space, shortened while they do not help."""
    for _ in range(most):
        strength = float((state.coordinates[:, -1] ** 2).sum())
        step = _square(_square(state.slope, before, weight), v[None], weight)
        if strength <= 0.0 or not np.any(step):
            break
        length, better = 1.0, None
        while better is None and length > 0.05:
            trial = _unit(_square(v - length * step / strength, before, weight), weight)
            there = tried(trial, state.coordinates)
            if there.value < state.value:
                better = trial, there
            length *= 0.3
        if better is None:
            break
        gain = (state.value - better[1].value) / max(abs(state.value), 1e-300)
        v, state = better
        if gain < 1e-7:
            break
    return v, state


def _objective(samples: Array, trial: PrincipalGeodesics, found: Array, weight: Array, scheme: str) -> _State:
    """Half the summed squared error, or minus half the variance, and its slope along the last direction."""
    tangent = trial.tangent(found)
    u = so3.log(so3.multiply(so3.inverse(samples), trial.decode(found)))
    turn = dexp_body(tangent)
    pulled = np.einsum("mjba,mjb->mja", turn, u)
    last = found[:, -1]
    if scheme == "error":
        value = 0.5 * float(np.einsum("mji,mji,j", u, u, weight))
        return _State(found, value, np.einsum("m,mja->ja", last, pulled))
    # The coordinates depend on the direction through the projection's own equations.
    inner = dexp_body_inverse(u) @ turn
    curve = np.swapaxes(inner, -1, -2) @ inner
    moved = np.einsum("mjab,kjb->mkja", curve, trial.directions, optimize=True)
    hessian = np.einsum("kja,mlja,j->mkl", trial.directions, moved, weight, optimize=True)
    adjoint = np.linalg.solve(hessian, found[..., None])[..., 0]
    slope = np.einsum("m,mja->ja", adjoint[:, -1], pulled)
    slope += np.einsum("m,mk,mkja->ja", last, adjoint, moved, optimize=True)
    return _State(found, -0.5 * float((found**2).sum()), slope)


def _from_geodesic(samples: Array, alpha: Array, v: Array, weight: Array) -> tuple[Array, Array]:
    """Logarithms from samples to `exp(α v)`, `(samples, joints, 3)`, and their weighted squares."""
    u = so3.log(so3.multiply(so3.inverse(samples), so3.exp(alpha[:, None, None] * v)))
    return u, np.asarray(np.einsum("mji,mji,j->m", u, u, weight))


def _with_directions(start: PrincipalGeodesics, directions: Array, weight: Array) -> PrincipalGeodesics:
    return replace(
        start,
        directions=directions,
        duals=directions * weight[:, None],
        variances=np.zeros(len(directions)),
    )


def _square(v: Array, others: Array, weight: Array) -> Array:
    """`v` without its parts along the orthonormal `others` `(n, joints, 3)`."""
    along = np.einsum("ji,nji,j->n", v, others, weight)
    return np.asarray(v - np.einsum("n,nji->ji", along, others))


def _unit(v: Array, weight: Array) -> Array:
    return np.asarray(v / np.sqrt((weight[:, None] * v**2).sum()))


def _factor(geodesics: PrincipalGeodesics, coordinates: Array, mode: int) -> Array:
    """exp(λ_i v_i), `(..., joints, 4)`."""
    return so3.exp(coordinates[..., mode, None, None] * geodesics.directions[mode])


def _joint_weights(weights: ArrayLike | None, joints: int) -> Array:
    """A weight a joint for its squared angle, `(joints,)`, above 0; ones if None."""
    if weights is None:
        return np.ones(joints)
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (joints,) or not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError(f"weights: {joints} numbers above 0, one a joint")
    return found


def _solved(rotations: Array, start: Array, decode: Map, jacobian: Map, weights: Array, most: int) -> Array:
    found, modes = start.copy(), start.shape[1]
    residual = _residual(rotations, decode(found))
    cost = _cost(residual, weights)
    damping = np.full(len(found), 1e-6)
    active = np.arange(len(found))
    for _ in range(most):
        if not active.size:
            break
        u = residual[active]
        slope = np.einsum("mjab,mkjb->mkja", dexp_body_inverse(u), jacobian(found[active]), optimize=True)
        rows = slope.reshape(len(active), modes, -1) * np.sqrt(np.repeat(weights, 3))
        weighted = (u * np.sqrt(weights)[:, None]).reshape(len(active), -1, 1)
        hessian, gradient = rows @ np.swapaxes(rows, 1, 2), rows @ weighted
        diagonal = np.einsum("mkk->mk", hessian)
        floor = 1e-12 * diagonal.sum(axis=1, keepdims=True) + 1e-300
        hessian[:, np.arange(modes), np.arange(modes)] += damping[active, None] * (diagonal + floor) + floor
        trial = found[active] - np.linalg.solve(hessian, gradient)[..., 0]
        new = _residual(rotations[active], decode(trial))
        new_cost = _cost(new, weights)
        better = new_cost <= cost[active]
        gain = cost[active] - new_cost
        taken = active[better]
        found[taken], residual[taken], cost[taken] = trial[better], new[better], new_cost[better]
        damping[active] *= np.where(better, 0.1, 10.0)
        going = np.where(better, gain > 1e-12 * (new_cost + 1e-15), damping[active] < 1e4)
        active = active[going]
    return found


def _residual(rotations: Array, decoded: Array) -> Array:
    return so3.log(so3.multiply(so3.inverse(rotations), decoded))


def _cost(residual: Array, weights: Array) -> Array:
    return np.asarray(np.einsum("mji,mji,j->m", residual, residual, weights))
