"""Skin weights by heat: every vertex starts with its nearest bone, then weights spread along the surface.

Nearness counts in units of the bone's own thickness. The spreading is one implicit step of the heat
equation with the cotangent Laplacian (after Baran & Popović 2007, "Automatic rigging", section 4), so it
goes along the surface and never jumps from an arm to the chest. Cost: one sparse factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marey._arrays import Array, Integers

INFLUENCES = 4

TRACE = 0.005
"""Weights below this only cost time."""


def nearest_bone(vertices: Array, bones: Sequence[tuple[int, Array, Array]], thickness: Array) -> Integers:
    """The joint of the bone nearest to each vertex, in units of the bone's thickness.

    vertices: `(vertices, 3)`
    bones: joint, start and end of each bone; a joint may have several
    thickness: `(joints,)`, metres

    >>> bones = [(0, np.zeros(3), np.array([1.0, 0, 0])), (1, np.array([1.0, 0, 0]), np.array([2.0, 0, 0]))]
    >>> nearest_bone(np.array([[0.8, 0.1, 0], [1.3, 0.1, 0]]), bones, np.array([0.1, 0.1]))
    array([0, 1])
    """
    best = np.full(len(vertices), np.inf)
    owner = np.zeros(len(vertices), dtype=np.int64)
    for joint, start, end in bones:
        along = end - start
        share = np.clip((vertices - start) @ along / (along @ along), 0.0, 1.0)
        gap = np.linalg.norm(vertices - start - share[:, None] * along, axis=1) / thickness[joint]
        nearer = gap < best
        best[nearer], owner[nearer] = gap[nearer], joint
    return owner


def heat_weights(vertices: Array, faces: Integers, owner: Integers, reach: Array) -> tuple[Integers, Array]:
    """The four greatest weights of every vertex, `(vertices, 4)`, and the joints they belong to.

    owner: `(vertices,)`, the joint each vertex starts with
    reach: `(vertices,)`, metres over which the weights of neighbouring joints pass into each other
    """
    from scipy.sparse import diags
    from scipy.sparse.linalg import splu

    stiffness, mass = _cotangent_laplacian(vertices, faces)
    hold = mass / reach**2
    start = np.eye(int(owner.max()) + 1)[owner]
    heat = splu((stiffness + diags(hold)).tocsc()).solve(hold[:, None] * start)
    heat = np.clip(heat, 0.0, None)
    joints = np.argsort(-heat, axis=1, kind="stable")[:, : INFLUENCES + 1]
    weights = np.take_along_axis(heat, joints, axis=1)
    # Less the fifth greatest, so that a joint's weight is nothing where another takes its place.
    fifth = weights[:, INFLUENCES:].max(axis=1, initial=TRACE, keepdims=True)
    weights = np.maximum(weights[:, :INFLUENCES] - fifth, 0.0)
    return joints[:, :INFLUENCES], weights / weights.sum(axis=1, keepdims=True)


def _cotangent_laplacian(vertices: Array, faces: Integers) -> tuple[Any, Array]:
    """Stiffness matrix (positive semi-definite, sparse) and area of each vertex."""
    from scipy.sparse import coo_matrix

    count = len(vertices)
    rows, columns, values = [], [], []
    mass = np.zeros(count)
    for k in range(3):
        i, j, o = faces[:, (k + 1) % 3], faces[:, (k + 2) % 3], faces[:, k]
        a, b = vertices[i] - vertices[o], vertices[j] - vertices[o]
        double_area = np.linalg.norm(np.cross(a, b), axis=1)
        # Obtuse angles would let weights become negative.
        half_cotangent = np.maximum(np.einsum("fi,fi->f", a, b) / (double_area + 1e-12), 0.05) / 2
        rows += [i, j, i, j]
        columns += [j, i, i, j]
        values += [-half_cotangent, -half_cotangent, half_cotangent, half_cotangent]
        np.add.at(mass, o, double_area / 6)
    matrix = coo_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(count, count)
    )
    return matrix.tocsc(), mass
