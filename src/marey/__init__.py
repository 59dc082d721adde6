"""marey: data-driven animation at three scales — bodies, surfaces, crowds.

The names a notebook user types are here; each is imported when it is first used.

>>> import marey
>>> marey.samples.walk().joints > 20
True
"""

from __future__ import annotations

from importlib import import_module

_HOME = {
    "marey.io": "load save",
    "marey.body.skeleton": "Skeleton",
    "marey.body.motion": "Motion",
    "marey.body.pose_model": "PoseModel",
    "marey.body.markers": "Markers",
    "marey.surface.sequence": "MeshSequence",
    "marey.surface.skinning": "SkinnedMesh",
    "marey.character": "Character",
    "marey.crowd.tracks": "Tracks",
    "marey.crowd.fields": "FieldSeries Footage",
    "marey.conversion": "convert",
    "marey.describe": "info",
    "marey.installation": "doctor",
    "marey.views": "view",
    "marey.errors": "MareyError FormatError InputError",
}
_NAMES = {name: module for module, names in _HOME.items() for name in names.split()}
_MODULES = (
    "body",
    "crowd",
    "datasets",
    "filming",
    "geometry",
    "io",
    "samples",
    "stage",
    "statistics",
    "surface",
    "views",
)

__all__ = sorted([*_NAMES, *_MODULES])


def __getattr__(name: str) -> object:
    if name in _NAMES:
        value = getattr(import_module(_NAMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"marey.{name}")
    elif name == "__version__":
        value = import_module("importlib.metadata").version("marey")
    else:
        raise AttributeError(f"module 'marey' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
