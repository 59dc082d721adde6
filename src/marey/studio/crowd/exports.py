"""Files that can be made of a crowd in the studio."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from marey._work import Progress
from marey.crowd.fields import FieldSeries
from marey.io._files import atomic_write
from marey.studio.crowd.maps import PeopleMaps
from marey.studio.crowd.state import State
from marey.studio.panel import Export

# Frames looked at for the table of densities.
LOOKED_AT = 250


def crowd_exports(state: State) -> list[Export]:
    """All of a state, what it is most about first."""
    made: list[Export] = []
    if state.tracks is not None:
        shown = state.simulated or state.tracks
        made += [
            Export("people (CSV)", "people.csv", _saved(state.tracks)),
            Export("people (Parquet)", "people.parquet", _saved(state.tracks)),
            Export("bodies (GLB)", "bodies.glb", _bodies(state)),
            Export("bodies (HTML)", "bodies.html", _bodies(state)),
            Export("people (MP4)", "people.mp4", _viewed(shown)),
            Export("ways (PNG)", "ways.png", _viewed(shown)),
            Export("people (HTML)", "people.html", _viewed(shown)),
            Export("density (CSV)", "density.csv", _density(state)),
        ]
        if state.simulated is not None:
            made.append(Export("simulation (MRY)", "simulation.mry", _saved(state.simulated)))
    if state.flow is not None:
        made += [
            Export("flow (MRY)", "flow.mry", _compressed(state.flow)),
            Export("flow (Zarr, ZIP)", "flow.zarr.zip", _zipped(state.flow)),
            Export("flow (PNG)", "flow.png", _viewed(state.flow)),
            Export("flow (MP4)", "flow.mp4", _viewed(state.flow)),
            Export("divergence (PNG)", "divergence.png", _viewed(state.flow, kind="divergence")),
            Export("turning (PNG)", "turning.png", _viewed(state.flow, kind="vorticity")),
        ]
    if state.scene is not None:
        made += [
            Export("place (JSON)", "place.json", _saved(state.scene)),
            Export("place (PNG)", "place.png", _viewed(state.scene)),
        ]
    if state.footage is not None:
        made.append(Export("film (PNG)", "film.png", _viewed(state.footage)))
    return made


def _saved(thing: Any) -> Callable[[Path, Progress], None]:
    def write(path: Path, progress: Progress) -> None:
        from marey.io import save

        save(thing, path, progress=progress)

    return write


def _viewed(thing: Any, **options: Any) -> Callable[[Path, Progress], None]:
    def write(path: Path, progress: Progress) -> None:
        from marey.views.render import view

        view(thing, path, progress=progress, **options)

    return write


def _bodies(state: State) -> Callable[[Path, Progress], None]:
    """Everyone as a whole walking body, a variant of captured walks."""

    def write(path: Path, progress: Progress) -> None:
        from marey.stage import walk
        from marey.views.render import view

        assert state.tracks is not None
        crowd = walk(state.tracks, progress=lambda done, total: progress(done, 2 * total))
        if path.suffix == ".glb":
            crowd.save(path, progress=lambda done, total: progress(total + done, 2 * total))
        else:
            view(crowd, path, progress=lambda done, total: progress(total + done, 2 * total))

    return write


def _compressed(fields: FieldSeries) -> Callable[[Path, Progress], None]:
    def write(path: Path, progress: Progress) -> None:
        from marey.crowd import codec
        from marey.io import save

        save(codec.compress(fields, progress=progress), path)

    return write


def _zipped(fields: FieldSeries) -> Callable[[Path, Progress], None]:
    def write(path: Path, progress: Progress) -> None:
        from marey.io import save

        folder = path.with_suffix("")
        save(fields, folder, progress=progress)
        with atomic_write(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    archive.write(file, Path(folder.name) / file.relative_to(folder))

    return write


def _density(state: State) -> Callable[[Path, Progress], None]:
    """A table of the ground: mean and largest density, mean speed where people are."""

    def write(path: Path, progress: Progress) -> None:
        assert state.tracks is not None
        maps = PeopleMaps(state.tracks, state.floor, state.scene)
        frames = np.unique(np.linspace(0, state.tracks.frames - 1, LOOKED_AT).astype(int))
        total = most = weighted = np.zeros(maps.ground.free.shape)
        for done, frame in enumerate(frames):
            moment = maps.moment(int(frame))
            density = np.nan_to_num(moment.density)
            total, most = total + density, np.maximum(most, density)
            weighted = weighted + density * np.linalg.norm(np.nan_to_num(moment.velocity), axis=-1)
            progress(done + 1, len(frames))
        speed = weighted / np.maximum(total, 1e-9)
        spacing = maps.ground.spacing
        with atomic_write(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(
                ["x_m", "y_m", "mean_density_per_m2", "largest_density_per_m2", "mean_speed_m_per_s"]
            )
            for row, column in np.argwhere(maps.ground.free):
                x, y = state.floor.low + (np.array([column, row]) + 0.5) * spacing
                cell = (total[row, column] / len(frames), most[row, column], speed[row, column])
                table.writerow([f"{x:.3f}", f"{y:.3f}", *(f"{value:.5g}" for value in cell)])

    return write
