"""A simulated crowd filmed with its ground truth, as a folder (Courty 2013, section 6.3).

Per scene and scenario: trajectories, density and velocity on the ground; per camera: films in two lights, who
is seen at every pixel, where every visible point goes, the crowd's mean motion, and how much of everyone is
visible. Frames are made and written one by one; the folder appears whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import __version__
from marey._progress import Progress
from marey._random import Rng
from marey.crowd.cameras import Camera
from marey.crowd.density import DensityGrid
from marey.crowd.scene import Scene
from marey.crowd.simulation.running import simulate
from marey.crowd.simulation.simulated import SimulatedCrowd
from marey.errors import InputError
from marey.filming.cameras import camera_of
from marey.filming.people import People
from marey.filming.studio import Shot, Studio
from marey.filming.truth import BODY_HEIGHT, CrowdFlow, Seen, ground_frames, write_ground, write_tables
from marey.io import cameras, scene_json, video, zarr_store
from marey.io._files import atomic_write_folder, check_folder_target

VERSION = 1
LIGHTS = {"on": "shaded", "off": "flat"}
"""Names of the films by whether there is shading."""

SIZE, FRAME_RATE = (640, 480), 25.0
LARGEST, SMALLEST = 4096, 16
MOST_PEOPLE = 20_000


@dataclass(frozen=True)
class Report:
    """What was written: frames, people, and files relative to the folder."""

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
    """Simulate a scene, film it, and write films and truth to a folder.

    views: `"above"`, `"side"`, or cameras with names of their own
    shading: `"on"` (sun, sky and shadows), `"off"` (colours alone), or both
    size: (columns, rows) of the pictures of named views
    rng: seed, or generator that a seed is drawn from; others give other people at other places
    noise: standard deviation of the sensor's noise, in grey levels of 255
    """
    _check_size(size)
    check_folder_target(Path(folder))
    chosen = [camera_of(scene, view, size=size) if isinstance(view, str) else view for view in views]
    _check(chosen, shading, noise)
    crowd = simulate(scene, seconds=seconds, frame_rate=FRAME_RATE, rng=rng)
    if crowd.agents > MOST_PEOPLE:
        raise InputError(f"people: at most {MOST_PEOPLE} are filmed, these are {crowd.agents}")
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
    """Film a crowd that was simulated before; see :func:`write_dataset`."""
    _check(cameras, shading, noise)
    if crowd.frames < 2:
        raise InputError("dataset: one frame has no motion; film at least two")
    passes = 1 + len(cameras) * len(shading)
    people = People(crowd.tracks, rng=crowd.seed)

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
            _film(crowd, people, ground, camera, draft, shading, noise, steps)
        manifest = _manifest(crowd, people, ground, cameras, shading, noise)
        (draft / "dataset.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        files = sorted(_names(draft))
    return Report(crowd.frames, crowd.agents, files)


def _film(
    crowd: SimulatedCrowd,
    people: People,
    ground: DensityGrid,
    camera: Camera,
    folder: Path,
    shading: Sequence[str],
    noise: float,
    steps: Sequence[Progress | None],
) -> None:
    """Everything of one camera; the truth, which light does not change, in the first pass."""
    home = folder / camera.name
    home.mkdir()
    cameras.write(camera, home / "camera.json")
    for number, light in enumerate(shading):
        studio = Studio(crowd.scene, camera, shading=light == "on")
        shots = studio.film(people)
        rng = np.random.default_rng([crowd.seed, number])
        with ExitStack() as stack:
            if number == 0:
                shots = _with_truth(shots, crowd, ground, studio, folder, stack)
            images = (_noisy(shot.image, noise, rng) for shot in shots)
            video.write_frames(
                images,
                home / f"{LIGHTS[light]}.mp4",
                frame_rate=crowd.frame_rate,
                progress=steps[number],
                total=crowd.frames,
            )


def _with_truth(
    shots: Iterator[Shot],
    crowd: SimulatedCrowd,
    ground: DensityGrid,
    studio: Studio,
    folder: Path,
    stack: ExitStack,
) -> Iterator[Shot]:
    """The shots as they come, each written down on the way."""
    camera = studio.camera
    home = folder / camera.name
    columns, rows = camera.size
    mean = CrowdFlow(ground, camera, studio.backdrop, crowd.frame_rate)
    size = rows, columns, crowd.frame_rate
    flows = stack.enter_context(
        zarr_store.FieldWriter(
            home / "flow.zarr",
            *size,
            homography=camera.homography,
            name="flow",
            precision="float16",
            with_presence=True,
        )
    )
    crowd_flows = stack.enter_context(
        zarr_store.FieldWriter(
            home / "crowd_flow.zarr",
            *size,
            mask=mean.mask,
            homography=camera.homography_at(BODY_HEIGHT),
            name="crowd flow",
            precision="float16",
            with_presence=True,
        )
    )
    assert crowd.tracks.ids is not None
    file = stack.enter_context((home / "visibility.csv").open("w", encoding="ascii", newline=""))
    seen = Seen(file, crowd.tracks.ids)
    numbers = stack.enter_context(_NumberWriter(home / "ids.zarr", crowd, camera))
    below = ground_frames(folder / "ground" / "velocity.zarr")
    for frame, shot in enumerate(shots):
        numbers.append(shot.numbers)
        seen.append(frame, shot)
        velocity, presence = next(below)
        if frame + 1 < crowd.frames:
            flows.append(shot.flow[None], np.where(shot.numbers > 0, 255, 0).astype(np.uint8)[None])
            mean_flow, near = mean.image_of(velocity, presence)
            crowd_flows.append(mean_flow[None], near[None])
        yield shot


class _NumberWriter:
    """`ids.zarr`: an array `ids` `(frames, rows, columns)` that is filled chunk by chunk."""

    def __init__(self, path: Path, crowd: SimulatedCrowd, camera: Camera) -> None:
        import zarr

        columns, rows = camera.size
        self._dtype = np.uint16 if crowd.agents < 2**16 - 1 else np.uint32
        group = zarr.open_group(path, mode="w", zarr_format=3)
        assert crowd.tracks.ids is not None
        group.attrs["marey"] = {"kind": "Identities", "version": 1, "frame_rate": crowd.frame_rate}
        self._chunk = max(1, (4 << 20) // (rows * columns * self._dtype().itemsize))
        self._array = group.create_array(
            "ids",
            shape=(crowd.frames, rows, columns),
            chunks=(self._chunk, rows, columns),
            dtype=np.dtype(self._dtype).name,
            config={"write_empty_chunks": True},
        )
        self._waiting: list[NDArray[Any]] = []
        self._done = 0

    def append(self, numbers: NDArray[np.uint32]) -> None:
        self._waiting.append(numbers.astype(self._dtype))
        if len(self._waiting) == self._chunk:
            self._store()

    def __enter__(self) -> _NumberWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None and self._waiting:
            self._store()

    def _store(self) -> None:
        block = np.stack(self._waiting)
        self._array[self._done : self._done + len(block)] = block
        self._done += len(block)
        self._waiting.clear()


def _manifest(
    crowd: SimulatedCrowd,
    people: People,
    ground: DensityGrid,
    views: Sequence[Camera],
    shading: Sequence[str],
    noise: float,
) -> dict[str, Any]:
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
        raise InputError(f"cameras: each needs a name of its own, these are called {', '.join(names)}")
    for camera in views:
        _check_size(camera.size)
    for light in shading:
        if light not in LIGHTS:
            raise InputError(f"shading {light!r}: one of {', '.join(LIGHTS)}")
    if len(set(shading)) < len(shading):
        raise InputError("shading: the same twice")
    if not 0.0 <= noise < 128.0:
        raise InputError(f"noise: from 0 to 128 grey levels, got {noise:g}")


def _check_size(size: tuple[int, int]) -> None:
    if not all(SMALLEST <= side <= LARGEST and side % 2 == 0 for side in size):
        raise InputError(f"size: even numbers from {SMALLEST} to {LARGEST} pixels, got {size[0]}x{size[1]}")


def _noisy(image: NDArray[np.uint8], level: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    if level == 0.0:
        return image
    noise = rng.normal(0.0, level, image.shape).astype(np.float32)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


def _names(folder: Path) -> Iterator[str]:
    """Files, and zarr stores as one each."""
    for entry in folder.iterdir():
        if entry.is_dir() and entry.suffix != ".zarr":
            yield from (f"{entry.name}/{name}" for name in _names(entry))
        else:
            yield entry.name
