"""The regularisers: squared second differences, whose flow keeps divergence and curl, or first ones.

Summed over the plane, the squared gradients of divergence and curl (Courty & Corpetti 2007, section 3.1) are
the squared second derivatives of both components: the two have the same interior equation and differ at the
border only, where the first leaves every harmonic motion undetermined and the second just the affine ones,
six numbers. That is why the second form is used. Terms that touch a masked pixel are cut. Cost: five
nanoseconds a pixel for a product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray

Plane = NDArray[np.float32]

# The terms of each order: xx, xy, yy; or right, down.
TERMS = {1: 2, 2: 3}


def open_terms(mask: BoolArray, order: int) -> Plane:
    """1 for each difference that lies wholly within the mask and the image, else 0: `(terms, rows, columns)`.

    >>> open_terms(np.ones((3, 3), dtype=bool), 2).sum(axis=(1, 2))
    array([3., 4., 3.], dtype=float32)
    """
    opened = np.zeros((TERMS[order], *mask.shape), dtype=np.float32)
    if order == 1:
        opened[0, :, :-1] = mask[:, :-1] & mask[:, 1:]
        opened[1, :-1] = mask[:-1] & mask[1:]
    else:
        opened[0, :, 1:-1] = mask[:, :-2] & mask[:, 1:-1] & mask[:, 2:]
        opened[1, :-1, :-1] = mask[:-1, :-1] & mask[:-1, 1:] & mask[1:, :-1] & mask[1:, 1:]
        opened[2, 1:-1] = mask[:-2] & mask[1:-1] & mask[2:]
    return opened


def product(field: Plane, weights: Plane) -> Plane:
    """Half the regulariser's gradient at `field` `(2, rows, columns)`; weights as :func:`open_terms`."""
    from marey.crowd.estimation import _operator_kernels as kernels

    out = np.empty_like(field)
    multiply = kernels.second_order_product if len(weights) == TERMS[2] else kernels.first_order_product
    multiply(field, weights, out)
    return out


def reweighted(field: Plane, opened: Plane, alpha: float, scale: float) -> Plane:
    """Weights `alpha / √(1 + |D field|² / scale²)` of the open terms: bends beyond `scale` count less.

    scale: in px/frame per px (first order) or px² (second order); 0 = all terms alike, the quadratic form
    """
    from marey.crowd.estimation import _operator_kernels as kernels

    strength = np.zeros(field.shape[1:], dtype=np.float32)
    if scale > 0:
        measure = kernels.second_order_strength if len(opened) == TERMS[2] else kernels.first_order_strength
        measure(field, strength)
    weights = np.empty_like(opened)
    kernels.robust_weights(strength, opened, alpha, scale, weights)
    return weights
