"""What directed crowds are compared with: other ways to make people go somewhere or move as a field."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marey.crowd.direct.model import CrowdModel

Field = Callable[[np.ndarray, float], np.ndarray]
"""Velocities wanted `(people, 2)` at places `(people, 2)` and a time."""


def advection(model: CrowdModel, wanted: Field, steps: int) -> np.ndarray:
    """People carried by a field, whoever is in the way: `(steps + 1, people, 2)`, by Runge–Kutta."""
    found, dt = [np.array(model.people.positions)], model.dt
    for n in range(steps):
        y, t = found[-1], n * dt
        a = wanted(y, t)
        b = wanted(y + 0.5 * dt * a, t + 0.5 * dt)
        c = wanted(y + 0.5 * dt * b, t + 0.5 * dt)
        d = wanted(y + dt * c, t + dt)
        found.append(y + dt / 6 * (a + 2 * b + 2 * c + d))
    return np.array(found)


def added_field(model: CrowdModel, wanted: Field, steps: int) -> np.ndarray:
    """People who walk by their own will, and are carried by a field on top of that."""
    y, u = np.array(model.people.positions), np.array(model.people.velocities)
    found, still = [y], np.zeros((1, model.count, 2))
    for n in range(steps):
        force = -model.needed_controls(y[None], still)[0]
        u = u + model.dt * (force - model.friction * u)
        y = y + model.dt * (u + wanted(y, n * model.dt))
        found.append(y)
    return np.array(found)


def field_as_wish(model: CrowdModel, wanted: Field, steps: int) -> np.ndarray:
    """The model with the field in the place of people's own will."""
    return model.run(model.following(wanted, steps))[0]


def slots_as_goals(model: CrowdModel, slots: np.ndarray, steps: int) -> np.ndarray:
    """The model where everybody wants to be at a place of their own `(people, 2)`, as fast as they walk."""

    def wanted(y: np.ndarray, _: float) -> np.ndarray:
        off = slots - y
        far = np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-9)
        return model.people.desired_speed[:, None] * off / np.maximum(far, 0.5)

    return field_as_wish(model, wanted, steps)


def straight_lines(start: np.ndarray, slots: np.ndarray, steps: int) -> np.ndarray:
    """Everybody straight to a place, at one speed."""
    share = np.linspace(0.0, 1.0, steps + 1)[:, None, None]
    return (1 - share) * start + share * slots


def laplacian(start: np.ndarray, slots: np.ndarray, steps: int) -> np.ndarray:
    """Laplacian coordinates of one formation turned and blended into the other's (Takahashi et al. 2009).

    With one graph and no turning this is the straight line; so the coordinates turn by the best rotation.
    """
    from scipy.spatial import Delaunay

    count = len(start)
    graph = np.zeros((count, count))
    for i, j, k in Delaunay(start).simplices:
        for a, b in ((i, j), (j, k), (k, i)):
            graph[a, b] = graph[b, a] = 1.0
    laplace = np.diag(graph.sum(axis=1)) - graph
    before, after = start - start.mean(axis=0), slots - slots.mean(axis=0)
    turned = after.T @ before
    angle = np.arctan2(turned[1, 0] - turned[0, 1], turned[0, 0] + turned[1, 1])
    # One row more holds the centroid.
    system = np.vstack([laplace, np.full((1, count), 1.0)])
    found = []
    for s in np.linspace(0.0, 1.0, steps + 1):
        ahead, back = _turn(s * angle), _turn((s - 1.0) * angle)
        wanted = (1 - s) * (laplace @ start) @ ahead.T + s * (laplace @ slots) @ back.T
        middle = (1 - s) * start.mean(axis=0) + s * slots.mean(axis=0)
        found.append(np.linalg.lstsq(system, np.vstack([wanted, count * middle]), rcond=None)[0])
    return np.array(found)


def _turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])
