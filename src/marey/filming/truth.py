"""What is known of a filmed crowd besides the pictures: tables of people, fields on the ground and in images.

All is written as it comes, a few frames at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey.crowd.cameras import Camera
from marey.crowd.density import DensityGrid
from marey.crowd.fields import known_presence
from marey.crowd.simulation.simulated import SimulatedCrowd
from marey.filming.people import People
from marey.filming.place import Backdrop
from marey.filming.studio import Shot
from marey.io import zarr_store

Array = NDArray[Any]

BODY_HEIGHT = 0.9
"""Metres above the ground at which the crowd's mean motion is seen in the image."""

# Pixels: steps of the smooth field in the file, which compresses so much better.
STEP = 1 / 128
CHUNK = 16


def write_tables(crowd: SimulatedCrowd, people: People, folder: Path) -> None:
    """`trajectories.csv` (a row a person and frame) and `people.csv` (a row a person)."""
    tracks = crowd.tracks
    assert tracks.ids is not None
    with (folder / "trajectories.csv").open("w", encoding="ascii", newline="") as file:
        file.write("frame,id,x,y,vx,vy,r,group,time\n")
        for frame, present in enumerate(tracks.present):
            here = np.flatnonzero(present)
            columns = (
                tracks.ids[here],
                *crowd.positions[frame, here].T,
                *np.nan_to_num(crowd.velocities[frame, here]).T,
                crowd.radius[here],
                crowd.group[here],
            )
            row = f"{frame},%d,%.5f,%.5f,%.5f,%.5f,%.4f,%d,{frame / tracks.frame_rate:.4f}\n"
            file.writelines(
                row % values for values in zip(*(column.tolist() for column in columns), strict=True)
            )
    with (folder / "people.csv").open("w", encoding="ascii", newline="") as file:
        file.write("id,number,radius,mass,response_time,desired_speed,group,stature,look\n")
        for n, person in enumerate(tracks.ids.tolist()):
            traits = (crowd.radius[n], crowd.mass[n], crowd.response_time[n], crowd.desired_speed[n])
            file.write(f"{person},{n + 1},{','.join(f'{value:.5g}' for value in traits)},")
            file.write(f"{crowd.group[n]},{people.statures[n]:.3f},{people.looks[n]}\n")


def write_ground(crowd: SimulatedCrowd, ground: DensityGrid, folder: Path, progress: Progress | None) -> None:
    """`velocity.zarr`, a field series in cells per frame, and `density.zarr`, people per square metre."""
    import zarr

    rows, columns = ground.free.shape
    group = zarr.open_group(folder / "density.zarr", mode="w", zarr_format=3)
    names = ("density", "divergence", "vorticity")
    arrays = {
        name: group.create_array(
            name,
            shape=(crowd.frames, rows, columns),
            chunks=(CHUNK, rows, columns),
            dtype="float32",
            config={"write_empty_chunks": True},
        )
        for name in names
    }
    group.attrs["marey"] = {
        "kind": "Density",
        "version": 1,
        "frame_rate": crowd.frame_rate,
        "spacing": ground.spacing,
        "width": ground.width,
        "homography": ground.homography.tolist(),
    }
    waiting: dict[str, list[Array]] = {name: [] for name in names}
    with zarr_store.FieldWriter(
        folder / "velocity.zarr",
        rows,
        columns,
        crowd.frame_rate,
        mask=ground.free[::-1],
        homography=ground.homography,
        name="ground velocity",
        with_presence=True,
    ) as writer:
        for frame, moment in enumerate(ground.frames(crowd.tracks, crowd.velocities)):
            velocity, presence = ground.as_image(moment, crowd.frame_rate)
            writer.append(velocity[None], presence[None])
            for name in names:
                waiting[name].append(getattr(moment, name)[::-1].astype(np.float32))
            if len(waiting["density"]) == CHUNK or frame + 1 == crowd.frames:
                for name in names:
                    start = frame + 1 - len(waiting[name])
                    arrays[name][start : frame + 1] = np.stack(waiting[name])
                    waiting[name].clear()
            if progress is not None:
                progress(frame + 1, crowd.frames)


class CrowdFlow:
    """The mean motion of the crowd in a camera's image: ground velocity moved up to half a body's height."""

    def __init__(self, ground: DensityGrid, camera: Camera, backdrop: Backdrop, frame_rate: float) -> None:
        columns, rows = camera.size
        pixels = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).astype(np.float64)
        places = camera.to_ground(pixels, height=BODY_HEIGHT)
        width, depth = ground.scene.size
        x, y = places[..., 0], places[..., 1]
        with np.errstate(invalid="ignore"):
            known = np.isfinite(x) & (x >= 0) & (x <= width) & (y >= 0) & (y <= depth)
        world = np.concatenate(
            [np.where(known[..., None], places, 0.0), np.full((*known.shape, 1), BODY_HEIGHT)], -1
        )
        deep = (world @ camera.rotation.T + camera.translation)[..., 2]
        # A wall in front hides the crowd.
        known &= 1.0 / np.where(deep > 0, deep, np.inf) >= backdrop.depths[..., -1] * 0.999
        to_cells = np.linalg.inv(ground.homography)
        self.mask = known
        self._column = np.where(known, to_cells[0, 0] * x + to_cells[0, 2], -9.0).astype(np.float32)
        self._row = np.where(known, to_cells[1, 1] * y + to_cells[1, 2], -9.0).astype(np.float32)
        self._places, self._pixels = np.where(known[..., None], places, 0.0), pixels
        self._plane = np.linalg.inv(camera.homography_at(BODY_HEIGHT))
        self._spacing, self._free = ground.spacing, ground.free[::-1]
        sampled = self._sampled(self._free.astype(np.float32))
        self.mask &= sampled > 0.5

    def image_of(self, velocity: Array, presence: Array) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Pixels per frame `(rows, columns, 2)` and presence, of a frame of `ground_frames`."""
        moved = np.stack([self._sampled(velocity[..., 0]), -self._sampled(velocity[..., 1])], axis=-1)
        later = self._places + moved * self._spacing
        image = later @ self._plane[:, :2].T + self._plane[:, 2]
        flow = image[..., :2] / image[..., 2:] - self._pixels
        near = self._sampled(presence.astype(np.float32)) * self.mask
        seen = known_presence(np.rint(near).astype(np.uint8))
        flow = np.where((seen > 0)[..., None], np.rint(flow / STEP) * STEP, 0.0)
        return flow.astype(np.float32), seen

    def _sampled(self, values: Array) -> Array:
        import cv2

        return np.asarray(
            cv2.remap(
                np.ascontiguousarray(values, dtype=np.float32),
                self._column,
                self._row,
                cv2.INTER_LINEAR,
                borderMode=cv2.BORDER_REPLICATE,
            )
        )


def ground_frames(path: Path) -> Iterator[tuple[Array, Array]]:
    """Velocity and presence of `velocity.zarr`, frame by frame."""
    for block in zarr_store.field_blocks(path):
        assert block.presence is not None
        yield from zip(block.velocities, block.presence, strict=True)


class Seen:
    """`visibility.csv`: a row a person and frame."""

    HEAD = "frame,id,pixels,whole,share,left,top,right,bottom\n"

    def __init__(self, file: TextIO, ids: Array) -> None:
        self._file, self._ids = file, ids
        file.write(self.HEAD)

    def append(self, frame: int, shot: Shot) -> None:
        """Those of whom some part would be in the picture if nothing stood before them."""
        inside = np.flatnonzero(shot.alone > 0)
        share = shot.pixels[inside] / shot.alone[inside]
        columns = (
            self._ids[shot.people[inside]],
            shot.pixels[inside],
            shot.alone[inside],
            share,
            *shot.boxes[inside].T,
        )
        row = f"{frame},%d,%d,%d,%.4f,%.2f,%.2f,%.2f,%.2f\n"
        self._file.writelines(row % values for values in zip(*(c.tolist() for c in columns), strict=True))
