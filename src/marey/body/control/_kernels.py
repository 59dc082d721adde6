"""Compiled sweeps for control: those of `body.physics`, about the centre of mass.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

from marey._arrays import Array
from marey._compiling import njit
from marey.body.physics._kernels import FAST, Tree, Work, mass_matrix, place, quadratic_forces


@njit(**FAST)
def evaluate(tree: Tree, alpha: Array, work: Work, vectors: Array) -> None:
    """All sweeps at a pose `(1, modes)`, with the forces at `vectors[NEW]`."""
    parents, moving, bones, directions = tree
    frames, S, T, G, M, _ = work
    place(parents, bones, directions, alpha, 0, True, frames, S)
    mass_matrix(parents, moving, bones, frames, S, T, G, M, True)
    quadratic_forces(parents, moving, bones, directions, T, frames, vectors, True)
