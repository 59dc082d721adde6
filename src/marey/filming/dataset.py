"""A simulated crowd rendered with its ground truth, as a folder (Courty 2013, section 6.3).

Per scene and scenario: trajectories, density and velocity on the ground; per camera: videos in two lights,
identity and motion of every pixel, the crowd's mean motion, and how much of everyone is visible. Frames are
rendered and written one by one; the folder appears whole or not at all.
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
from marey._random import Rng
from marey._work import Progress
from marey.crowd.cameras import Camera
from marey.crowd.density import DensityGrid
from marey.crowd.scene import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd, simulate
from marey.errors import InputError
from marey.filming.cameras import camera_of
from marey.filming.pedestrians import RenderedPedestrians
from marey.filming.renderer import CrowdRenderer, RenderedFrame
from marey.filming.truth import (
    BODY_HEIGHT,
    CrowdFlow,
    VisibilityTable,
    ground_frames,
    write_ground,
    write_tables,
)
from marey.io import cameras, scene_json, video, zarr_store
from marey.io._files import atomic_write_folder, check_folder_target

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

    def writer(name: str, mask: Any, homography: Any) -> zarr_store.FieldWriter:
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
                with_presence=True,
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
        velocity, presence = next(below)
        if number + 1 < crowd.frames:
            flows.append(frame.flow[None], np.where(frame.instance_ids > 0, 255, 0).astype(np.uint8)[None])
            mean_flow, near = mean.image_of(velocity, presence)
            crowd_flows.append(mean_flow[None], near[None])
        yield frame


def _manifest(
    crowd: SimulatedCrowd,
    people: RenderedPedestrians,
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
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


def _names(folder: Path) -> Iterator[str]:
    """Files, and zarr stores as one each."""
    for entry in folder.iterdir():
        if entry.is_dir() and entry.suffix != ".zarr":
            yield from (f"{entry.name}/{name}" for name in _names(entry))
        else:
            yield entry.name
