"""Walking crowds as files with few keys play them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey.stage.walk.gltf import SPACINGS, interpolated, spacings
from marey.stage.walk.walk import WalkingCrowd


def played(crowd: WalkingCrowd) -> WalkingCrowd:
    """The crowd as a file with these keys plays it."""
    rotations, roots = np.empty_like(crowd.rotations), np.empty_like(crowd.roots)
    chosen = spacings(crowd)
    for spacing in SPACINGS:
        for joint in range(crowd.skeleton.joints):
            mine = np.flatnonzero(chosen[:, joint] == spacing)
            rotations[:, mine, joint] = interpolated(crowd.rotations[:, mine, joint], spacing)
        mine = np.flatnonzero(chosen[:, -1] == spacing)
        roots[:, mine] = interpolated(crowd.roots[:, mine], spacing)
    return replace(crowd, rotations=rotations, roots=roots)
