"""Built-in samples, made by formula: a walking human, its skinned and textured body, a small crowd.

They need no file and no network, and are the same on every machine.

>>> from marey import samples
>>> samples.walk(seconds=2, frame_rate=30).frames
60
"""

from __future__ import annotations

from marey.samples.gait import walk
from marey.samples.mannequin import human, performance

__all__ = ["human", "performance", "walk"]
