"""An animation at another frame rate."""

from __future__ import annotations

import numpy as np

from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation, Provenance


def test_frames_at_another_rate_keep_the_origin_of_the_nearest() -> None:
    vertices = np.arange(9.0)[:, None, None] + np.eye(3)
    synthetic = np.arange(9) % 4 >= 2
    origin = Provenance(np.arange(9), np.arange(9) + 1, np.linspace(0, 1, 9), synthetic)
    found = Animation(MeshSequence(vertices, [[0, 1, 2]], 30), origin).resample(15)
    assert (found.frames, found.frame_rate, found.duration) == (5, 15.0, 5 / 15)
    assert found.provenance.sources.tolist() == [0, 2, 4, 6, 8]
    assert found.provenance.synthetic.tolist() == synthetic[::2].tolist()
    assert np.allclose(found.sequence.vertices[:, 0, 0], [1, 3, 5, 7, 9])
