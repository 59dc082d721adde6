"""Files that can be made of a crowd in the studio."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey._work import Progress
from marey.io._tables import write_table
from marey.studio.crowd.maps import PeopleMaps
from marey.studio.crowd.state import State
from marey.studio.exports import files_of, made
from marey.studio.room import Export


def crowd_exports(state: State) -> list[Export]:
    """All of a state, what it is most about first."""
    found: list[Export] = []
    tracks, flow, simulated = state.tracks, state.flow, state.simulated
    if tracks is not None:

        def bodies(progress: Progress) -> object:
            from marey.stage import walk

            return walk(tracks, progress=progress)

        shown = files_of("people", simulated or tracks, "people")
        tables = files_of("people", tracks, "people", without=(".mry",)) if simulated is not None else shown
        found += [export for export in tables if not export.name.endswith((".mp4", ".png", ".html", ".mry"))]
        found += [made("bodies", "bodies.glb", bodies), made("bodies", "bodies.html", bodies)]
        found += [export for export in shown if export.name.endswith((".mp4", ".png", ".html"))]
        found.append(Export("density (CSV)", "density.csv", lambda path, p: write_density(state, path, p)))
    if simulated is not None:
        found.append(made("simulation", "simulation.mry", lambda _: simulated))
    if flow is not None:

        def compressed(progress: Progress) -> object:
            from marey.crowd import codec

            return codec.compress(flow, progress=progress)

        found.append(made("flow", "flow.mry", compressed))
        found += files_of("flow", flow, "flow", without=(".mry", ".html"))
        found += [made(kind, f"{kind}.png", lambda _: flow, kind) for kind in ("divergence", "vorticity")]
    if state.scene is not None:
        found += files_of("scene", state.scene, "scene", without=(".mry",), still=True)
    if state.footage is not None:
        found.append(made("video", "video.png", lambda _: state.footage))
    return found


def write_density(state: State, path: Path, progress: Progress) -> None:
    """A table of the ground: mean and largest density, mean speed where people are; of up to 250 frames."""
    assert state.tracks is not None
    maps = PeopleMaps(state.tracks, state.floor, state.scene)
    frames = np.unique(np.linspace(0, state.tracks.frames - 1, 250).astype(int))
    total = most = weighted = np.zeros(maps.ground.free.shape)
    for done, frame in enumerate(frames):
        moment = maps.moment(int(frame))
        density = np.nan_to_num(moment.density)
        total, most = total + density, np.maximum(most, density)
        weighted = weighted + density * np.linalg.norm(np.nan_to_num(moment.velocity), axis=-1)
        progress(done + 1, len(frames))
    speed = weighted / np.maximum(total, 1e-9)
    free = maps.ground.free
    places = state.floor.low + (np.argwhere(free)[:, ::-1] + 0.5) * maps.ground.spacing
    cells = np.column_stack([total[free] / len(frames), most[free], speed[free]])
    rows = [
        (f"{x:.3f}", f"{y:.3f}", *(f"{value:.5g}" for value in cell))
        for (x, y), cell in zip(places, cells, strict=True)
    ]
    write_table(
        path,
        ("x_m", "y_m", "mean_density_per_m2", "largest_density_per_m2", "mean_speed_m_per_s"),
        rows,
    )
