"""Reader of rendered crowds, `read_dataset(folder)`: videos and fields are opened when they are used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.crowd.cameras import Camera
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scene import Scene
from marey.crowd.tracks import Tracks
from marey.errors import FormatError
from marey.filming.dataset import VERSION
from marey.io import cameras, scene_json, trajectories, video, zarr_store
from marey.io._files import read_bytes

MAX_MANIFEST = 64 << 20


@dataclass(frozen=True, eq=False)
class View:
    """Videos and ground truth of one camera.

    Attributes:
        path: its folder.
        camera: intrinsics and pose.
        films: names of its videos, `"shaded"` and `"flat"`.
    """

    path: Path
    camera: Camera
    films: tuple[str, ...]

    def footage(self, film: str | None = None) -> Footage:
        """A video by name; None = the first one."""
        chosen = film or self.films[0]
        if chosen not in self.films:
            raise FormatError(f"has no film {chosen!r}; it has {', '.join(self.films)}", path=self.path)
        return video.read(self.path / f"{chosen}.mp4")

    @cached_property
    def flow(self) -> FieldSeries:
        """Motion of every visible point, pixels per frame; presence 255 where a person is seen."""
        return zarr_store.read_fields(self.path / "flow.zarr")

    @cached_property
    def crowd_flow(self) -> FieldSeries:
        """Mean motion of the crowd at half a body's height, pixels per frame; presence by density."""
        return zarr_store.read_fields(self.path / "crowd_flow.zarr")

    def instance_ids(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint32]:
        """Who is seen at each pixel, `(frames, rows, columns)`: 1 + number among the ids; 0 nobody."""
        return _opened(self.path / "ids.zarr", "ids", start, stop).astype(np.uint32)

    @cached_property
    def visibility(self) -> Mapping[str, FloatArray]:
        """Columns frame, id, pixels, whole, share, left, top, right, bottom, each `(rows,)`."""
        return _table(self.path / "visibility.csv")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A rendered crowd and its ground truth.

    Attributes:
        path: its folder.
        manifest: content of `dataset.json`.
    """

    path: Path
    manifest: Mapping[str, Any]

    @cached_property
    def scene(self) -> Scene:
        """Walls, goals and groups."""
        return scene_json.read(self.path / "scene.json")

    @cached_property
    def tracks(self) -> Tracks:
        """Positions over time."""
        return trajectories.read(
            self.path / "trajectories.csv", frame_rate=float(self.manifest["frame_rate"])
        )

    def facts(self) -> dict[str, Any]:
        """What the folder holds, as `marey info` prints it."""
        tracks = self.tracks
        return {
            "kind": "crowd dataset",
            "frames": tracks.frames,
            "frame_rate": tracks.frame_rate,
            "duration": round(tracks.duration, 6),
            "agents": tracks.agents,
            "scene": self.scene.name,
            "cameras": ", ".join(self.views),
            "films": ", ".join(next(iter(self.views.values())).films),
        }

    @cached_property
    def people(self) -> Mapping[str, FloatArray]:
        """Columns id, number, radius, mass, response_time, desired_speed, group, stature, look."""
        return _table(self.path / "people.csv")

    @cached_property
    def ground_velocity(self) -> FieldSeries:
        """On the ground, cells per frame; its homography says where and how large the cells are."""
        return zarr_store.read_fields(self.path / "ground" / "velocity.zarr")

    def density(
        self, start: int = 0, stop: int | None = None, *, name: str = "density"
    ) -> NDArray[np.float32]:
        """People per square metre `(frames, rows, columns)`, NaN in obstacles; or divergence, vorticity."""
        return _opened(self.path / "ground" / "density.zarr", name, start, stop)

    @cached_property
    def views(self) -> Mapping[str, View]:
        """By the camera's name."""
        films = tuple(str(film) for film in self.manifest["films"])
        views = {}
        for name in self.manifest["cameras"]:
            camera = cameras.read(self.path / str(name) / "camera.json")
            if not isinstance(camera, Camera):
                raise FormatError(
                    "holds a homography, not a camera", path=self.path / str(name) / "camera.json"
                )
            views[str(name)] = View(self.path / str(name), camera, films)
        return views


def read_dataset(folder: Path | str) -> Dataset:
    """Open a folder written by `marey crowd dataset`; only its manifest is read at once."""
    path = Path(folder)
    manifest_path = path / "dataset.json"
    try:
        manifest = json.loads(read_bytes(manifest_path, limit=MAX_MANIFEST))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=manifest_path) from error
    if not isinstance(manifest, dict) or manifest.get("kind") != "crowd dataset":
        raise FormatError("is no crowd dataset", path=manifest_path)
    if manifest.get("version") != VERSION:
        raise FormatError(
            f"version {manifest.get('version')!r}; this marey reads {VERSION}: install a newer one",
            path=manifest_path,
        )
    lists = all(
        isinstance(manifest.get(key), list)
        and all(isinstance(item, str) and "/" not in item for item in manifest[key])
        for key in ("cameras", "films")
    )
    if not lists or not isinstance(manifest.get("frame_rate"), int | float):
        raise FormatError("lacks cameras, films or frame_rate", path=manifest_path)
    return Dataset(path, manifest)


def _table(path: Path) -> dict[str, FloatArray]:
    data = read_bytes(path)
    head, _, rows = data.partition(b"\n")
    names = head.decode("ascii", "replace").split(",")
    try:
        values = np.loadtxt(rows.decode("ascii").splitlines(), delimiter=",", ndmin=2)
        values = values.reshape(-1, len(names))
    except ValueError as error:
        raise FormatError(f"is a damaged table ({error})", path=path) from error
    return {name: values[:, number] for number, name in enumerate(names)}


def _opened(path: Path, name: str, start: int, stop: int | None) -> NDArray[Any]:
    import zarr

    if not (path / "zarr.json").is_file():
        raise FormatError("is not there, or no zarr store", path=path)
    try:
        return np.asarray(zarr.open_group(path, mode="r", zarr_format=3)[name][start:stop])
    except Exception as error:  # zarr raises whatever its parsers raise
        raise FormatError(
            f"is damaged, or has no {name} ({str(error).splitlines()[0]})", path=path
        ) from error
