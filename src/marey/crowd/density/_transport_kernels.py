"""Compiled transport of densities through the faces between free cells, its tangent and its transpose.

Cells are listed, faces by the cells on either side of them and the next ones beyond (-1 for none). For each
population k with its directions V, with P the sum of all densities:

    m = α [max(1 - a P, 0) V - b ∂P]      at faces, with ∂P S / P where P is above S; limited in size
    r = z - M v                           at cells, v the average of m over faces and populations
    u = m + average of the cells' G r     at faces: the velocity corrected by what was observed
    ρ' = ρ - dt [div(ρ u) - div(δ ∇ρ)]    (conserved), or ρ' = ρ - dt [u · ∇ρ - δ Δρ] (not)

Upwind values get half a limited slope, less what leaves in the step: second order in space and time where
the density is smooth. What is not conserved does not change through the edge of the ground. Importing this
module imports numba: do so inside functions.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array, Integers
from marey._compiling import OPTIONS, njit

LEFT, RIGHT, FAR_LEFT, FAR_RIGHT, AXIS = 0, 1, 2, 3, 4
ALPHA, CROWDING, PRESSURE, DIFFUSION, STIFF = 0, 1, 2, 3, 4
# Density below which populations share what is observed equally.
FLOOR = 1e-3


@njit(**OPTIONS)
def _slope(a: float, b: float) -> tuple[float, float, float]:
    """A slope between the differences on either side (van Albada), 0 at extrema, and its derivatives."""
    if a * b <= 0.0:
        return 0.0, 0.0, 0.0
    size = a * a + b * b
    value = a * b * (a + b) / size
    return (
        value,
        (b * (2.0 * a + b) - 2.0 * a * value) / size,
        (a * (2.0 * b + a) - 2.0 * b * value) / size,
    )


@njit(**OPTIONS)
def _flux(
    density: Array, face: Integers, u: float, ratio: float
) -> tuple[float, float, float, float, float, float]:
    """Flux through a face and its derivatives by the velocity and by the densities of its four cells.

    Args:
        density: `(cells,)`.
        face: Its four cells.
        u: Velocity.
        ratio: Time step over spacing.
    """
    here = face[LEFT] if u > 0.0 else face[RIGHT]
    if here < 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    there = face[RIGHT] if u > 0.0 else face[LEFT]
    behind = face[FAR_LEFT] if u > 0.0 else face[FAR_RIGHT]
    slope, by_back, by_front = 0.0, 0.0, 0.0
    if there >= 0 and behind >= 0:
        slope, by_back, by_front = _slope(density[here] - density[behind], density[there] - density[here])
    size = abs(u) * ratio
    half = 0.5 * (1.0 - size)
    value = density[here] + half * slope
    by_here, by_there, by_behind = 1.0 + half * (by_back - by_front), half * by_front, -half * by_back
    by_u = value - 0.5 * size * slope
    if u > 0.0:
        return u * value, by_u, u * by_here, u * by_there, u * by_behind, 0.0
    return u * value, by_u, u * by_there, u * by_here, 0.0, u * by_behind


@njit(**OPTIONS)
def _face_law(
    total: Array, face: Integers, numbers: Array, spacing: float
) -> tuple[float, float, float, float, float]:
    """max(1 - a P, 0) at a face and its derivative by P; ∂P min(1, S / P), its derivatives by ∂P and P."""
    left, right = face[LEFT], face[RIGHT]
    if left >= 0 and right >= 0:
        mean, slope = 0.5 * (total[left] + total[right]), (total[right] - total[left]) / spacing
    else:
        mean, slope = total[max(left, right)], 0.0
    share, by_mean = 1.0, 0.0
    if mean > numbers[STIFF]:
        share = numbers[STIFF] / mean
        by_mean = -slope * share / mean
    room = 1.0 - numbers[CROWDING] * mean
    if room > 0.0:
        return room, -numbers[CROWDING], slope * share, share, by_mean
    return 0.0, 0.0, slope * share, share, by_mean


@njit(**OPTIONS)
def velocities(
    density: Array,
    faces: Integers,
    around: Integers,
    directions: Array,
    numbers: Array,
    spacing: float,
    operator: Array,
    values: Array,
) -> tuple[Array, Array, Array]:
    """Total density `(cells,)`, the law's velocities `(populations, faces)`, residuals r `(cells, 2)`."""
    populations, cells = density.shape
    total = np.zeros(cells)
    for k in range(populations):
        for c in range(cells):
            total[c] += density[k, c]
    law = np.empty((populations, len(faces)))
    for f in range(len(faces)):
        room, _, slope, _, _ = _face_law(total, faces[f], numbers, spacing)
        for k in range(populations):
            law[k, f] = numbers[ALPHA] * (room * directions[k, f] - numbers[PRESSURE] * slope)
    residual = np.empty((cells, 2))
    for c in range(cells):
        u, v = 0.0, 0.0
        weights = 0.0
        for k in range(populations):
            weights += max(density[k, c], 0.0) + FLOOR
        for k in range(populations):
            share = 0.5 * (max(density[k, c], 0.0) + FLOOR) / weights
            for side in range(4):
                f = around[c, side]
                if f >= 0:
                    if side < 2:
                        u += share * law[k, f]
                    else:
                        v += share * law[k, f]
        residual[c, 0] = values[c, 0] - operator[c, 0, 0] * u - operator[c, 0, 1] * v
        residual[c, 1] = values[c, 1] - operator[c, 1, 0] * u - operator[c, 1, 1] * v
    return total, law, residual


@njit(**OPTIONS)
def velocities_tangent(
    density: Array,
    total: Array,
    law: Array,
    faces: Integers,
    around: Integers,
    directions: Array,
    numbers: Array,
    spacing: float,
    operator: Array,
    moved_density: Array,
    moved_numbers: Array,
) -> tuple[Array, Array]:
    """How `law` and `residual` of :func:`velocities` change with the densities and the numbers."""
    populations, cells = density.shape
    moved_total = np.zeros(cells)
    for k in range(populations):
        for c in range(cells):
            moved_total[c] += moved_density[k, c]
    moved_law = np.empty_like(law)
    for f in range(len(faces)):
        room, by_total, slope, by_slope, by_mean = _face_law(total, faces[f], numbers, spacing)
        left, right = faces[f, LEFT], faces[f, RIGHT]
        if left >= 0 and right >= 0:
            mean = 0.5 * (total[left] + total[right])
            moved_mean = 0.5 * (moved_total[left] + moved_total[right])
            moved_slope = (moved_total[right] - moved_total[left]) / spacing
        else:
            mean, moved_mean, moved_slope = total[max(left, right)], moved_total[max(left, right)], 0.0
        moved_room = by_total * moved_mean - (mean * moved_numbers[CROWDING] if room > 0.0 else 0.0)
        moved_slope = by_slope * moved_slope + by_mean * moved_mean
        push = numbers[PRESSURE] * moved_slope + moved_numbers[PRESSURE] * slope
        for k in range(populations):
            value = room * directions[k, f] - numbers[PRESSURE] * slope
            change = moved_room * directions[k, f] - push
            moved_law[k, f] = numbers[ALPHA] * change + moved_numbers[ALPHA] * value
    moved_residual = np.empty((cells, 2))
    for c in range(cells):
        mean_u, mean_v, weights, moved_weights = 0.0, 0.0, 0.0, 0.0
        change_u, change_v = 0.0, 0.0
        for k in range(populations):
            weights += max(density[k, c], 0.0) + FLOOR
        for k in range(populations):
            share = 0.5 * (max(density[k, c], 0.0) + FLOOR) / weights
            moved_share = 0.5 * moved_density[k, c] / weights if density[k, c] > 0.0 else 0.0
            moved_weights += 2.0 * moved_share
            for side in range(4):
                f = around[c, side]
                if f >= 0:
                    if side < 2:
                        mean_u += share * law[k, f]
                        change_u += share * moved_law[k, f] + moved_share * law[k, f]
                    else:
                        mean_v += share * law[k, f]
                        change_v += share * moved_law[k, f] + moved_share * law[k, f]
        change_u -= moved_weights * mean_u
        change_v -= moved_weights * mean_v
        moved_residual[c, 0] = -operator[c, 0, 0] * change_u - operator[c, 0, 1] * change_v
        moved_residual[c, 1] = -operator[c, 1, 0] * change_u - operator[c, 1, 1] * change_v
    return moved_law, moved_residual


@njit(**OPTIONS)
def velocities_adjoint(
    density: Array,
    total: Array,
    law: Array,
    faces: Integers,
    around: Integers,
    directions: Array,
    numbers: Array,
    spacing: float,
    operator: Array,
    by_law: Array,
    by_residual: Array,
    by_density: Array,
    by_numbers: Array,
) -> None:
    """Derivatives by the law's velocities and residuals to those by densities and numbers, added there.

    `by_law` is used as room for the sum of its parts.
    """
    populations, cells = density.shape
    for c in range(cells):
        by_u = -operator[c, 0, 0] * by_residual[c, 0] - operator[c, 1, 0] * by_residual[c, 1]
        by_v = -operator[c, 0, 1] * by_residual[c, 0] - operator[c, 1, 1] * by_residual[c, 1]
        if by_u == 0.0 and by_v == 0.0:
            continue
        weights, mean = 0.0, 0.0
        for k in range(populations):
            weights += max(density[k, c], 0.0) + FLOOR
        for k in range(populations):
            share = 0.5 * (max(density[k, c], 0.0) + FLOOR) / weights
            for side in range(4):
                f = around[c, side]
                if f >= 0:
                    by_here = by_u if side < 2 else by_v
                    mean += share * by_here * law[k, f]
                    by_law[k, f] += share * by_here
        if populations == 1:
            continue
        for k in range(populations):
            if density[k, c] > 0.0:
                own = 0.0
                for side in range(4):
                    f = around[c, side]
                    if f >= 0:
                        own += 0.5 * (by_u if side < 2 else by_v) * law[k, f]
                by_density[k, c] += (own - mean) / weights
    by_total = np.zeros(cells)
    for f in range(len(faces)):
        room, room_by_total, slope, slope_share, slope_by_mean = _face_law(total, faces[f], numbers, spacing)
        by_room, by_slope = 0.0, 0.0
        for k in range(populations):
            by_here = by_law[k, f]
            by_numbers[ALPHA] += by_here * (room * directions[k, f] - numbers[PRESSURE] * slope)
            by_numbers[PRESSURE] -= by_here * numbers[ALPHA] * slope
            by_room += by_here * numbers[ALPHA] * directions[k, f]
            by_slope -= by_here * numbers[ALPHA] * numbers[PRESSURE]
        left, right = faces[f, LEFT], faces[f, RIGHT]
        if left >= 0 and right >= 0:
            mean = 0.5 * (total[left] + total[right])
            by_mean = 0.5 * (by_room * room_by_total + by_slope * slope_by_mean)
            by_total[left] += by_mean - by_slope * slope_share / spacing
            by_total[right] += by_mean + by_slope * slope_share / spacing
        else:
            mean = total[max(left, right)]
            by_total[max(left, right)] += by_room * room_by_total
        if room > 0.0:
            by_numbers[CROWDING] -= by_room * mean
    for k in range(populations):
        for c in range(cells):
            by_density[k, c] += by_total[c]


@njit(**OPTIONS)
def _corrected(law: float, face: Integers, correction: Array, limit: float) -> tuple[float, bool]:
    """A velocity with what was observed on either side, within the limit, and whether it is."""
    left, right, axis = face[LEFT], face[RIGHT], face[AXIS]
    if left >= 0 and right >= 0:
        u = law + 0.5 * (correction[left, axis] + correction[right, axis])
    else:
        u = law + correction[max(left, right), axis]
    return min(max(u, -limit), limit), abs(u) < limit


@njit(**OPTIONS)
def move(
    density: Array,
    law: Array,
    correction: Array,
    faces: Integers,
    kept: Array,
    diffusion: float,
    spacing: float,
    time_step: float,
    limit: float,
    conserved: bool,
) -> Array:
    """Densities `(populations, cells)` after one time step; `kept` `(populations, cells)` is 0 in sinks."""
    populations, cells = density.shape
    ratio = time_step / spacing
    moved = density.copy()
    for k in range(populations):
        for f in range(len(faces)):
            face = faces[f]
            left, right = face[LEFT], face[RIGHT]
            if not conserved and min(left, right) < 0:
                continue
            u, _ = _corrected(law[k, f], face, correction, limit)
            flux = _flux(density[k], face, u, ratio)[0]
            if left >= 0 and right >= 0:
                flux -= diffusion * (density[k, right] - density[k, left]) / spacing
            if left >= 0:
                moved[k, left] -= ratio * (flux - (0.0 if conserved else u * density[k, left]))
            if right >= 0:
                moved[k, right] += ratio * (flux - (0.0 if conserved else u * density[k, right]))
        for c in range(cells):
            moved[k, c] *= kept[k, c]
    return moved


@njit(**OPTIONS)
def move_tangent(
    density: Array,
    law: Array,
    correction: Array,
    faces: Integers,
    kept: Array,
    diffusion: float,
    spacing: float,
    time_step: float,
    limit: float,
    conserved: bool,
    change: Array,
    change_law: Array,
    change_correction: Array,
    change_diffusion: float,
) -> Array:
    """How the result of :func:`move` changes with densities, velocities, correction and diffusion."""
    populations, cells = density.shape
    ratio = time_step / spacing
    moved = change.copy()
    for k in range(populations):
        for f in range(len(faces)):
            face = faces[f]
            left, right = face[LEFT], face[RIGHT]
            if not conserved and min(left, right) < 0:
                continue
            u, within = _corrected(law[k, f], face, correction, limit)
            du = _corrected(change_law[k, f], face, change_correction, np.inf)[0] if within else 0.0
            _, by_u, by_left, by_right, by_far_left, by_far_right = _flux(density[k], face, u, ratio)
            flux = by_u * du
            if left >= 0:
                flux += by_left * change[k, left]
            if right >= 0:
                flux += by_right * change[k, right]
            if face[FAR_LEFT] >= 0:
                flux += by_far_left * change[k, face[FAR_LEFT]]
            if face[FAR_RIGHT] >= 0:
                flux += by_far_right * change[k, face[FAR_RIGHT]]
            if left >= 0 and right >= 0:
                flux -= diffusion * (change[k, right] - change[k, left]) / spacing
                flux -= change_diffusion * (density[k, right] - density[k, left]) / spacing
            if left >= 0:
                moved[k, left] -= ratio * flux
                if not conserved:
                    moved[k, left] += ratio * (u * change[k, left] + du * density[k, left])
            if right >= 0:
                moved[k, right] += ratio * flux
                if not conserved:
                    moved[k, right] -= ratio * (u * change[k, right] + du * density[k, right])
        for c in range(cells):
            moved[k, c] *= kept[k, c]
    return moved


@njit(**OPTIONS)
def move_adjoint(
    density: Array,
    law: Array,
    correction: Array,
    faces: Integers,
    kept: Array,
    diffusion: float,
    spacing: float,
    time_step: float,
    limit: float,
    conserved: bool,
    by_moved: Array,
) -> tuple[Array, Array, Array, float]:
    """The transpose of :func:`move_tangent`: derivatives by densities, velocities, correction, diffusion."""
    populations = len(density)
    ratio = time_step / spacing
    by_density = by_moved * kept
    by_end = by_density.copy()
    by_law = np.zeros_like(law)
    by_correction = np.zeros_like(correction)
    by_diffusion = 0.0
    for k in range(populations):
        for f in range(len(faces)):
            face = faces[f]
            left, right, axis = face[LEFT], face[RIGHT], face[AXIS]
            if not conserved and min(left, right) < 0:
                continue
            u, within = _corrected(law[k, f], face, correction, limit)
            by_flux, du = 0.0, 0.0
            if left >= 0:
                by_flux -= ratio * by_end[k, left]
                if not conserved:
                    by_density[k, left] += ratio * u * by_end[k, left]
                    du += ratio * density[k, left] * by_end[k, left]
            if right >= 0:
                by_flux += ratio * by_end[k, right]
                if not conserved:
                    by_density[k, right] -= ratio * u * by_end[k, right]
                    du -= ratio * density[k, right] * by_end[k, right]
            _, by_u, by_left, by_right, by_far_left, by_far_right = _flux(density[k], face, u, ratio)
            du += by_u * by_flux
            if left >= 0:
                by_density[k, left] += by_left * by_flux
            if right >= 0:
                by_density[k, right] += by_right * by_flux
            if face[FAR_LEFT] >= 0:
                by_density[k, face[FAR_LEFT]] += by_far_left * by_flux
            if face[FAR_RIGHT] >= 0:
                by_density[k, face[FAR_RIGHT]] += by_far_right * by_flux
            if left >= 0 and right >= 0:
                by_density[k, right] -= diffusion / spacing * by_flux
                by_density[k, left] += diffusion / spacing * by_flux
                by_diffusion -= (density[k, right] - density[k, left]) / spacing * by_flux
            if within:
                by_law[k, f] += du
                if left >= 0 and right >= 0:
                    by_correction[left, axis] += 0.5 * du
                    by_correction[right, axis] += 0.5 * du
                else:
                    by_correction[max(left, right), axis] += du
    return by_density, by_law, by_correction, by_diffusion
