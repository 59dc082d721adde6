"""`view` draws every data type into every kind of file, and says what is wrong when it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import marey
from marey.body.dynamics import MotionModel
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.surface.sequence import MeshSequence
from marey.surface.skinning import SkinnedMesh
from marey.views import figure, page, view
from marey.views.actors import actor
from marey.views.render import clip_rate
from marey.views.shots import clip, strip
from tests.browser import LONG
from tests.views.things import (
    SMALL,
    box,
    centroid,
    coloured,
    grey_ramp,
    read_png,
    sliding_box,
    some_markers,
    two_people,
    walking,
    whirl,
)


def skinned_box() -> Character:
    """A textured box carried by one joint that moves along x."""
    sequence = sliding_box(textured=True)
    skin = SkinnedMesh(
        sequence.vertices[0],
        sequence.faces,
        ("root",),
        np.eye(4)[None],
        np.zeros((8, 1), int),
        np.ones((8, 1)),
        uv=sequence.uv,
        uv_faces=sequence.uv_faces,
        texture=sequence.textures[0],
    )
    root = np.linspace([0.0, 0, 0], [3.0, 0, 0], 6)
    motion = Motion(Skeleton(("root",), [-1], [[0, 0, 0]]), so3.identity((6, 1)), root, 25.0)
    return Character(skin, (motion,))


THINGS = {
    "motion": walking,
    "character": skinned_box,
    "mesh": sliding_box,
    "textured mesh": lambda: sliding_box(textured=True),
    "markers": some_markers,
    "tracks": two_people,
    "field": whirl,
    "footage": grey_ramp,
}
ONE_OF_EACH = pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)


def without_trail(motion):
    return replace(actor(motion), trail=False)


def frames_of(path: Path) -> tuple[list[np.ndarray], float]:
    video = cv2.VideoCapture(str(path))
    images = []
    while (got := video.read())[0]:
        images.append(np.ascontiguousarray(got[1][..., ::-1]))
    return images, video.get(cv2.CAP_PROP_FPS)


@ONE_OF_EACH
def test_a_picture_of_each_type_has_the_size_asked_for_and_something_on_it(thing, tmp_path):
    view(thing(), tmp_path / "it.png", size=SMALL)
    image = read_png(tmp_path / "it.png")
    assert image.shape == (180, 320, 3)
    assert image.std() > 4
    assert [file.name for file in tmp_path.iterdir()] == ["it.png"]


@ONE_OF_EACH
def test_a_clip_of_each_type_has_its_frames_and_rate(thing, tmp_path):
    thing = thing()
    reports = []
    view(thing, tmp_path / "it.mp4", size=SMALL, progress=lambda done, total: reports.append((done, total)))
    images, rate = frames_of(tmp_path / "it.mp4")
    source = thing.motion if isinstance(thing, Character) else thing
    expected = source.frame_rate if source.frame_rate < 20 and not isinstance(thing, Tracks) else 0.0
    assert rate == pytest.approx(expected or clip_rate(source.frame_rate))
    assert len(images) == pytest.approx((source.frames - 1) / source.frame_rate * rate + 1, abs=1)
    assert reports == [(i + 1, len(images)) for i in range(len(images))]
    if not hasattr(thing, "open"):
        assert images[0].shape == (180, 320, 3)


@pytest.mark.parametrize("thing", [walking, two_people, grey_ramp])
def test_a_gif_loops_for_ever(thing, tmp_path):
    view(thing(), tmp_path / "it.gif", size=SMALL)
    data = (tmp_path / "it.gif").read_bytes()
    assert data[:6] == b"GIF89a"
    block = data.index(b"NETSCAPE2.0")
    assert data[block + 11 : block + 16] == b"\x03\x01\x00\x00\x00", "0 repeats = without end"


@pytest.mark.parametrize("kind", ["strip", "curves", "path"])
def test_a_motion_has_three_kinds_of_picture(kind, tmp_path):
    for name, thing in (("motion", walking()), ("character", skinned_box())):
        view(thing, tmp_path / f"{name}.png", size=SMALL, kind=kind)
        assert read_png(tmp_path / f"{name}.png").std() > 4


def test_a_strip_shows_one_figure_a_pose_and_earlier_ones_paler():
    image = strip(without_trail(walking(60, speed=3.0)), SMALL)
    mask = coloured(image, threshold=10)
    heads = np.flatnonzero(mask.any(axis=1))[0] + 4
    occupied = np.concatenate([[False], mask[:heads].any(axis=0)])
    assert np.diff(occupied.astype(int)).clip(0).sum() >= 4
    left, right = mask.copy(), mask.copy()
    left[:, 160:], right[:, :160] = False, False
    spread = image.max(axis=-1).astype(int) - image.min(axis=-1)
    assert spread[right].mean() > 1.3 * spread[left].mean(), "it walks to the right"


def test_poses_on_the_spot_are_set_side_by_side():
    still = walking(60, speed=0.0)
    mask = coloured(strip(actor(still), SMALL), threshold=10)
    columns = np.flatnonzero(mask.any(axis=0))
    assert np.ptp(columns) > 200


def test_something_that_does_not_move_is_shown_once_and_large():
    once = walking(1)
    held = replace(once, rotations=once.rotations.repeat(20, axis=0), root=once.root.repeat(20, axis=0))
    for motion in (once, held):
        rows, columns = np.nonzero(coloured(strip(actor(motion), SMALL), threshold=10))
        assert np.ptp(rows) > 110
        assert np.ptp(columns) < 200


def test_no_part_of_the_subject_leaves_the_frame():
    for speed in (0.0, 1.5, 8.0):
        walker = without_trail(walking(24, speed=speed))
        for image in (strip(walker, SMALL), *list(clip(walker, SMALL))[::6]):
            mask = coloured(image, threshold=16)
            assert mask.sum() > 500
            assert not mask[:3].any() and not mask[-3:].any()
            assert not mask[:, :3].any() and not mask[:, -3:].any()


def test_the_camera_follows_a_long_walk():
    images = list(clip(without_trail(walking(30, speed=40.0)), SMALL))[::6]
    found = [np.argwhere(coloured(image)) for image in images]
    assert np.ptp([np.median(pixels[:, 1]) for pixels in found]) < 60
    assert min(np.ptp(pixels[:, 0]) for pixels in found) > 80


def test_the_camera_stands_still_for_a_short_step():
    images = list(clip(without_trail(walking(20, speed=1.0)), SMALL))
    start, end = (centroid(coloured(image))[1] for image in (images[0], images[-1]))
    assert abs(end - start) > 15


def test_a_clip_is_the_same_every_time():
    first = list(clip(actor(walking(3)), SMALL))
    again = list(clip(actor(walking(3)), SMALL))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_a_mesh_wears_its_vertex_colours():
    green = np.tile([0.1, 0.8, 0.2], (8, 1))
    image = strip(actor(sliding_box(1, colours=green)), SMALL).astype(int)
    assert (image[..., 1] > image[..., 0] + 60).sum() > 1000


def test_a_mesh_with_a_texture_for_each_frame_changes_its_clothes():
    from marey.surface.sequence import Texture

    sequence = sliding_box(3, textured=True)
    shades = ([220, 40, 40], [40, 220, 40], [40, 40, 220])
    textures = tuple(Texture.from_image(np.full((8, 8, 3), shade, np.uint8)) for shade in shades)
    images = list(clip(actor(replace(sequence, textures=textures)), SMALL))
    strongest = [image[coloured(image, threshold=60)].mean(axis=0).argmax() for image in images]
    assert strongest == [0, 1, 2]
    picture = strip(actor(replace(sequence, textures=textures)), SMALL).astype(int)
    assert (picture[..., 2] > picture[..., 0] + 60).any() and (picture[..., 0] > picture[..., 2] + 20).any()


def test_an_inside_out_mesh_looks_like_any_other():
    vertices, faces = box()
    usual = strip(actor(MeshSequence(vertices[None], faces, 25)), SMALL)
    inside_out = strip(actor(MeshSequence(vertices[None], faces[:, ::-1], 25)), SMALL)
    assert np.array_equal(usual, inside_out)


def test_unseen_markers_are_not_drawn():
    markers = some_markers()
    counts = [coloured(image).sum() for image in clip(actor(markers), SMALL)]
    assert 0 < counts[2] < 0.8 * counts[1]
    assert counts[3] == 0
    with pytest.raises(InputError, match="none is seen"):
        actor(Markers(("a",), np.full((2, 1, 3), np.nan), 30))


def test_points_without_faces_are_drawn_as_points(tmp_path):
    for count in (20, 2000):
        cloud = np.random.default_rng(0).uniform(0, 1, (1, count, 3))
        view(MeshSequence(cloud, np.zeros((0, 3), int), 25), tmp_path / "cloud.png", size=SMALL)
        assert coloured(read_png(tmp_path / "cloud.png")).sum() > 100


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_tiny_and_huge_subjects_fill_the_frame_alike(scale):
    small = sliding_box(1)
    usual = coloured(strip(actor(small), SMALL), threshold=12).sum()
    scaled = coloured(strip(actor(replace(small, vertices=small.vertices * scale)), SMALL), threshold=12)
    assert scaled.sum() == pytest.approx(usual, rel=0.02)


@pytest.mark.parametrize(
    ("rate", "shown"), [(120, 30), (60, 30), (50, 25), (30, 30), (29.97, 29.97), (25, 25), (10, 30), (1, 30)]
)
def test_clips_run_at_a_usual_rate(rate, shown):
    assert clip_rate(rate) == pytest.approx(shown)


def test_a_rate_can_be_asked_for(tmp_path):
    view(walking(30), tmp_path / "it.mp4", size=(64, 64), frame_rate=10)
    images, rate = frames_of(tmp_path / "it.mp4")
    assert (len(images), rate) == (10, 10)


@pytest.mark.parametrize("name", ["x.htm", "x.bvh", "x", "x.jpeg"])
def test_other_endings_are_refused_with_those_there_are(name, tmp_path):
    with pytest.raises(InputError, match=r"\.png, \.mp4, \.gif"):
        view(walking(2), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "size", [(14, 100), (100, 7682), (101, 100), (0, 0), (-2, 20), (1, 2, 3), None, "ab"]
)
def test_bad_sizes_are_refused(size, tmp_path):
    with pytest.raises(InputError, match="size"):
        view(walking(2), tmp_path / "x.png", size=size)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), 1e6, "fast"])
def test_bad_rates_are_refused(rate, tmp_path):
    with pytest.raises(InputError, match="frame"):
        view(walking(2), tmp_path / "x.mp4", frame_rate=rate, size=(64, 64))


def test_kinds_that_make_no_sense_are_refused(tmp_path):
    with pytest.raises(InputError, match="strip, curves, path"):
        view(walking(2), tmp_path / "x.png", kind="film")
    with pytest.raises(InputError, match="MeshSequence can be drawn as strip"):
        view(sliding_box(), tmp_path / "x.png", kind="curves")
    with pytest.raises(InputError, match="images"):
        view(walking(2), tmp_path / "x.mp4", kind="curves")
    with pytest.raises(InputError, match="int cannot be viewed"):
        view(3, tmp_path / "x.png")


@pytest.mark.parametrize("name", ["x.png", "x.mp4"])
def test_an_unwritable_place_is_named_before_anything_is_drawn(name, tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        view(walking(2), tmp_path / "missing" / name, size=SMALL)


def test_it_works_without_a_display(tmp_path):
    code = (
        "import sys, marey; from marey.views import view\n"
        "view(marey.samples.walk(seconds=1), sys.argv[1], size=(160, 90))\n"
        "assert not any(name.startswith(('vtk', 'pyvista', 'OpenGL')) for name in sys.modules)\n"
    )
    clean = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")}
    out = tmp_path / "walk.png"
    subprocess.run([sys.executable, "-c", code, str(out)], check=True, env=clean, timeout=LONG)
    assert coloured(read_png(out)).any()


def test_absurd_places_are_refused_and_never_crash(tmp_path):
    triangle = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    for size in (1e10, 1e150, 1e300):
        far = Motion(
            Skeleton(("hips",), [-1], [[0, 0, 0]]), [[[1, 0, 0, 0]]] * 2, [[0, 0, 0], [size, 0, 0]], 30
        )
        for thing in (far, MeshSequence([size * triangle], [[0, 1, 2]], 25), Tracks([[[size, 0]]], 25)):
            with pytest.raises(InputError, match="too far to be drawn"):
                view(thing, tmp_path / "far.mp4", size=SMALL)
    assert not list(tmp_path.iterdir())


def test_light_that_is_not_a_number_is_black():
    from marey.views._kernels import tone

    tones = np.arange(4096)
    assert [tone(light, tones) for light in (np.nan, -1.0, 0.0, 1.0, 7.0, np.inf)] == [
        0,
        0,
        0,
        4095,
        4095,
        4095,
    ]


@pytest.mark.parametrize("name", ["x.png", "x.mp4"])
def test_tracks_of_nobody_say_so(name, tmp_path):
    with pytest.raises(InputError, match="nobody is present"):
        view(Tracks(np.full((2, 1, 2), np.nan), 25), tmp_path / name, size=SMALL)


REAL = [
    "skeleton/cmu_bvh/49_06.bvh",
    "skeleton/bandai_bvh_NC/dataset-1_walk_normal_001.bvh",
    "skeleton/manipnet_hand_NC/mug1_rightHand.bvh",
    "skeleton/manipnet_hand_NC/mug1_mug1.bvh",
    "skeleton/misc_bvh/pirouette_43joints.bvh",
    "mesh4d/gltf_skinned/Fox.glb",
    "mesh4d/gltf_morph_sequences/Horse.glb",
]


@pytest.mark.parametrize("name", REAL)
def test_real_captures_are_drawn_whole_and_large(name, data_dir):
    import marey

    image = strip(actor(marey.load(data_dir / name)), SMALL)
    mask = coloured(image, threshold=8)
    rows, columns = np.nonzero(mask)
    assert mask.sum() > 400
    assert np.ptp(columns) > 100 and np.ptp(rows) > 35
    assert not mask[:2].any() and not mask[-2:].any()
    assert not mask[:, :2].any() and not mask[:, -2:].any()


@pytest.mark.parametrize("kind", ["dynamics", "strip"])
def test_a_motion_model_shows_its_law_or_a_new_motion(kind, tmp_path):
    view(MotionModel.fit(marey.samples.walk(3), modes=3), tmp_path / "it.png", size=SMALL, kind=kind)
    assert read_png(tmp_path / "it.png").std() > 4


@ONE_OF_EACH
def test_a_figure_of_each_type_has_its_size_in_pixels(thing):
    drawn = figure(thing(), size=SMALL)
    assert tuple(np.rint(drawn.get_size_inches() * drawn.dpi)) == SMALL
    assert drawn.axes


def test_a_page_can_show_an_image_of_a_kind():
    shown = page(walking(), "curves", title="angles", size=SMALL)
    assert shown.show == "picture" and shown.title == "angles"
    with pytest.raises(InputError, match="strip, curves, path"):
        page(walking(), "modes")


@pytest.mark.parametrize("browser", [True, False])
def test_without_a_path_the_page_is_opened_or_its_path_printed(browser, monkeypatch, capsys, tmp_path):
    opened = []
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) is None)
    if browser:
        monkeypatch.setenv("DISPLAY", ":0")
    view(replace(walking(), name="my walk/1"))
    (written,) = tmp_path.rglob("*.html")
    assert written.name == "my-walk-1.html" and written.read_text(encoding="utf-8").startswith(
        "<!doctype html>"
    )
    assert opened == ([written.as_uri()] if browser else [])
    assert capsys.readouterr().out == ("" if browser else f"{written}\n")
