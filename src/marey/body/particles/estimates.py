"""One pose or one motion out of many particles: weighted means, smoothing, different solutions.

Cost: a product and a logarithm a joint, particle and iteration.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array
from marey.geometry import rotations as so3


def intrinsic_means(rotations: Array, weights: Array, *, iterations: int = 3) -> Array:
    """Weighted intrinsic mean `(joints, 4)` of poses `(particles, joints, 4)` that are near each other.

    >>> turns = so3.exp([[[0.1, 0, 0]], [[0.3, 0, 0]]])
    >>> so3.log(intrinsic_means(turns, np.array([0.25, 0.75]))).round(9).tolist()
    [[0.25, 0.0, 0.0]]
    """
    mean = rotations[int(np.argmax(weights))]
    for _ in range(iterations):
        step = np.einsum("n,nji->ji", weights, so3.log(so3.multiply(so3.inverse(mean), rotations)))
        mean = so3.multiply(mean, so3.exp(step))
    return so3.normalise(mean)


def smoothed(rotations: Array, root: Array, width: float) -> tuple[Array, Array]:
    """A path `(frames, joints, 4)`, `(frames, 3)` under a Gaussian of `width` frames; its ends stay.

    Near the ends the window is cut symmetrically, so that straight motion stays as it is.
    """
    frames = len(rotations)
    if width <= 0 or frames < 3:
        return so3.normalise(rotations), np.array(root)
    reach = max(1, int(np.ceil(2.5 * width)))
    turned, moved = np.zeros((frames, rotations.shape[1], 3)), np.zeros((frames, 3))
    total = np.ones(frames)
    index = np.arange(frames)
    room = np.minimum(index, frames - 1 - index)
    # The Gaussian narrows towards the ends.
    local = np.minimum(width, np.maximum(room / 2.0, 1e-9))
    for shift in range(1, reach + 1):
        rows = index[room >= shift]
        weight = np.exp(-0.5 * (shift / local[rows]) ** 2)
        total[rows] += 2 * weight
        for other in (rows - shift, rows + shift):
            way = so3.log(so3.multiply(so3.inverse(rotations[rows]), rotations[other]))
            turned[rows] += weight[:, None, None] * way
            moved[rows] += weight[:, None] * (root[other] - root[rows])
    out = so3.multiply(rotations, so3.exp(turned / total[:, None, None]))
    return so3.normalise(out), root + moved / total[:, None]
