"""Pages hold what they show, nothing is asked for, and nothing in a name becomes more than a name."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import marey
from marey.body.pose_model import PoseModel
from marey.character import Character
from marey.crowd.polygons import rectangle
from marey.crowd.scenes import Goal, Group, Scene
from marey.errors import InputError
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.synthesis.animation import Animation, Provenance
from marey.views import page as page_of
from marey.views import view
from marey.views.mannequin import figure
from marey.views.mannequin_parts import Poses
from marey.views.pages import Page
from marey.views.pages import page as page_module
from marey.views.pages.page import thinning
from tests.cli.commands import result
from tests.test_character import column, swaying
from tests.views import things

EVIL = "</script><script>alert(1)</script>"
DTYPES = {"f4": "<f4", "i2": "<i2", "u1": "u1", "u2": "<u2", "u4": "<u4"}


class Elements(HTMLParser):
    """Which elements a page has, and the text of its title and first heading."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: dict[str, str] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("title", "h1", "p"):
            self.said[self._inside] = self.said.get(self._inside, "") + data


def described(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="page">(.*?)</script>', text, re.S)
    assert found is not None
    return dict(json.loads(found.group(1)))


def numbers(page: Page, kept: dict[str, Any]) -> Any:
    """What the player will read."""
    stored = np.frombuffer(zlib.decompress(page.blobs[kept["blob"]]), DTYPES[kept["dtype"]])
    stored = stored.reshape(kept["shape"])
    if "scale" not in kept:
        return stored
    values = stored.astype(np.float64) * kept["scale"] + kept["offset"]
    return np.where(stored == -32768, np.nan, values)


def a_place() -> Scene:
    goal = {"east": Goal(rectangle(15, 0, 16, 8))}
    group = Group(20, rectangle(0, 1, 4, 7), "east")
    return Scene((16, 8), obstacles=[rectangle(7, 0, 8, 3)], goals=goal, groups=[group])


def an_animation() -> Animation:
    made = np.array([False, False, True, True, False, False])
    steps = np.arange(6)
    return Animation(things.sliding_box(), Provenance(steps, steps, np.where(made, 0.5, 0.0), made))


THINGS = {
    "motion": things.walking,
    "character": lambda: Character(column(), (swaying(),)),
    "mesh": things.sliding_box,
    "textured mesh": lambda: things.sliding_box(textured=True),
    "markers": things.some_markers,
    "animation": an_animation,
    "tracks": things.two_people,
    "scene": a_place,
    "simulated": lambda: marey.crowd.simulate(a_place(), seconds=4.0, frame_rate=5, rng=0),
    "field": things.whirl,
    "footage": things.grey_ramp,
    "pose model": lambda: PoseModel.fit([things.walking(20)]),
    "distances": lambda: DistanceMatrix([[0, 1], [1, 0]], np.zeros((2, 2)), [0, 2], ("w",), "surface"),
}


@pytest.mark.parametrize("name", THINGS)
def test_whatever_has_a_picture_has_a_page(name: str, tmp_path: Path) -> None:
    out = tmp_path / "thing.html"
    view(THINGS[name](), out, size=things.SMALL, title=name)
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    elements = Elements(text)
    assert elements.said["title"] == elements.said["h1"] == name
    assert len(text) < 3_000_000
    outside = [tag for tag, given in elements.tags if {"src", "href"} & given.keys() and tag != "link"]
    assert outside == [] and "default-src 'none'" in text
    assert described(text)["frames"] >= 1


def test_a_kind_is_shown_as_its_picture(tmp_path: Path) -> None:
    view(things.walking(), tmp_path / "angles.html", size=things.SMALL, kind="curves")
    assert described((tmp_path / "angles.html").read_text(encoding="utf-8"))["show"] == "picture"


def test_names_that_would_run_stay_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = tmp_path / f"{EVIL.replace('/', '∕')}<img src=x onerror=alert(2)>.bvh"
    marey.save(things.walking(), clip)
    out = tmp_path / "page.html"
    result(capsys, "view", clip, "-o", out)
    elements = Elements(out.read_text(encoding="utf-8"))
    assert elements.said["h1"] == clip.name
    assert not any(tag == "img" for tag, _ in elements.tags)


def test_text_that_ends_scripts_stays_text() -> None:
    page = Page(EVIL, EVIL, notes=[EVIL], spans=[{"first": 0, "last": 1, "label": EVIL, "colour": "red"}])
    plain = Page("x", "x", notes=["x"], spans=[{"first": 0, "last": 1, "label": "x", "colour": "red"}])
    evil, tame = "".join(page.pieces()), "".join(plain.pieces())
    assert [tag for tag, _ in Elements(evil).tags] == [tag for tag, _ in Elements(tame).tags]
    assert described(evil)["spans"][0]["label"] == EVIL


def test_braces_in_names_are_not_filled_in() -> None:
    assert (
        Elements("".join(Page("{description} {caption}", "{x}").pieces())).said["h1"]
        == "{description} {caption}"
    )


def test_blobs_come_back_as_they_were() -> None:
    page = Page("x")
    page.keep(b"\0\1</script>\xff" * 100)
    text = "".join(page.pieces())
    found = re.search(r'id="blob-0">([A-Za-z0-9+/=]*)</script>', text)
    assert found is not None
    assert zlib.decompress(base64.b64decode(found.group(1))) == b"\0\1</script>\xff" * 100


@settings(max_examples=40)
@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=3, max_side=5),
        elements=st.one_of(st.floats(-1e4, 1e4, width=32), st.just(np.nan)),
    )
)
def test_quantised_numbers_are_within_a_step_and_gaps_stay_gaps(values: Any) -> None:
    page = Page("x")
    kept = page.quantised(values)
    read = numbers(page, kept)
    assert np.array_equal(np.isnan(read), np.isnan(values))
    step = np.broadcast_to(np.array(kept["scale"]), values.shape)
    off = np.abs(read - values)
    assert (off[np.isfinite(off)] <= (0.51 * step + 1e-9)[np.isfinite(off)]).all()


def test_a_figure_in_a_page_is_the_figure_of_the_pictures() -> None:
    motion = things.walking(8)
    page = page_of(motion, title="walk")
    spec = page.layers[0]
    poses = Poses(motion)
    body = figure(motion, poses)
    base, origins, axes = (numbers(page, spec[name]) for name in ("base", "origins", "axes"))
    local, carrier = numbers(page, spec["vertices"]), numbers(page, spec["carrier"])
    for frame in (0, 5):
        turned = axes[frame].reshape(-1, 3, 3)[carrier]
        placed = base[frame] + origins[frame][carrier] + np.einsum("vij,vi->vj", turned, local)
        assert np.abs(placed - body.vertices(poses.points[frame], poses.matrices(frame))).max() < 2e-4
    assert np.allclose(np.linalg.norm(numbers(page, spec["normals"]), axis=1), 1, atol=1e-5)


def test_a_surface_in_a_page_is_where_it_was() -> None:
    box = things.sliding_box(30)
    swelling = 1 + 0.3 * np.sin(np.arange(30) / 5)[:, None, None]
    sequence = replace(box, vertices=np.asarray(box.vertices) * swelling)
    page = page_of(sequence, title="box")
    spec = page.layers[0]
    targets, weights = numbers(page, spec["targets"]), numbers(page, spec["weights"])
    local = numbers(page, spec["base"]) + np.einsum("fs,svc->fvc", weights, targets)
    turn, x, z = numbers(page, spec["places"]).T
    c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
    placed = np.stack(
        [
            c * local[..., 0] + s * local[..., 2] + x[:, None],
            local[..., 1],
            c * local[..., 2] - s * local[..., 0] + z[:, None],
        ],
        axis=-1,
    )
    assert np.abs(placed - sequence.vertices).max() < 2e-3


def test_a_texture_for_each_frame_is_kept_once_each() -> None:
    page = page_of(things.sliding_box(textured=True), title="box")
    spec = page.layers[0]
    assert len(spec["textures"]) == len(set(spec["texture_of"])) and len(spec["texture_of"]) == page.frames


def test_the_time_bar_says_which_frames_were_made() -> None:
    page = page_of(an_animation(), title="new")
    assert [(span["first"], span["last"], span["label"]) for span in page.spans] == [
        (0, 1.5, "captured"),
        (1.5, 3.5, "synthetic"),
        (3.5, 5, "captured"),
    ]


def test_a_pose_set_apart_at_the_start_is_not_shown_first() -> None:
    motion = things.walking(30)
    path = np.array(motion.root)
    path[0] += [40.0, 0, 0]
    apart = marey.Motion(motion.skeleton, motion.rotations, path, motion.frame_rate)
    page = page_of(apart, title="walk")
    assert page.start == 1 and page.stage["high"][0] < 20


def test_long_clips_leave_out_frames_and_keep_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = 60
    whole = page_of(things.walking(frames), title="walk")
    needed = sum(len(zlib.decompress(blob)) for blob in whole.blobs)
    assert thinning(10, 10.0, budget=needed) == 1
    monkeypatch.setattr(page_module.Page.thin, "__kwdefaults__", {"budget": 20_000})
    page = page_of(things.walking(frames), title="walk")
    assert page.frames < frames and page.frame_step * page.frames >= frames
    assert any("One frame in" in note for note in page.notes)
    assert page.frame_rate * page.frame_step == pytest.approx(whole.frame_rate)


def test_pages_beyond_the_limit_are_refused_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "MAX_BYTES", 1000)
    with pytest.raises(InputError, match="choose fewer frames"):
        view(things.walking(), tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []


def test_nobody_on_the_tracks_is_said(tmp_path: Path) -> None:
    empty = marey.Tracks(np.full((3, 2, 2), np.nan), 25)
    with pytest.raises(InputError, match="nobody"):
        view(empty, tmp_path / "x.html")


def test_a_glb_of_ones_own_becomes_a_page(tmp_path: Path) -> None:
    marey.save(things.walking(), tmp_path / "walk.glb")
    data = (tmp_path / "walk.glb").read_bytes()
    stage = page_of(things.walking(), title="walk").stage
    stage.pop("way")
    page = Page("mine", frames=12, frame_rate=30, stage=stage)
    page.layer("glb", glb=page.keep(data))
    assert zlib.decompress(page.blobs[page.layers[0]["glb"]]) == data


def test_the_bundle_is_that_of_its_sources() -> None:
    """A change of the player's files that was not bundled would not be seen by anyone."""
    folder = Path(page_module.__file__).parent
    bundle = (folder / "player.min.js").read_text(encoding="utf-8")
    assert "</script" not in bundle.lower() and len(bundle) < 900_000
    sources = sorted(path for path in folder.glob("*.js") if path.name != "player.min.js")
    total = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    assert total in bundle[:300], "run tools/bundle_player.sh"
