"""A simulated crowd rendered with its ground truth, as a folder, and its reader (Courty 2013, section 6.3).

Per scene and scenario: trajectories, density and velocity on the ground; per camera: videos in two lights,
identity and motion of every pixel, the crowd's mean motion, and how much of everyone is visible. Frames are
rendered and written one by one; the folder appears whole or not at all. When read, videos and fields are
opened when they are used.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import __version__
from marey._arrays import AnyArray, BoolArray, FloatArray
from marey._random import Rng
from marey._work import Progress
from marey.crowd.cameras import Camera
from marey.crowd.density import DensityGrid
from marey.crowd.evaluation.fields import Truth
from marey.crowd.fields import FieldSeries, Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd, simulate
from marey.crowd.tracks import Tracks
from marey.errors import FormatError, InputError, MareyWarning
from marey.filming.pedestrians import RenderedPedestrians
from marey.filming.renderer import CrowdRenderer, RenderedFrame, camera_of
from marey.filming.truth import (
    BODY_HEIGHT,
    CrowdFlow,
    VisibilityTable,
    ground_frames,
    write_ground,
    write_tables,
)
from marey.io import cameras, scene_json, trajectories, video, zarr_store
from marey.io._files import atomic_write_folder, check_folder_target, read_bytes

VERSION = 1
LIGHTS = {"on": "shaded", "off": "flat"}
"""Names of the videos by whether there is shading."""

SIZE, FRAME_RATE = (640, 480), 25.0
MIN_SIZE, MAX_SIZE = 16, 4096


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        frames, people: how many.
        files: relative to the folder.
    """

    frames: int
    people: int
    files: list[str]


def write_dataset(
    scene: Scene,
    folder: Path | str,
    *,
    views: Sequence[str | Camera] = ("above",),
    shading: Sequence[str] = ("on",),
    size: tuple[int, int] = SIZE,
    seconds: float | None = None,
    rng: Rng = 0,
    noise: float = 0.0,
    progress: Progress | None = None,
) -> Report:
    """Simulate a scene, render it, and write videos and ground truth to a folder.

    Args:
        scene: what is simulated.
        folder: to write.
        views: `"above"`, `"side"`, or cameras with different names.
        shading: `"on"` (sun, sky and shadows), `"off"` (colours alone), or both.
        size: (columns, rows) of the images of named views.
        seconds: length; the scene's own if None.
        rng: seed, or generator that a seed is drawn from.
        noise: standard deviation of the sensor's noise, in grey levels of 255.
        progress: called with frames done and in all.
    """
    _check_size(size)
    check_folder_target(Path(folder))
    chosen = [camera_of(scene, view, size=size) if isinstance(view, str) else view for view in views]
    _check(chosen, shading, noise)
    crowd = simulate(scene, seconds=seconds, frame_rate=FRAME_RATE, rng=rng)
    return film_crowd(crowd, folder, cameras=chosen, shading=shading, noise=noise, progress=progress)


def film_crowd(
    crowd: SimulatedCrowd,
    folder: Path | str,
    *,
    cameras: Sequence[Camera],
    shading: Sequence[str] = ("on",),
    noise: float = 0.0,
    progress: Progress | None = None,
) -> Report:
    """Render a crowd that was simulated before; see :func:`write_dataset`."""
    _check(cameras, shading, noise)
    if crowd.frames < 2:
        raise InputError("dataset: one frame has no motion; at least two are needed")
    if not np.nanmax(np.abs(np.diff(crowd.tracks.positions, axis=0)), initial=0.0) > 0.0:
        warnings.warn(
            f"no pedestrian moves in these {crowd.frames / crowd.frame_rate:g} s; "
            f"people rest for {crowd.scene.hold:g} s at the start (--hold)",
            MareyWarning,
            stacklevel=2,
        )
    passes = 1 + len(cameras) * len(shading)
    people = RenderedPedestrians(crowd.tracks, rng=crowd.seed)

    def part(number: int) -> Progress | None:
        if progress is None:
            return None
        return lambda done, total: progress(number * crowd.frames + done, passes * crowd.frames)

    with atomic_write_folder(Path(folder)) as draft:
        scene_json.write(crowd.scene, draft / "scene.json")
        write_tables(crowd, people, draft)
        ground = DensityGrid(crowd.scene)
        (draft / "ground").mkdir()
        write_ground(crowd, ground, draft / "ground", part(0))
        for number, camera in enumerate(cameras):
            steps = [part(1 + number * len(shading) + light) for light in range(len(shading))]
            _write_view(crowd, people, ground, camera, draft, shading, noise, steps)
        manifest = _manifest(crowd, people, ground, cameras, shading, noise)
        (draft / "dataset.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        files = sorted(_names(draft))
    return Report(crowd.frames, crowd.agents, files)


def _write_view(
    crowd: SimulatedCrowd,
    people: RenderedPedestrians,
    ground: DensityGrid,
    camera: Camera,
    folder: Path,
    shading: Sequence[str],
    noise: float,
    steps: Sequence[Progress | None],
) -> None:
    """Write everything of one camera; the ground truth, the same in all lights, in the first pass."""
    home = folder / camera.name
    home.mkdir()
    cameras.write(camera, home / "camera.json")
    for number, light in enumerate(shading):
        renderer = CrowdRenderer(crowd.scene, camera, shading=light == "on")
        frames = renderer.frames(people)
        rng = np.random.default_rng([crowd.seed, number])
        with ExitStack() as stack:
            if number == 0:
                frames = _with_truth(frames, crowd, ground, renderer, folder, stack)
            images = (_noisy(frame.image, noise, rng) for frame in frames)
            video.write_frames(
                images,
                home / f"{LIGHTS[light]}.mp4",
                frame_rate=crowd.frame_rate,
                progress=steps[number],
                total=crowd.frames,
            )


def _with_truth(
    frames: Iterator[RenderedFrame],
    crowd: SimulatedCrowd,
    ground: DensityGrid,
    renderer: CrowdRenderer,
    folder: Path,
    stack: ExitStack,
) -> Iterator[RenderedFrame]:
    """The frames in turn, each with its ground truth written."""
    camera = renderer.camera
    home = folder / camera.name
    columns, rows = camera.size
    mean = CrowdFlow(ground, camera, renderer.background, crowd.frame_rate)

    def writer(name: str, mask: BoolArray | None, homography: FloatArray) -> zarr_store.FieldWriter:
        return stack.enter_context(
            zarr_store.FieldWriter(
                home / f"{name.replace(' ', '_')}.zarr",
                rows,
                columns,
                crowd.frame_rate,
                mask=mask,
                homography=homography,
                name=name,
                precision="float16",
                with_foreground=True,
            )
        )

    flows = writer("flow", None, camera.homography)
    crowd_flows = writer("crowd flow", mean.mask, camera.homography_at(BODY_HEIGHT))
    assert crowd.tracks.ids is not None
    file = stack.enter_context((home / "visibility.csv").open("w", encoding="ascii", newline=""))
    visibility = VisibilityTable(file, crowd.tracks.ids)
    dtype = np.dtype(np.uint16 if crowd.agents < 2**16 - 1 else np.uint32)
    ids = zarr_store.GrowingArrays.create(
        home / "ids.zarr", "Identities", crowd.frame_rate, "ids", {}, {}, {"ids": ((rows, columns), dtype)}
    )
    stack.callback(ids.close)
    below = ground_frames(folder / "ground" / "velocity.zarr")
    for number, frame in enumerate(frames):
        ids.append(ids=frame.instance_ids[None].astype(dtype))
        visibility.append(number, frame)
        velocity, foreground = next(below)
        if number + 1 < crowd.frames:
            flows.append(frame.flow[None], np.where(frame.instance_ids > 0, 255, 0).astype(np.uint8)[None])
            mean_flow, near = mean.image_of(velocity, foreground)
            crowd_flows.append(mean_flow[None], near[None])
        yield frame


def _manifest(
    crowd: SimulatedCrowd,
    people: RenderedPedestrians,
    ground: DensityGrid,
    views: Sequence[Camera],
    shading: Sequence[str],
    noise: float,
) -> dict[str, object]:
    assert crowd.tracks.ids is not None
    return {
        "kind": "crowd dataset",
        "version": VERSION,
        "marey": __version__,
        "scene": crowd.scene.name,
        "frames": crowd.frames,
        "frame_rate": crowd.frame_rate,
        "people": crowd.agents,
        "hold": crowd.scene.hold,
        "seed": crowd.seed,
        "parameters": asdict(crowd.parameters),
        "looks": len(np.unique(people.looks)),
        "ground": {"spacing": ground.spacing, "width": ground.width, "adaptive": ground.adaptive},
        "cameras": [camera.name for camera in views],
        "shading": list(shading),
        "films": [LIGHTS[light] for light in shading],
        "noise": noise,
        "ids": crowd.tracks.ids.tolist(),
    }


def _check(views: Sequence[Camera], shading: Sequence[str], noise: float) -> None:
    if not views or not shading:
        raise InputError("dataset: give at least one camera and one shading")
    names = [camera.name for camera in views]
    if len(set(names)) < len(names) or any(not name or "/" in name or name in (".", "..") for name in names):
        raise InputError(f"cameras: names must differ, got {', '.join(names)}")
    for camera in views:
        _check_size(camera.size)
    for light in shading:
        if light not in LIGHTS:
            raise InputError(f"shading {light!r}: one of {', '.join(LIGHTS)}")
    if len(set(shading)) < len(shading):
        raise InputError("shading: each kind only once, not twice")
    if not 0.0 <= noise < 128.0:
        raise InputError(f"noise: from 0 to 128 grey levels, got {noise:g}")


def _check_size(size: tuple[int, int]) -> None:
    if not all(MIN_SIZE <= side <= MAX_SIZE and side % 2 == 0 for side in size):
        raise InputError(f"size: even numbers from {MIN_SIZE} to {MAX_SIZE} pixels, got {size[0]}x{size[1]}")


def _noisy(image: NDArray[np.uint8], level: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    if level == 0.0:
        return image
    noise = rng.normal(0.0, level, image.shape).astype(np.float32)
    return np.asarray(np.clip(np.rint(image + noise), 0, 255).astype(np.uint8))


def _names(folder: Path) -> Iterator[str]:
    """Files, and zarr stores as one each."""
    for entry in folder.iterdir():
        if entry.is_dir() and entry.suffix != ".zarr":
            yield from (f"{entry.name}/{name}" for name in _names(entry))
        else:
            yield entry.name


MAX_MANIFEST = 64 << 20


@dataclass(frozen=True, eq=False)
class View:
    """Videos and ground truth of one camera.

    Attributes:
        path: its folder.
        camera: intrinsics and pose.
        videos: their names, `"shaded"` and `"flat"`.
    """

    path: Path
    camera: Camera
    videos: tuple[str, ...]

    def footage(self, name: str | None = None) -> Footage:
        """A video by name; None = the first one."""
        chosen = name or self.videos[0]
        if chosen not in self.videos:
            raise FormatError(f"has no video {chosen!r}; it has {', '.join(self.videos)}", path=self.path)
        return video.read(self.path / f"{chosen}.mp4")

    @cached_property
    def flow(self) -> FieldSeries:
        """Motion of every visible point, pixels per frame; foreground 255 where a person is seen."""
        return zarr_store.read_fields(self.path / "flow.zarr")

    @cached_property
    def crowd_flow(self) -> FieldSeries:
        """Mean motion of the crowd at half a body's height, pixels per frame; foreground by density."""
        return zarr_store.read_fields(self.path / "crowd_flow.zarr")

    def instance_ids(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint32]:
        """Who is seen at each pixel, `(frames, rows, columns)`: 1 + number among the ids; 0 for none."""
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

    def facts(self) -> dict[str, object]:
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
            "videos": ", ".join(next(iter(self.views.values())).videos),
        }

    def truth(self, view: str | None = None, *, visible: bool = False, all_pixels: bool = False) -> Truth:
        """What captured motion is compared with, see :func:`marey.crowd.evaluate`.

        Args:
            view: Which camera; the first if None.
            visible: The motion of every visible point, not that of the crowd as a whole.
            all_pixels: Pixels without people count too.
        """
        name = view or next(iter(self.views))
        if name not in self.views:
            raise InputError(f"view {name}: {self.path} has {', '.join(self.views)}")
        fields = self.views[name].crowd_flow
        if visible:
            # Paths on the ground are those of bodies, which the crowd's field places at half their height.
            fields = replace(self.views[name].flow, homography=fields.homography)
        return Truth(fields, self.tracks, all_pixels)

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
        films = tuple(str(name) for name in self.manifest["films"])
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


def _opened(path: Path, name: str, start: int, stop: int | None) -> AnyArray:
    import zarr

    if not (path / "zarr.json").is_file():
        raise FormatError("is not there, or no zarr store", path=path)
    try:
        return np.asarray(zarr.open_group(path, mode="r", zarr_format=3)[name][start:stop])
    except Exception as error:  # zarr raises whatever its parsers raise
        raise FormatError(
            f"is damaged, or has no {name} ({str(error).splitlines()[0]})", path=path
        ) from error
