"""What the property tests of rotations draw from, the awkward places included."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from marey.geometry import rotations as rot

_components = st.floats(-1.0, 1.0, allow_subnormal=False)


def vectors(largest: float = 10.0) -> st.SearchStrategy[np.ndarray]:
    """Vectors (3,), zero and tiny ones included."""
    entry = st.floats(-largest, largest, allow_subnormal=False)
    return st.tuples(entry, entry, entry).map(np.array)


directions = (
    st.tuples(_components, _components, _components)
    .map(np.array)
    .filter(lambda v: np.linalg.norm(v) > 1e-3)
    .map(lambda v: v / np.linalg.norm(v))
)

# Angles where formulas break: no turn, tiny ones, near a half turn.
_angles = st.one_of(
    st.floats(0.0, np.pi),
    st.floats(-12.0, -3.0).map(lambda e: 10.0**e),
    st.floats(-12.0, -3.0).map(lambda e: np.pi - 10.0**e),
    st.sampled_from([0.0, 1e-300, 0.00999, 0.01001, np.pi / 2, np.pi]),
)

# Rotation vectors no longer than pi.
rotation_vectors = st.builds(lambda axis, angle: axis * angle, directions, _angles)

# Unit quaternions of both signs.
rotations = st.builds(
    lambda v, sign: sign * rot.normalise(rot.exp(v)), rotation_vectors, st.sampled_from([-1.0, 1.0])
)
