"""The files that can be made of what the surface panel shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marey._work import Progress
from marey.studio.panel import Export
from marey.studio.surface.state import State
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation

# Of clips and pictures, pixels.
SIZE = (1280, 720)


def exports(state: State, name: str) -> list[Export]:
    """What is played as meshes, clip, picture and page; then origins, matrix and graph where there are any.

    name: of the files, without an ending
    """
    found = []
    if state.played is not None or (state.shown == "between" and state.between is not None):
        found = [
            Export("animation (GLB)", f"{name}.glb", lambda path, p: _saved(_meshes(state, p), path)),
            Export("clip (MP4)", f"{name}.mp4", lambda path, p: _seen(_shown(state, p), path, p)),
            Export("picture (PNG)", f"{name}.png", lambda path, p: _seen(_shown(state, p), path, p)),
            Export("page (HTML)", f"{name}.html", lambda path, p: _seen(_shown(state, p), path, p)),
            Export("meshes (NPZ)", f"{name}.npz", lambda path, p: _saved(_meshes(state, p), path)),
        ]
    if state.shown == "animation" and state.made is not None and state.made.report is not None:
        found.append(Export("origins (CSV)", f"{name}-origins.csv", lambda path, p: _origins(state, path)))
    if state.distances is not None:
        found.append(Export("matrix (NPZ)", "distances.npz", lambda path, p: _saved(state.distances, path)))
        found.append(Export("matrix (PNG)", "distances.png", lambda path, p: _seen(state.distances, path, p)))
    if state.repertoire is not None:
        found.append(Export("graph (MRY)", "graph.mry", lambda path, p: _saved(state.repertoire, path)))
        found.append(Export("graph (PNG)", "graph.png", lambda path, p: _seen(state.repertoire, path, p)))
    return found


def _shown(state: State, progress: Progress) -> MeshSequence | Animation:
    if state.shown == "animation" and state.made is not None:
        return state.made.animation
    return _meshes(state, progress)


def _meshes(state: State, progress: Progress) -> MeshSequence:
    if state.played is not None:
        return state.played
    assert state.between is not None and state.library is not None
    return state.between.sequence(state.library.sequences[0], progress)


def _saved(thing: Any, path: Path) -> None:
    from marey.io import save

    save(thing, path)


def _seen(thing: Any, path: Path, progress: Progress) -> None:
    from marey.views import view

    view(thing, path, size=SIZE, progress=progress)


def _origins(state: State, path: Path) -> None:
    from marey.io.constraints_csv import write_provenance

    assert state.made is not None and state.library is not None
    write_provenance(state.made.animation, state.library, path)
