"""What every kind of joint limit can do: measure, differentiate and correct poses.

A kind needs `joints`, `excess` and `project`; its gradient is then measured by finite differences. The kinds
of this package are compiled (:class:`CompiledLimits`): inverse kinematics calls their kernels directly, some
50 ns a joint, and falls back on the methods below for any other kind, such as learned limits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, IntArray, read_only
from marey.errors import InputError
from marey.geometry import rotations as so3

# Which formula of `_kernels` a kind is.
RANGE, ELLIPSOID, SWING_TWIST = 0, 1, 2
# Excess that counts as none: rounding of a pose that was projected.
ROUNDING = 1e-9
# Radians by which joints are turned to measure a gradient.
STEP = 1e-5


class Limits(ABC):
    """Limits of some joints, each a set of local rotations that the joint may have.

    Attributes:
        joints: `(limited,)`, the joints that are limited, each once; all others are free.
    """

    joints: IntArray

    @abstractmethod
    def excess(self, rotations: ArrayLike) -> Array:
        """How far joints are beyond their limits, `(..., limited)`; at most 0 inside.

        Args:
            rotations: `(..., joints, 4)`, local rotations of all joints, unit quaternions.
        """

    @abstractmethod
    def project(self, rotations: ArrayLike) -> Array:
        """The rotations `(..., joints, 4)` with joints that are beyond their limits turned back to them."""

    def gradient(self, rotations: ArrayLike) -> Array:
        """Derivatives `(..., limited, 3)` of the excess by turns of each joint in its own frame."""
        given = np.asarray(rotations, dtype=np.float64)
        # A limit depends on its own joint alone, so all joints turn at once.
        ahead, behind = (
            [self.excess(so3.multiply(given, so3.exp(sign * STEP * axis))) for axis in np.eye(3)]
            for sign in (1.0, -1.0)
        )
        return (np.stack(ahead, axis=-1) - np.stack(behind, axis=-1)) / (2 * STEP)

    def contains(self, rotations: ArrayLike) -> NDArray[np.bool_]:
        """Whether poses are within all limits, `(...)`."""
        return np.asarray((self.excess(rotations) <= ROUNDING).all(axis=-1))


class CompiledLimits(Limits):
    """Limits whose excess and gradient are compiled.

    Attributes:
        kind: RANGE, ELLIPSOID or SWING_TWIST.
        centres: `(limited, 4)`, local rotations that limits are measured from.
        parameters: `(limited, numbers)`, the rest of the formula, see `_kernels`.
    """

    kind: ClassVar[int]
    centres: FloatArray
    parameters: FloatArray

    @property
    def binding(self) -> NDArray[np.bool_]:
        """Which limits `(limited,)` some rotation exceeds."""
        return np.ones(len(self.joints), dtype=np.bool_)

    def excess(self, rotations: ArrayLike) -> Array:
        """How far joints are beyond their limits, `(..., limited)`; at most 0 inside."""
        return self._measured(rotations)[0]

    def gradient(self, rotations: ArrayLike) -> Array:
        """Derivatives `(..., limited, 3)` of the excess by turns of each joint in its own frame."""
        return self._measured(rotations)[1]

    def _measured(self, rotations: ArrayLike) -> tuple[Array, Array]:
        from marey.body.limits import _kernels

        poses, shape = flattened(rotations, int(self.joints.max(initial=-1)) + 1)
        values = np.empty((len(poses), len(self.joints)))
        gradients = np.empty((*values.shape, 3))
        _kernels.measure(self.kind, poses, self.joints, self.centres, self.parameters, values, gradients)
        return values.reshape(*shape, -1), gradients.reshape(*shape, len(self.joints), 3)


def flattened(rotations: ArrayLike, least: int) -> tuple[Array, tuple[int, ...]]:
    """A contiguous copy `(poses, joints, 4)` of rotations of at least so many joints, and the shape."""
    given = np.array(rotations, dtype=np.float64, order="C")
    if given.ndim < 2 or given.shape[-1] != 4 or given.shape[-2] < least:
        raise InputError(f"rotations: expected shape (..., joints, 4), {least} joints, got {given.shape}")
    return given.reshape(-1, *given.shape[-2:]), given.shape[:-2]


def limited_joints(joints: ArrayLike) -> IntArray:
    """Indices of limited joints, checked."""
    found = np.array(joints, dtype=np.int64).reshape(-1)
    if len(set(found.tolist())) != len(found) or (found < 0).any():
        raise InputError("limits: each joint may be limited once, by its index")
    return read_only(found)
