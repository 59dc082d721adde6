"""Built-in samples, made by formula: a walking human, its skinned and textured body, a small crowd.

`walk` is a :class:`~marey.Motion`, `human` a :class:`~marey.Character`, `performance` a
:class:`~marey.MeshSequence`, `locomotion` a library of them, `crowd` :class:`~marey.Tracks`, `footage` a film
of the crowd, `field` a :class:`~marey.FieldSeries`.

They need no file and no network, and are the same on every machine.

>>> from marey import samples
>>> samples.walk(seconds=2, frame_rate=30).frames
60
"""

from __future__ import annotations

from marey.samples.gait import walk
from marey.samples.mannequin import human, performance
from marey.samples.overhead import footage
from marey.samples.street import crowd
from marey.samples.subject import locomotion
from marey.samples.swirl import field

__all__ = ["crowd", "field", "footage", "human", "locomotion", "performance", "walk"]
