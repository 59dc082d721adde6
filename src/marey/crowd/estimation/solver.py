"""The linear system of one reweighting: conjugate gradients, on a coarser grid where the field is smooth.

A field that is smooth over `wavelength` pixels is described by one number in a twelfth of that: the data of
blocks of pixels are added up, the correction is found for the blocks and interpolated back. Conjugate
gradients with each pixel's own block inverted then need about ten steps at any wavelength. Cost: about
fifteen nanoseconds a pixel and step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd.estimation import smoothness

Plane = NDArray[np.float32]

PIXELS_OF_WAVELENGTH = 12.0
TOLERANCE = 1e-3


def grid_step(wavelength: float) -> int:
    """How many pixels share one unknown, a power of two.

    >>> grid_step(16), grid_step(64)
    (1, 4)
    """
    return 2 ** max(int(np.floor(np.log2(max(wavelength, 1.0) / PIXELS_OF_WAVELENGTH))), 0)


def improve(
    matrices: Plane,
    right: Plane,
    field: Plane,
    opened: Plane,
    *,
    alpha: float,
    bend: float,
    step: int,
    iterations: int,
) -> Plane:
    """`field` after a step towards the minimum of data term plus regulariser.

    matrices, right: the normal equations of :meth:`DataTerm.system`
    opened: of the grid of blocks of `step` pixels, see :func:`coarse_mask`
    alpha, bend: of the regulariser in pixels of the fine grid
    """
    from marey.crowd.estimation._operator_kernels import conjugate_gradients

    order = 2 if len(opened) == smoothness.TERMS[2] else 1
    if step == 1:
        weights = smoothness.reweighted(field, opened, alpha, bend)
        improved = field.copy()
        conjugate_gradients(matrices, right, weights, improved, order, iterations, TOLERANCE)
        return improved
    import cv2

    rows, columns = field.shape[1:]
    shape = opened.shape[1:]
    blocks = np.stack([_blocks(plane, step) for plane in (*matrices, *right)])
    old = np.stack([_blocks(plane, step, mean=True) for plane in field])
    # Right-hand sides hold for the field itself: ask for the correction of the blocks instead.
    here = np.empty_like(right)
    here[0] = right[0] - matrices[0] * field[0] - matrices[1] * field[1]
    here[1] = right[1] - matrices[1] * field[0] - matrices[2] * field[1]
    needed = np.stack([_blocks(plane, step) for plane in here])
    data = np.ascontiguousarray(blocks[:3])
    needed[0] += data[0] * old[0] + data[1] * old[1]
    needed[1] += data[1] * old[0] + data[2] * old[1]
    spread = float(step) ** (2 - 2 * order)
    weights = smoothness.reweighted(old, opened, alpha * spread, bend * step**order)
    new = old.copy()
    conjugate_gradients(data, needed, weights, new, order, iterations, TOLERANCE)
    whole = (shape[1] * step, shape[0] * step)
    change = [cv2.resize(plane, whole, interpolation=cv2.INTER_CUBIC)[:rows, :columns] for plane in new - old]
    return np.ascontiguousarray(field + np.stack(change), dtype=np.float32)


def coarse_mask(mask: BoolArray, step: int) -> BoolArray:
    """Which blocks of `step` pixels hold a pixel that counts."""
    return np.asarray(_blocks(mask.astype(np.float32), step) > 0) if step > 1 else mask


def _blocks(plane: Plane, step: int, mean: bool = False) -> Plane:
    """Sums over blocks of pixels, or means; the last ones may be cut off by the border."""
    rows, columns = plane.shape
    below, beside = -rows % step, -columns % step
    if below or beside:
        plane = np.pad(plane, ((0, below), (0, beside)), mode="edge" if mean else "constant")
    sums = plane.reshape(plane.shape[0] // step, step, -1, step).sum(axis=(1, 3), dtype=np.float32)
    return sums / np.float32(step * step) if mean else sums
