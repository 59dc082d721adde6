"""Units and up axis of a file, and conversion to marey's own: metres, y up, right-handed.

A file is converted when it is read and remembers its convention, so that writing it back changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import FloatArray, mapped
from marey.errors import InputError

UpAxis = Literal["y", "z"]

UNITS: dict[str, float] = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}

# Metres; no length is counted in smaller or larger units than these.
SMALLEST, LARGEST = 1e-15, 1e15

# The unit of the CMU motion capture database: 1/0.45 inch.
CMU_UNIT = 0.0254 / 0.45


@dataclass(frozen=True)
class Convention:
    """How a file measures: metres per unit of length, and which axis points up.

    >>> Convention(unit=0.01, up="z").to_marey([[50.0, -20.0, 180.0]])
    array([[0.5, 1.8, 0.2]])
    """

    unit: float = 1.0
    up: UpAxis = "y"

    def __post_init__(self) -> None:
        if not isinstance(self.unit, Real) or not SMALLEST <= self.unit <= LARGEST:
            raise InputError(f"unit: must be a positive number of metres, got {self.unit!r}; see unit_size()")
        if self.up not in ("y", "z"):
            raise InputError(f"up axis: 'y' or 'z', got {self.up!r}")

    def to_marey(self, points: ArrayLike) -> NDArray[np.float64]:
        """Points or offsets of the file, `(..., 3)`, in metres and y up."""
        scaled = np.asarray(points, dtype=np.float64) * self.unit
        return scaled if self.up == "y" else y_up_from_z_up(scaled)

    def from_marey(self, points: ArrayLike) -> NDArray[np.float64]:
        """Points or offsets in metres and y up, `(..., 3)`, as the file counts them."""
        scaled = np.asarray(points, dtype=np.float64) / self.unit
        return scaled if self.up == "y" else z_up_from_y_up(scaled)

    def vertices_to_marey(self, vertices: FloatArray) -> FloatArray:
        """As :meth:`to_marey`, in their own precision, of arrays that may be larger than memory."""
        return vertices if self == Convention() else mapped(self.to_marey, vertices, vertices.dtype)

    def vertices_from_marey(self, vertices: FloatArray) -> FloatArray:
        """Inverse of :meth:`vertices_to_marey`."""
        return vertices if self == Convention() else mapped(self.from_marey, vertices, vertices.dtype)

    def rotations_to_marey(self, quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same rotations `(..., 4)` after the change of axes: their axes turn with the space."""
        if self.up == "y":
            return quaternions
        return np.concatenate([quaternions[..., :1], y_up_from_z_up(quaternions[..., 1:])], axis=-1)

    def rotations_from_marey(self, quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inverse of :meth:`rotations_to_marey`."""
        if self.up == "y":
            return quaternions
        return np.concatenate([quaternions[..., :1], z_up_from_y_up(quaternions[..., 1:])], axis=-1)

    @property
    def unit_name(self) -> str:
        """The unit's usual name, or its size in metres."""
        if np.isclose(self.unit, CMU_UNIT, rtol=1e-6):
            return "in/0.45"
        named = [name for name, size in UNITS.items() if np.isclose(size, self.unit, rtol=1e-6)]
        return named[0] if named else f"{self.unit:g} m"


def unit_size(unit: str | float) -> float:
    """Metres per unit, from a name (`"cm"`) or a number.

    >>> unit_size("in"), unit_size(0.01), unit_size("0.5")
    (0.0254, 0.01, 0.5)
    """
    if isinstance(unit, str) and unit in UNITS:
        return UNITS[unit]
    try:
        size = float(unit)
    except (TypeError, ValueError):
        raise InputError(f"unit {unit!r}: one of {', '.join(UNITS)}, or a number of metres") from None
    return Convention(unit=size).unit


def y_up_from_z_up(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn by -90° about x: `(x, y, z) -> (x, z, -y)`."""
    return np.stack([points[..., 0], points[..., 2], -points[..., 1]], axis=-1)


def z_up_from_y_up(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn by 90° about x: `(x, y, z) -> (x, -z, y)`."""
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)
