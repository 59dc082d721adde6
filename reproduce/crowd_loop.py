"""The loop on truth: simulate a crowd, film it, capture the film, let true people walk in what was captured.

Scenes of the dataset seen from above (Courty 2013, section 6.3). Every method captures the film; everyone is
put at their true place every second and carried by the captured fields for 1, 2 and 5 s. Printed: the mean
distance from the true place in metres, and the share of people no farther off than a body's diameter (0.5 m);
the aim is 80 % after 5 s among those who walk round an obstacle. `truth` carries by the crowd's true mean
motion, the best a smooth field can do, and `still` leaves people where they are. The three seconds in which
people rest are left out. Nothing is chosen by scene.

    python reproduce/crowd_loop.py [--scenes obstacle rotation sideway] [--seconds 11] [--keep DIR]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from marey.crowd import FieldSeries, capture
from marey.crowd.evaluation.pedestrians import TrajectoryError, trajectory_errors
from marey.crowd.scenes import preset
from marey.filming import read_dataset, write_dataset
from marey.filming.dataset import Dataset

SCENES = ("obstacle", "rotation", "sideway")
METHODS = ("divcurl", "dis")
REST, BODY_HEIGHT = 3.0, 0.9
AIM = 0.8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scenes", nargs="+", default=list(SCENES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seconds", type=float, default=11.0, help="of film, 3 s of rest included")
    parser.add_argument("--size", default="320x240", help="pixels of the films")
    parser.add_argument("--people", type=int, help="the scene's own number if not given")
    parser.add_argument("--keep", type=Path, help="folder in which the films stay")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("scene      field      1 s (m)  2 s (m)  5 s (m)   within a body: 1 s    2 s    5 s   people")
        for name in given.scenes:
            data = _film(given.keep or Path(folder), name, given)
            reached = {}
            for label, errors in _rows(data, given.methods):
                reached[label] = errors[-1].within
                _print(name, label, errors)
            if name == "obstacle":
                best = max(reached[method] for method in given.methods)
                print(f"obstacle: {100 * best:.0f} % within a body after 5 s; the aim is {100 * AIM:.0f} %")


def _film(folder: Path, name: str, given: argparse.Namespace) -> Dataset:
    path = folder / name
    if not path.is_dir():
        place = preset(name, hold=3.0)
        if given.people is not None:
            place = place.with_people(given.people)
        columns, rows = (int(side) for side in given.size.split("x"))
        write_dataset(place, path, size=(columns, rows), seconds=given.seconds)
    return read_dataset(path)


def _rows(data: Dataset, methods: list[str]) -> Iterator[tuple[str, list[TrajectoryError]]]:
    """Errors of each method, of the truth, and of no motion, after the rest."""
    view = next(iter(data.views.values()))
    first = round(REST * data.tracks.frame_rate)
    walking = data.tracks[first:]
    truth = view.crowd_flow[first:]
    for method in methods:
        found = capture(
            view.footage()[first:],
            method=method,
            camera=view.camera,
            plane_height=BODY_HEIGHT,
            foreground=False,
        )
        yield method, trajectory_errors(_with_walls(found, truth), walking)
    yield "truth", trajectory_errors(truth, walking)
    still = FieldSeries(np.zeros_like(truth.velocities), truth.frame_rate, homography=truth.homography)
    yield "still", trajectory_errors(still, walking)


def _with_walls(fields: FieldSeries, truth: FieldSeries) -> FieldSeries:
    """The walls of the place, which whoever films it knows."""
    if truth.mask is None:
        return fields
    row = (np.arange(fields.rows) + 0.5) * truth.rows / fields.rows
    column = (np.arange(fields.columns) + 0.5) * truth.columns / fields.columns
    return replace(fields, mask=truth.mask[row.astype(int)[:, None], column.astype(int)])


def _print(scene: str, label: str, errors: list[TrajectoryError]) -> None:
    metres = "".join(f"{error.mean:9.2f}" for error in errors)
    shares = "".join(f"{100 * error.within:6.0f}%" for error in errors)
    print(f"{scene:10} {label:8} {metres}              {shares} {errors[-1].people:7}", flush=True)


if __name__ == "__main__":
    main()
