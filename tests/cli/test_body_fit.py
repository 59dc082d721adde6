"""`marey body fit` as a user types it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.geometry import rotations as so3
from tests.body.carriers import carried
from tests.cli.commands import refused, result, run


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    walk = marey.samples.walk(seconds=2)
    marey.save(walk, folder / "a.bvh")
    turned = so3.multiply(walk.rotations, so3.exp(0.1 * np.ones((walk.joints, 3))))
    longer = replace(walk.skeleton, offsets=1.1 * walk.skeleton.offsets)
    marey.save(replace(walk, rotations=turned, skeleton=longer), folder / "b.bvh")
    return folder


def test_fit_says_what_it_found_and_stores_the_model(clips, tmp_path, capsys):
    code, out, err = run(capsys, "body", "fit", clips / "a.bvh", "-o", tmp_path / "m.mry", "--json")
    assert code == 0, err
    told = json.loads(out)
    model = marey.load(tmp_path / "m.mry")
    assert told["modes"] == model.modes == len(told["shares"])
    assert told["frames"] == model.frames == marey.load(clips / "a.bvh").frames
    assert told["variance"] == pytest.approx(model.variance, abs=1e-6) and told["variance"] >= 0.99
    assert sum(told["shares"]) == pytest.approx(told["variance"], abs=1e-3)
    assert 0 < told["error_mean_cm"] < told["error_max_cm"]
    assert told["metric"] == "kinetic"
    assert told["milliseconds"] > 0


def test_modes_by_number_share_and_error(clips, tmp_path, capsys):
    def fitted(*options):
        code, out, err = run(
            capsys, "body", "fit", clips / "a.bvh", "-o", tmp_path / "m.mry", "--json", *options
        )
        assert code == 0, err
        return json.loads(out)

    assert fitted("--modes", 3)["modes"] == 3
    assert fitted("--variance", 0.8)["modes"] < fitted("--variance", 0.999)["modes"]
    assert fitted("--error", "5mm")["error_mean_cm"] <= 0.5
    assert fitted("--max-error", "2cm")["error_max_cm"] <= 2.0
    assert fitted("--root-motion", "heading", "--metric", "canonical")["root"] == "heading"


def test_a_folder_of_clips_with_other_bones_is_learned_with_a_note(clips, tmp_path, capsys):
    code, out, err = run(capsys, "body", "fit", clips, "-o", tmp_path / "m.mry", "--json")
    assert code == 0, err
    assert "bones differ by up to" in err
    told = json.loads(out)
    assert told["files"] == 2
    assert told["frames"] == 2 * marey.load(clips / "a.bvh").frames


def test_info_and_view_take_the_model(clips, tmp_path, capsys):
    model = tmp_path / "m.mry"
    run(capsys, "body", "fit", clips / "a.bvh", "-o", model, "--modes", 2)
    code, out, err = run(capsys, "info", model, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["kind"], told["modes"], told["frame_rate"]) == ("pose model", 2, None)
    code, out, err = run(capsys, "view", model, "-o", tmp_path / "m.png", "--size", "320x180")
    assert code == 0, err
    assert (tmp_path / "m.png").exists()
    assert "no frames" in refused(capsys, "view", model, "-o", tmp_path / "n.png", "--frames", "1:2")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--modes", 3, "--variance", 0.9], "only one of"),
        (["--variance", 7], "variance"),
        (["--modes", 5000], "modes"),
        (["--error", "1parsec"], "--error 1parsec"),
        (["--error", "0cm"], "error"),
        (["--metric", "best"], "kinetic, lever, canonical"),
        (["--root-motion", "left"], "none, heading, world"),
    ],
)
def test_senseless_options_are_refused_in_one_line(clips, tmp_path, capsys, options, says):
    assert says in refused(capsys, "body", "fit", clips / "a.bvh", "-o", tmp_path / "m.mry", *options)
    assert not (tmp_path / "m.mry").exists()


def test_bad_files_are_refused_in_one_line(clips, tmp_path, capsys):
    out = tmp_path / "m.mry"
    assert "no such file" in refused(capsys, "body", "fit", tmp_path / "none.bvh", "-o", out)
    assert "folder" in refused(capsys, "body", "fit", tmp_path, "-o", out)
    (tmp_path / "bad.bvh").write_text("HIERARCHY\nROOT Hips\n{")
    assert "bad.bvh" in refused(capsys, "body", "fit", tmp_path / "bad.bvh", "-o", out)
    assert ".mry" in refused(capsys, "body", "fit", clips / "a.bvh", "-o", tmp_path / "m.bvh")
    (tmp_path / "people.csv").write_text("id,frame,x,y\n1,0,0,0\n1,1,1,0\n")
    code, _, err = run(capsys, "body", "fit", tmp_path / "people.csv", "-o", out)
    assert code == 2
    assert "skeleton motion" in err.splitlines()[-1]
    assert not out.exists()


def test_a_model_is_not_written_over_a_clip_it_is_learned_from(clips, tmp_path, capsys):
    clip = tmp_path / "walk.mry"
    marey.save(marey.load(clips / "a.bvh"), clip)
    before = clip.read_bytes()
    assert "its own input" in refused(capsys, "body", "fit", clips / "a.bvh", clip, "-o", clip)
    assert clip.read_bytes() == before


def test_all_clips_of_a_character_are_learned_from(tmp_path, capsys):
    human = marey.samples.human()
    walk = marey.samples.walk(seconds=1)
    other = replace(human, motions=(walk, replace(walk[:20], name="short")))
    marey.save(other, tmp_path / "human.glb")
    told = result(capsys, "body", "fit", tmp_path / "human.glb", "-o", tmp_path / "m.mry", "--raw")
    assert told["frames"] == sum(m.frames for m in marey.load(tmp_path / "human.glb").motions) > walk.frames


def test_joints_above_the_one_that_travels_are_left_out(tmp_path, capsys):
    walk = marey.samples.walk(seconds=1)
    below = carried(walk)
    marey.save(below, tmp_path / "carried.mry")
    words = ("body", "fit", tmp_path / "carried.mry", "-o", tmp_path / "m.mry", "--root-motion", "heading")
    code, _, err = run(capsys, *words, "--json")
    assert code == 0 and "left out World, Armature: Hips below travels by itself" in err
    plain = marey.body.PoseModel.fit([walk], root="heading")
    model = marey.load(tmp_path / "m.mry")
    assert model.skeleton.names == walk.skeleton.names
    np.testing.assert_allclose(model.geodesics.variances, plain.geodesics.variances, rtol=1e-6)


def test_joints_that_slide_are_told(tmp_path, capsys):
    walk = marey.samples.walk(seconds=1)
    places = np.tile(walk.skeleton.offsets, (walk.frames, 1, 1))
    places[:, 0] = walk.root
    places[:, 3] += np.linspace(0, 0.1, walk.frames)[:, None]
    marey.save(replace(walk, translations=places), tmp_path / "slides.mry")
    code, _, err = run(capsys, "body", "fit", tmp_path / "slides.mry", "-o", tmp_path / "m.mry", "--json")
    assert code == 0 and f"how joints slide: {walk.skeleton.names[3]}" in err
