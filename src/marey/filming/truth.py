"""Ground truth of a rendered crowd besides the images: tables of people, fields on the ground and in images.

Everything is written frame by frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from marey._arrays import AnyArray as Array
from marey._work import Progress
from marey.crowd.cameras import Camera
from marey.crowd.density import DensityGrid
from marey.crowd.fields import known_foreground
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.filming.pedestrians import RenderedPedestrians
from marey.filming.renderer import Background, RenderedFrame
from marey.io import zarr_store

BODY_HEIGHT = 0.9
"""Metres above the ground at which the crowd's mean motion is seen in the image."""

# Pixels to which the smooth field is rounded, so that it compresses well.
STEP = 1 / 128


def write_tables(crowd: SimulatedCrowd, people: RenderedPedestrians, folder: Path) -> None:
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
            file.write(f"{crowd.group[n]},{people.crowd.heights[n]:.3f},{people.looks[n]}\n")


def write_ground(crowd: SimulatedCrowd, ground: DensityGrid, folder: Path, progress: Progress | None) -> None:
    """`velocity.zarr`, a field series in cells per frame, and `density.zarr`, people per square metre."""
    rows, columns = ground.free.shape
    names = ("density", "divergence", "vorticity")
    noted = {"spacing": ground.spacing, "width": ground.width, "homography": ground.homography.tolist()}
    fields = zarr_store.GrowingArrays.create(
        folder / "density.zarr", "Density", crowd.frame_rate, "density", noted, {},
        {name: ((rows, columns), np.dtype(np.float32)) for name in names},
    )  # fmt: skip
    with zarr_store.FieldWriter(
        folder / "velocity.zarr",
        rows,
        columns,
        crowd.frame_rate,
        mask=ground.free[::-1],
        homography=ground.homography,
        name="ground velocity",
        with_foreground=True,
    ) as writer:
        for frame, moment in enumerate(ground.frames(crowd.tracks, crowd.velocities)):
            velocity, foreground = ground.as_image(moment, crowd.frame_rate)
            writer.append(velocity[None], foreground[None])
            fields.append(**{name: getattr(moment, name)[None, ::-1].astype(np.float32) for name in names})
            if progress is not None:
                progress(frame + 1, crowd.frames)
    fields.close()


class CrowdFlow:
    """Mean motion of the crowd in a camera's image: ground velocity at half a body's height."""

    def __init__(
        self, ground: DensityGrid, camera: Camera, background: Background, frame_rate: float
    ) -> None:
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
        known &= 1.0 / np.where(deep > 0, deep, np.inf) >= background.depths[..., -1] * 0.999
        to_cells = np.linalg.inv(ground.homography)
        self.mask = known
        self._column = np.where(known, to_cells[0, 0] * x + to_cells[0, 2], -9.0).astype(np.float32)
        self._row = np.where(known, to_cells[1, 1] * y + to_cells[1, 2], -9.0).astype(np.float32)
        self._places, self._pixels = np.where(known[..., None], places, 0.0), pixels
        self._plane = np.linalg.inv(camera.homography_at(BODY_HEIGHT))
        self._spacing, self._free = ground.spacing, ground.free[::-1]
        sampled = self._sampled(self._free.astype(np.float32))
        self.mask &= sampled > 0.5

    def image_of(self, velocity: Array, foreground: Array) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Pixels per frame `(rows, columns, 2)` and foreground, of a frame of `ground_frames`."""
        moved = np.stack([self._sampled(velocity[..., 0]), -self._sampled(velocity[..., 1])], axis=-1)
        later = self._places + moved * self._spacing
        image = later @ self._plane[:, :2].T + self._plane[:, 2]
        flow = image[..., :2] / image[..., 2:] - self._pixels
        near = self._sampled(foreground.astype(np.float32)) * self.mask
        seen = known_foreground(np.rint(near).astype(np.uint8))
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
    """Velocity and foreground of `velocity.zarr`, frame by frame."""
    for block in zarr_store.field_blocks(path):
        assert block.foreground is not None
        yield from zip(block.velocities, block.foreground, strict=True)


class VisibilityTable:
    """`visibility.csv`: a row a person and frame."""

    def __init__(self, file: TextIO, ids: Array) -> None:
        self._file, self._ids = file, ids
        file.write("frame,id,pixels,whole,share,left,top,right,bottom\n")

    def append(self, number: int, frame: RenderedFrame) -> None:
        """Add those of whom some part would be in the image if nothing was in front of them."""
        inside = np.flatnonzero(frame.unoccluded_pixels > 0)
        pixels, whole = frame.pixels[inside], frame.unoccluded_pixels[inside]
        columns = (self._ids[frame.people[inside]], pixels, whole, pixels / whole, *frame.boxes[inside].T)
        row = f"{number},%d,%d,%d,%.4f,%.2f,%.2f,%.2f,%.2f\n"
        self._file.writelines(row % values for values in zip(*(c.tolist() for c in columns), strict=True))
