"""PedPy's measures of simulated people, its own readers on our files, beside those of the real experiments.

The corridor with an exit of 1.2 m (Jülich uo-180-180-120, 170 people) is simulated with the calibrated
constants, written as a text file by :func:`marey.save`, and read by PedPy as it is; PedPy also reads the
experiment's own file. Classic and Voronoi density, speed, flow through a line, all by PedPy.

    python reproduce/crowd_pedpy.py [--data FOLDER] [--out FOLDER]

Writes `corridor.txt` and `crowd_pedpy.png`; a minute.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pedpy
from _crowd_places import (
    CONTENDERS,
    CORRIDOR,
    CORRIDOR_RATE,
    EDGES,
    EXPERIMENTS,
    binned,
    corridor,
    data_folder,
    speed_and_density,
)

import marey
from marey.crowd import Tracks
from marey.views import style

NAME = "uo-180-180-120"
# Every eighth frame, which is two a second.
EVERY = 8


@dataclass(frozen=True)
class Measures:
    """Density and speed `(frames, 2)`, classic and by Voronoi cells, and people a second through a line."""

    classic: np.ndarray
    voronoi: np.ndarray
    flow: float


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--data", type=Path, default=None)
    given.add_argument("--out", type=Path, default=Path())
    options = given.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    positions = corridor(CONTENDERS["everyday"], *EXPERIMENTS[NAME])
    written = options.out / "corridor.txt"
    marey.save(Tracks(positions, CORRIDOR_RATE), written)
    ours = pedpy.load_trajectory_from_txt(
        trajectory_file=written, default_frame_rate=CORRIDOR_RATE, default_unit=pedpy.TrajectoryUnit.METER
    )
    found = {"ours": measured(ours, along_x=True)}
    path = data_folder(options.data) / "crowd" / "juelich_unidirectional" / f"{NAME}.txt"
    if path.exists():
        theirs = pedpy.load_trajectory_from_txt(
            trajectory_file=path,
            default_frame_rate=CORRIDOR_RATE,
            default_unit=pedpy.TrajectoryUnit.CENTIMETER,
        )
        found["Jülich " + NAME] = measured(theirs, along_x=False)
    else:
        print(f"not at hand (--data, MAREY_DATA): {path.name}")

    print("m/s between 0, 0.5, 1, … 3 people a m², and people a second through the middle, by PedPy")
    for name, values in found.items():
        print(f"  {name:22s} classic {binned(values.classic).round(2)}  flow {values.flow:.2f}")
        print(f"  {'':22s} Voronoi {binned(values.voronoi).round(2)}")
    own = binned(speed_and_density(positions, CORRIDOR_RATE))
    print(f"  {'ours, without PedPy':22s} classic {own.round(2)}")
    style.save(picture(found), options.out / "crowd_pedpy.png")


def measured(trajectory: pedpy.TrajectoryData, *, along_x: bool) -> Measures:
    """What PedPy says about the 2 m in the middle of the corridor."""
    width = CORRIDOR[0]

    def placed(*corners: tuple[float, float]) -> list[tuple[float, float]]:
        """Corners along and across, as the file has them: along x, or along y downwards."""
        return [(x, y) if along_x else (y, -x) for x, y in corners]

    # Everything seen, which is wider than the corridor before and behind it.
    floor = pedpy.WalkableArea(
        placed((-30, -4), (-4, -4), (-4, 0), (4, 0), (4, -4), (12, -4), (12, width + 4), (4, width + 4),
               (4, width), (-4, width), (-4, width + 4), (-30, width + 4))
    )  # fmt: skip
    area = pedpy.MeasurementArea(placed((-1, 0), (1, 0), (1, width), (-1, width)))
    line = pedpy.MeasurementLine(placed((0, 0), (0, width)))
    speed = pedpy.compute_individual_speed(
        traj_data=trajectory, frame_step=4, speed_calculation=pedpy.SpeedCalculation.BORDER_SINGLE_SIDED
    )
    density = pedpy.compute_classic_density(traj_data=trajectory, measurement_area=area)
    mean = pedpy.compute_mean_speed_per_frame(
        traj_data=trajectory, individual_speed=speed, measurement_area=area
    )
    classic = density.merge(mean, on="frame")[["density", "speed"]].to_numpy()[::EVERY]

    rows = trajectory.data
    fewer = pedpy.TrajectoryData(rows[rows.frame % EVERY == 0][["id", "frame", "x", "y"]], CORRIDOR_RATE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = pedpy.compute_individual_voronoi_polygons(
            traj_data=fewer, walkable_area=floor, cut_off=pedpy.Cutoff(radius=1.0, quad_segments=3)
        )
        smooth, shares = pedpy.compute_voronoi_density(individual_voronoi_data=cells, measurement_area=area)
        pace = pedpy.compute_voronoi_speed(
            traj_data=fewer, individual_speed=speed, individual_voronoi_intersection=shares,
            measurement_area=area,
        )  # fmt: skip
    voronoi = smooth.reset_index().merge(pace.reset_index(), on="frame")[["density", "speed"]].to_numpy()
    crossed, _ = pedpy.compute_n_t(traj_data=trajectory, measurement_line=line)
    passed = crossed.reset_index()
    count = passed.cumulative_pedestrians.to_numpy()
    first, last = np.searchsorted(count, [0.1 * count[-1], 0.9 * count[-1]])
    seconds = passed.time.to_numpy()
    flow = (count[last] - count[first]) / (seconds[last] - seconds[first])
    kept = [values[values[:, 0] > 0] for values in (classic, voronoi)]
    return Measures(kept[0], kept[1], float(flow))


def picture(found: dict[str, Measures]):  # type: ignore[no-untyped-def]
    with style.figure((1300, 500)) as figure:
        for axes, kind in zip(figure.subplots(1, 2), ("classic", "voronoi"), strict=True):
            for (name, values), colour in zip(found.items(), style.PALETTE, strict=False):
                samples = getattr(values, kind)
                axes.plot(samples[:, 0], samples[:, 1], ".", ms=4, alpha=0.4, color=colour)
                middle = 0.5 * (EDGES[1:] + EDGES[:-1])
                axes.plot(middle, binned(samples), "o-", color=colour, label=name)
            axes.set(xlabel="people a m²", ylabel="m/s", title=f"{kind}, by PedPy", ylim=(0, 2))
            axes.legend()
    return figure


if __name__ == "__main__":
    main()
