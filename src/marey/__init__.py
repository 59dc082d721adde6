"""marey: data-driven animation at three scales — bodies, surfaces, crowds.

The names a notebook user types are here; each is imported when it is first used.

>>> import marey
>>> marey.samples.walk().joints > 20
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marey import body, crowd, datasets, geometry, samples, surface, views
    from marey.body.markers import Markers
    from marey.body.motion import Motion
    from marey.body.pose_model import PoseModel
    from marey.body.skeleton import Skeleton
    from marey.character import Character
    from marey.crowd.fields import FieldSeries
    from marey.crowd.footage import Footage
    from marey.crowd.tracks import Tracks
    from marey.errors import FormatError, InputError, MareyError
    from marey.io import load, save
    from marey.surface.sequence import MeshSequence
    from marey.surface.skinning import SkinnedMesh

__version__ = "0.1.0"

_HOME = {
    "load": "marey.io",
    "save": "marey.io",
    "Skeleton": "marey.body.skeleton",
    "Motion": "marey.body.motion",
    "PoseModel": "marey.body.pose_model",
    "Markers": "marey.body.markers",
    "MeshSequence": "marey.surface.sequence",
    "SkinnedMesh": "marey.surface.skinning",
    "Character": "marey.character",
    "Tracks": "marey.crowd.tracks",
    "FieldSeries": "marey.crowd.fields",
    "Footage": "marey.crowd.footage",
    "MareyError": "marey.errors",
    "FormatError": "marey.errors",
    "InputError": "marey.errors",
}
_MODULES = ("body", "crowd", "datasets", "geometry", "samples", "surface", "views")

__all__ = [
    "Character",
    "FieldSeries",
    "Footage",
    "FormatError",
    "InputError",
    "MareyError",
    "Markers",
    "MeshSequence",
    "Motion",
    "PoseModel",
    "Skeleton",
    "SkinnedMesh",
    "Tracks",
    "body",
    "crowd",
    "datasets",
    "geometry",
    "load",
    "samples",
    "save",
    "surface",
    "views",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"marey.{name}")
    else:
        raise AttributeError(f"module 'marey' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
