"""Built-in samples, made by formula: a walking human, its skinned and textured body, a small crowd.

`walk` is a :class:`~marey.Motion`, `human` a :class:`~marey.Character`, `mesh_sequence` a
:class:`~marey.MeshSequence`, `mesh_library` a library of them, `crowd` :class:`~marey.Tracks`, `video` a film
of the crowd, `field` a :class:`~marey.FieldSeries`.

They need no file and no network, and are the same on every machine.

>>> from marey import samples
>>> samples.walk(seconds=2, frame_rate=30).frames
60
"""

from __future__ import annotations

from marey.samples.gaits import mesh_library
from marey.samples.human import human, mesh_sequence
from marey.samples.overhead import video
from marey.samples.street import crowd
from marey.samples.swirl import field
from marey.samples.walk import walk

__all__ = ["crowd", "field", "human", "mesh_library", "mesh_sequence", "video", "walk"]
