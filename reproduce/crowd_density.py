"""Density from video against the truth: generated scenes from above and the side, and PETS 2009 S2.L1.

Rows: correlation with the true kernel density (0.5 m) in occupied cells of the image, that of persistence
(the truth 10 s before), root mean square errors (people per m²) of the estimate and, each scaled as fits the
truth best, of smoothed presence, of flow magnitude and of the area of the foreground; then zones of danger:
true, found, false, intersection over union, delay of the first. On PETS presence counts in every frame, then
in every fifth, and boxes with the calibration are the truth; the published law's R² is printed first.

    python reproduce/crowd_density.py [--data DIR] [--scenes escape,baffles,corridor] [--seeds 2]
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
from numpy.typing import NDArray

from marey.crowd.cameras import Camera
from marey.crowd.capture import capture
from marey.crowd.density import DangerSettings, DensityGrid, density, plan_density
from marey.crowd.fields import FieldSeries
from marey.crowd.scenes import Scene, preset
from marey.crowd.simulation.routes import desired_directions
from marey.crowd.simulation.simulate import simulate
from marey.crowd.tracks import Tracks
from marey.filming import read_dataset, write_dataset
from marey.io import cameras, video

Array = NDArray[np.float64]


def law(name: str, seed: int = 0) -> str:
    """How much of the slow-down of a simulated crowd density, its slope, and both explain."""
    scene = preset(name)
    crowd = simulate(scene, seconds=40, frame_rate=10, rng=seed)
    grid = DensityGrid(scene, spacing=0.5, width=0.5)
    wanted = desired_directions(scene, "east")
    y, x = np.mgrid[: grid.free.shape[0], : grid.free.shape[1]] * 0.5 + 0.25
    direction = wanted.at(np.stack([x.ravel(), y.ravel()], axis=-1)).reshape(*grid.free.shape, 2)
    rows = []
    for moment in list(grid.frames(crowd.tracks, crowd.velocities))[::5]:
        slopes = np.stack(np.gradient(moment.density, 0.5)[::-1], axis=-1)
        along = (moment.velocity * direction).sum(axis=-1)
        down = (slopes * direction).sum(axis=-1)
        good = (moment.density > 0.2) & np.isfinite(down) & np.isfinite(along)
        rows.append(np.stack([moment.density[good], down[good], along[good]]))
    dense, down, along = np.concatenate(rows, axis=1)
    alpha = np.quantile(along[dense < 0.8], 0.9)
    slow = 1 - along / alpha

    def explained(*columns: Array) -> float:
        matrix = np.column_stack([*columns, np.ones(len(slow))])
        left = slow - matrix @ np.linalg.lstsq(matrix, slow, rcond=None)[0]
        return float(1 - left.var() / slow.var())

    shares = f"{explained(dense):.2f} | {explained(down):.3f} | {explained(dense, down):.2f}"
    return f"| {name} | {alpha:.2f} | {shares} |"


def compared(
    fields: FieldSeries,
    scene: Scene,
    camera: Camera,
    tracks: Tracks,
    *,
    every: int = 1,
    level: float = 1.2,
    after: float = 3.0,
) -> str:
    """One row of the table."""
    danger = DangerSettings(level=level, seconds=after)
    found = density(fields, scene, camera=camera, truth=tracks, every=every, danger=danger)
    scores = found.report.scores
    assert scores is not None
    view = plan_density(fields, scene, camera=camera).view
    ground = view.ground
    grid = DensityGrid(scene, spacing=ground.spacing, width=0.5, adaptive=False)
    true: list[Array] = []
    seen: dict[str, list[Array]] = {"presence": [], "flow": [], "area": []}
    for frame in range(0, fields.frames, max(1, round(0.4 * fields.frame_rate))):
        there = tracks.positions[frame][tracks.present[frame]]
        there = there[((there > 0) & (there < np.array(scene.size))).all(axis=1)]
        truth = np.nan_to_num(grid.frame(there, np.zeros_like(there)).density[ground.free])
        counts = (truth > 0.1) & view.inside
        shown = fields.foreground[frame]  # type: ignore[index]
        sure = view.confidence(shown)
        area = view.confidence(np.where(shown > 128, 255, 0).astype(np.uint8))
        speed = np.hypot(*view.motion(fields.velocities[frame], fields.frame_rate).T)
        true.append(truth[counts])
        for name, values in (("presence", sure), ("flow", speed), ("area", area)):
            smooth = cv2.GaussianBlur(np.nan_to_num(ground.on_grid(values)), (0, 0), 0.5 / ground.spacing)
            seen[name].append(smooth[ground.free][counts])
    whole = np.concatenate(true)
    errors = []
    for values in seen.values():
        one = np.concatenate(values)
        errors.append(np.sqrt(np.mean((one * (one @ whole) / max(one @ one, 1e-9) - whole) ** 2)))
    zones = f"{scores.zones_true} / {scores.zones_found} / {scores.zones_false}"
    shares = " | ".join("–" if one is None else f"{one:.2f}" for one in (scores.zone_iou, scores.delay))
    kept = "–" if scores.persistence is None else f"{scores.persistence:.2f}"
    return (
        f"{scores.correlation:.3f} | {kept} | {scores.rmse:.3f} | "
        + " | ".join(f"{one:.3f}" for one in errors)
        + f" | {zones} | {shares} |"
    )


def pets(folder: Path) -> tuple[FieldSeries, Scene, Camera, Tracks]:
    """PETS on a ground that begins at 0: fields, a scene without walls or goals, the camera, its people."""
    camera = cameras.read(folder / "View_001.xml")
    assert isinstance(camera, Camera)
    footage = replace(video.read(folder / "vtest.avi"), frame_rate=7.0)
    frames = list(ElementTree.parse(folder / "PETS2009-S2L1.xml").getroot())
    people = sorted(
        {int(one.get("id", "")) for one in ElementTree.parse(folder / "PETS2009-S2L1.xml").iter("object")}
    )
    places = np.full((len(frames), len(people), 2), np.nan)
    for number, frame in enumerate(frames):
        for one in frame.iter("object"):
            box = one[0].attrib
            foot = [float(box["xc"]), float(box["yc"]) + 0.5 * float(box["h"])]
            places[number, people.index(int(one.get("id", "")))] = camera.to_ground([foot])[0]
    low = np.nanmin(places, axis=(0, 1)) - 1.0
    size = np.nanmax(places, axis=(0, 1)) - low + 1.0
    moved = replace(camera, translation=camera.translation + camera.rotation @ [*low, 0.0])
    fields = capture(footage[: len(frames)], size=384, camera=moved, plane_height=0.9)
    return fields, Scene((float(size[0]), float(size[1]))), moved, Tracks(places - low, 7.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with crowd/pets2009_s2l1")
    parser.add_argument("--scenes", default="escape,baffles,corridor")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    print("| scene | α | R², density | R², its slope | R², both |\n|---|---|---|---|---|")
    for name in ("escape", "baffles", "obstacle"):
        print(law(name), flush=True)
    columns = "correlation | persistence | RMSE | presence | flow | area | zones | IoU | delay"
    print(f"\n| scene, seed, camera | {columns} |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    if given.data is not None:
        fields, scene, camera, tracks = pets(given.data / "crowd" / "pets2009_s2l1")
        for every in (1, 5):
            row = compared(fields, scene, camera, tracks, every=every, level=0.2, after=1.0)
            print(f"| PETS, presence in one frame of {every} | {row}", flush=True)
    for name in filter(None, given.scenes.split(",")):
        for seed in range(given.seeds):
            with tempfile.TemporaryDirectory() as place:
                write_dataset(
                    preset(name), Path(place) / "set", views=("above", "side"), seconds=20, rng=seed
                )
                data = read_dataset(Path(place) / "set")
                for view in ("above", "side"):
                    camera = data.views[view].camera
                    fields = capture(data.views[view].footage(), camera=camera, plane_height=0.9)
                    row = compared(fields, data.scene, camera, data.tracks)
                    print(f"| {name}, {seed}, {view} | {row}", flush=True)


if __name__ == "__main__":
    main()
