"""`marey crowd density` as a user types it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd.density import Alarm, Alarms
from tests.cli.commands import refused, result, run

ONE = Alarm(1, 0.2, 1.4, 3.5, 4.0, 2.5, 6.0, 0.02, 0.1, 0.2, "dense")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from marey.crowd.scenes import preset
    from marey.filming import write_dataset

    folder = tmp_path_factory.mktemp("density") / "door"
    write_dataset(preset("escape").with_people(60), folder, size=(160, 120), seconds=1.6)
    return folder


def test_a_video_becomes_density_alarms_and_maps_without_the_truth(
    capsys: pytest.CaptureFixture[str], dataset: Path, tmp_path: Path
) -> None:
    # Truth that is deleted cannot play a role.
    alone = tmp_path / "alone"
    (alone / "above").mkdir(parents=True)
    shutil.copy(dataset / "above" / "shaded.mp4", alone / "above" / "video.mp4")
    shutil.copy(dataset / "above" / "camera.json", alone / "above" / "camera.json")
    options = ("--scene", "escape", "--spacing", 1.0, "--level", 0.2, "--after", 0.2)
    first = result(
        capsys, "crowd", "density", dataset / "above" / "shaded.mp4", "-o", tmp_path / "a.zarr", *options,
        "--camera", dataset / "above" / "camera.json", "--truth", dataset, "--alarms", tmp_path / "a.csv",
        "--figure", tmp_path / "a.png",
    )  # fmt: skip
    assert first["frames"] == 40 and first["alarms"] >= 0 and -1 <= first["correlation"] <= 1
    assert {"zones", "peak_error_m", "persistence", "rmse"} <= set(first)
    second = result(
        capsys, "crowd", "density", alone / "above" / "video.mp4", "-o", tmp_path / "b.zarr", *options,
        "--camera", alone / "above" / "camera.json", "--alarms", tmp_path / "b.json",
    )  # fmt: skip
    assert "correlation" not in second
    a, b = marey.load(tmp_path / "a.zarr"), marey.load(tmp_path / "b.zarr")
    assert a.maps["density"].shape == (40, 16, 64) and np.array_equal(a.maps["density"], b.maps["density"])
    assert np.array_equal(a.velocities, b.velocities)
    table, log = marey.load(tmp_path / "a.csv"), marey.load(tmp_path / "b.json")
    assert len(table.alarms) == len(log.alarms) == first["alarms"]
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_a_running_video_gives_the_alarms_of_a_recording(
    capsys: pytest.CaptureFixture[str], dataset: Path, tmp_path: Path
) -> None:
    from marey.crowd.density import DangerSettings, follow
    from marey.crowd.density.live import LiveSettings
    from marey.io import cameras

    options = (
        "--scene",
        "escape",
        "--camera",
        dataset / "above" / "camera.json",
        "--level",
        0.2,
        "--after",
        0.2,
    )
    film = dataset / "above" / "shaded.mp4"
    told = result(capsys, "crowd", "density", film, "-o", tmp_path / "live.json", *options, "--live")
    assert len(marey.load(tmp_path / "live.json").alarms) == told["alarms"] >= 1
    pulled = 0

    def images() -> Iterator[object]:
        nonlocal pulled
        for image in marey.load(film):
            pulled += 1
            yield image

    settings = LiveSettings(kept=0.8, chunk=0.4)
    view, scene = cameras.read(dataset / "above" / "camera.json"), marey.crowd.scenes.preset("escape")
    late = [
        pulled - number
        for number, _ in enumerate(
            follow(images(), 25.0, scene, camera=view, live=settings, danger=DangerSettings(level=0.2))
        )
    ]
    assert len(late) == 40 and max(late) <= 41


def test_fields_become_a_map_and_the_published_model_warns(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    flow = tmp_path / "flow.mry"
    marey.save(marey.samples.field(rows=24, columns=32, seconds=1), flow)
    scene = tmp_path / "square.json"
    marey.save(marey.crowd.Scene((16.0, 12.0)), scene)
    options = ("--scene", scene, "--spacing", 1)
    code, _, said = run(
        capsys, "crowd", "density", flow, "-o", tmp_path / "m.mp4", *options, "--model", "disturbance"
    )
    assert code == 0 and "explains little" in said
    assert marey.load(tmp_path / "m.mp4").frames == 25
    result(capsys, "crowd", "density", flow, "-o", tmp_path / "m.png", *options)
    result(capsys, "crowd", "density", flow, "-o", tmp_path / "m.mry", *options)
    assert marey.load(tmp_path / "m.mry")[3:9].maps["density"].shape == (6, 12, 16)


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "d.zarr"
    assert "--scene" in refused(capsys, "crowd", "density", "sample:field", "-o", out)
    said = refused(capsys, "crowd", "density", "sample:walk", "-o", out, "--scene", "escape")
    assert "not a video or fields" in said
    assert "no scene 'nowhere'" in refused(
        capsys, "crowd", "density", "sample:field", "-o", out, "--scene", "nowhere"
    )
    assert not out.exists()


@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_alarms_come_back(ending: str, tmp_path: Path) -> None:
    marey.save(Alarms((ONE,), seconds=4.0, name="door"), tmp_path / f"log{ending}")
    found = marey.load(tmp_path / f"log{ending}")
    assert found.alarms == (ONE,)
    marey.save(Alarms(()), tmp_path / f"none{ending}")
    assert marey.load(tmp_path / f"none{ending}").alarms == ()
    assert ending == ".csv" or (found.seconds, found.name, found.settings.level) == (4.0, "door", 2.0)
