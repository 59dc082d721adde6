"""Random skeletons and poses for the tests of this folder."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from marey.body import Motion, Skeleton
from marey.geometry import rotations as so3


def random_skeleton(rng: np.random.Generator, joints: int, *, ends: int = 2) -> Skeleton:
    parents = [-1, *(int(rng.integers(0, j)) for j in range(1, joints))]
    return Skeleton(
        tuple(f"joint{j}" for j in range(joints)),
        parents,
        rng.normal(size=(joints, 3)),
        rng.integers(0, joints, size=ends),
        rng.normal(size=(ends, 3)),
    )


def random_motion(seed: int, *, joints: int = 6, frames: int = 4, sliding: bool = False) -> Motion:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(frames, 3))
    translations = None
    if sliding:
        translations = rng.normal(size=(frames, joints, 3))
        translations[:, 0] = root
    return Motion(
        random_skeleton(rng, joints),
        so3.random((frames, joints), rng=rng),
        root,
        30.0,
        translations=translations,
    )


motions = st.builds(
    random_motion,
    st.integers(0, 2**32 - 1),
    joints=st.integers(1, 12),
    frames=st.integers(1, 4),
    sliding=st.booleans(),
)
