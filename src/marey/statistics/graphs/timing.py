"""Smooth time for a transition, so that neither of its windows stands still (after Boukhayma 2017, section
2.5.2).

A warped transition is a staircase: while it passes frames of one window, a frame of the other is held. Its
steps are spread over the frames around them; time then flows without stopping and ends where it did.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.statistics.graphs.transitions import Transition


def smooth_path(transition: Transition) -> NDArray[np.float64]:
    """Both windows' times at each frame of a transition, `(length, 2)`, in fractions of frames.

    Strictly rising wherever a window has more than one frame; first and last pair stay as they are.

    >>> held = Transition([[3, 10], [4, 11], [4, 12], [4, 13], [5, 14]], 0.0)
    >>> smooth_path(held).round(2).tolist()
    [[3.0, 10.0], [3.56, 11.0], [4.0, 12.0], [4.44, 13.0], [5.0, 14.0]]
    """
    path = transition.path.astype(np.float64)
    if len(path) < 3:
        return path
    steps = np.diff(path, axis=0)
    smooth = np.stack([_spread(column) for column in steps.T], axis=1)
    times = path[0] + np.concatenate([np.zeros((1, 2)), np.cumsum(smooth, axis=0)])
    times[-1] = path[-1]
    return times


def _spread(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Steps weighed with those around them, as far as the longest rest; mirrored at the ends, which keeps
    their sum."""
    rest = _longest_rest(steps)
    if rest == 0 or rest == len(steps):
        return steps
    weights = np.concatenate([np.arange(1, rest + 2), np.arange(rest, 0, -1)]).astype(np.float64)
    return np.convolve(np.pad(steps, rest, mode="symmetric"), weights / weights.sum(), mode="valid")


def _longest_rest(steps: NDArray[np.float64]) -> int:
    moving = np.flatnonzero(np.concatenate([[1.0], steps, [1.0]]))
    return int(np.diff(moving).max()) - 1
