"""The files that can be made of what the surface room shows."""

from __future__ import annotations

from pathlib import Path

from marey._work import Progress
from marey.studio.exports import made
from marey.studio.room import Export
from marey.studio.surface.state import State
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation


def exports(state: State) -> list[Export]:
    """What is played as meshes, clip, image and page; then origins, matrix and graph where there are any."""
    names = {"animation": "new-animation", "between": "between"}
    name = names.get(state.shown) or (state.played.name if state.played is not None else "") or "surface"
    found = []

    def meshes(_: Progress) -> MeshSequence:
        if state.played is not None:
            return state.played
        assert state.between is not None and state.library is not None
        return state.between.sequence(state.library.sequences[0])

    def shown(progress: Progress) -> MeshSequence | Animation:
        new = state.animation if state.shown == "animation" else None
        return meshes(progress) if new is None else new

    def origins(path: Path, _: Progress) -> None:
        from marey.io.constraints_csv import write_provenance

        assert state.animation is not None and state.library is not None
        write_provenance(state.animation, state.library, path)

    if state.played is not None or state.shown == "between":
        found = [
            made("animation", f"{name}.glb", meshes),
            made("clip", f"{name}.mp4", shown),
            made("image", f"{name}.png", shown),
            made("page", f"{name}.html", shown),
            made("meshes", f"{name}.npz", meshes),
        ]
    if state.shown == "animation" and state.animation is not None and state.animation.report is not None:
        found.append(Export("origins (CSV)", f"{name}-origins.csv", origins))
    if state.distances is not None:
        found += [
            made("matrix", f"distances{ending}", lambda _: state.distances) for ending in (".npz", ".png")
        ]
    if state.repertoire is not None:
        found += [made("graph", f"graph{ending}", lambda _: state.repertoire) for ending in (".mry", ".png")]
    return found
