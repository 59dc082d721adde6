"""Built-in samples, made by formula: a walking human, its skinned and textured body, a small crowd.

`walk` is a :class:`~marey.Motion`, `human` a :class:`~marey.Character`, `mesh_sequence` a
:class:`~marey.MeshSequence`, `mesh_library` a library of them, `crowd` :class:`~marey.Tracks`, `video` a
video of the crowd, `field` a :class:`~marey.FieldSeries`.

They need no file and no network, and are the same on every machine.

>>> from marey import samples
>>> samples.walk(seconds=2, frame_rate=30).frames
60
"""

from __future__ import annotations

from collections.abc import Callable

from marey.errors import InputError
from marey.samples.gaits import mesh_library
from marey.samples.human import human, mesh_sequence
from marey.samples.overhead import video
from marey.samples.street import crowd
from marey.samples.swirl import field
from marey.samples.walk import walk

__all__ = ["crowd", "field", "human", "mesh_library", "mesh_sequence", "named", "video", "walk"]


def named(name: str) -> object:
    """The sample of that name, as commands take it: `sample:walk`.

    >>> type(named("crowd")).__name__
    'Tracks'
    """
    makers: dict[str, Callable[[], object]] = {
        "walk": walk,
        "human": human,
        "mesh-sequence": mesh_sequence,
        "library": mesh_library,
        "video": video,
        "field": field,
        "crowd": crowd,
    }
    if name not in makers:
        raise InputError(f"there is no sample {name!r}; there are {', '.join(makers)}")
    return makers[name]()
