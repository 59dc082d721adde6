"""The body panel without a browser: what its controls do to the state, and what is then in the scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marey
from marey.body.pose_model import PoseModel
from marey.studio.app import Studio
from marey.studio.body.handles import Pull
from marey.studio.body.panel import BodyPanel
from marey.studio.body.sticks import bones, spindles

FRAME = 40


@pytest.fixture(scope="module")
def clip() -> marey.Motion:
    return marey.samples.walk(seconds=2)


@pytest.fixture
def panel(studio: Studio, clip: marey.Motion) -> BodyPanel:
    """The panel with a walk, at a frame in its middle."""
    studio.show(clip, "walk.bvh")
    found = studio.panel("Body")
    assert isinstance(found, BodyPanel)
    assert found.preparing.wait()
    with studio.desk.lock:
        studio.desk.timeline.seek(FRAME)
    return found


def place(panel: BodyPanel, label: str, frame: int = FRAME) -> np.ndarray:
    return panel.ends.places(panel.poses, frame)[panel.ends.labels.index(label)]


def drag(panel: BodyPanel, label: str, to: np.ndarray, *, moments: int = 6) -> None:
    """A drag as the page tells it."""
    end, start = panel.ends.labels.index(label), place(panel, label, panel.frame)
    for i in range(1, moments + 1):
        panel.posing.pulled(Pull(1, end, start + (to - start) * i / moments, i == moments))


def done(panel: BodyPanel) -> None:
    assert panel.desk.jobs.wait()
    wrong = [notice for notice in panel.desk.notices if notice.wrong]
    panel.desk.notices.clear()
    assert not wrong


def test_a_dragged_hand_arrives_feet_stay_and_undo_takes_it_back(
    panel: BodyPanel, studio: Studio, clip: marey.Motion
) -> None:
    target = place(panel, "left hand") + np.array([0.1, 0.35, 0.1])
    foot, far = place(panel, "right foot"), place(panel, "left hand", 0)
    drag(panel, "left hand", target)
    assert np.linalg.norm(place(panel, "left hand") - target) < 0.01
    assert np.linalg.norm(place(panel, "right foot") - foot) < 0.01
    assert np.allclose(place(panel, "left hand", 0), far), "the falloff does not reach the first frame"
    assert "cm" in panel.posing.text.content and "ms" in panel.posing.text.content
    studio.undo()
    assert panel.state.motion is panel.history.now.motion and not panel.history.steps
    assert np.allclose(panel.state.motion.rotations, clip.rotations)


def test_the_body_stays_upright_while_a_hand_is_out_of_reach(panel: BodyPanel) -> None:
    pelvis = panel.poses.body[FRAME].copy()
    drag(panel, "left hand", place(panel, "left hand") + np.array([0.5, 3.0, 0.0]))
    head = place(panel, "head")
    assert head[1] - panel.poses.body[FRAME][1] > 0.4
    assert np.linalg.norm(panel.poses.body[FRAME] - pelvis) < 0.6
    assert "Off by" in panel.posing.text.content


def test_held_feet_stay_on_their_way_in_all_frames_that_change(panel: BodyPanel) -> None:
    feet = np.flatnonzero(panel.ends.feet)
    before = panel.ends.places(panel.poses, slice(None))[:, feet]
    hand, speed = place(panel, "left hand", FRAME + 4), _fastest_change(panel.poses.points)
    drag(panel, "left hand", place(panel, "left hand") + np.array([0.1, 0.3, 0.2]))
    assert np.linalg.norm(place(panel, "left hand", FRAME + 4) - hand) > 0.1, "frames nearby follow"
    after = panel.ends.places(panel.poses, slice(None))[:, feet]
    assert np.linalg.norm(after - before, axis=-1).max() < 0.002
    assert _fastest_change(panel.poses.points) < speed + 40.0, "and nothing jerks"


def _fastest_change(points: np.ndarray, rate: float = 60.0) -> float:
    """Largest acceleration of any point, m/s²."""
    return float(np.linalg.norm(np.diff(points, 2, axis=0), axis=-1).max()) * rate**2


@pytest.mark.parametrize("label", ["left hand", "right foot", "head"])
def test_a_body_pulled_about_comes_back_to_the_very_pose_it_had(panel: BodyPanel, label: str) -> None:
    end, start = panel.ends.labels.index(label), place(panel, label)
    before = panel.state.motion[FRAME].positions()
    for away in ([0.0, 0.2, 0.0], [0.1, 0.5, 0.2], [0.0, 3.0, 0.0], [0.3, -2.0, 0.0], [0.0, 0.2, 0.1]):
        panel.posing.follow(end, start + away)
    panel.posing.follow(end, start)
    panel.posing.follow(end, start)
    panel.posing.keep()
    assert np.abs(panel.state.motion[FRAME].positions() - before).max() < 0.01


def test_a_pointer_that_rests_leaves_the_body_at_rest(panel: BodyPanel) -> None:
    end = panel.ends.labels.index("left hand")
    target = place(panel, "left hand") + np.array([0.2, 0.4, 0.1])
    shown = []
    for _ in range(6):
        panel.posing.follow(end, target)
        shown.append(panel.posing.balls.places)
    assert np.abs(shown[-1] - shown[-3]).max() < 0.002


def test_feet_stay_and_nothing_goes_below_the_ground_whatever_is_pulled_where(panel: BodyPanel) -> None:
    feet = [place(panel, "left foot"), place(panel, "right foot")]
    ground = panel.ends.places(panel.poses, slice(None))[..., 1].min()
    for away in ([0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, -3.0, 0.0]):
        target = place(panel, "right hand") + away
        drag(panel, "right hand", target, moments=12)
        assert np.linalg.norm(place(panel, "left foot") - feet[0]) < 0.005
        assert np.linalg.norm(place(panel, "right foot") - feet[1]) < 0.005
        assert place(panel, "right hand")[1] > ground - 0.01
        told = float(panel.posing.text.content.split("**")[1].split()[0])
        assert told == pytest.approx(100 * np.linalg.norm(place(panel, "right hand") - target), abs=0.1)
        panel.undo()


def test_scene_follows_a_drag_before_it_is_kept(panel: BodyPanel) -> None:
    before = panel.body._parts[0][0].vertices.copy()
    end = panel.ends.labels.index("right hand")
    target = place(panel, "right hand") + np.array([0.0, 0.2, 0.2])
    panel.posing.pulled(Pull(7, end, target, False))
    assert np.abs(panel.body._parts[0][0].vertices - before).max() > 0.001
    assert np.allclose(panel.posing.balls.places[end], target)
    assert not panel.history.steps
    panel.posing.pulled(Pull(7, end, target, True))
    assert panel.history.steps == 1


def test_the_end_of_a_drag_is_kept_even_if_another_follows_at_once(panel: BodyPanel) -> None:
    balls = panel.posing.balls
    for number, label in enumerate(("left hand", "right hand")):
        end = panel.ends.labels.index(label)
        balls._follow(Pull(100 + number, end, place(panel, label) + np.array([0.0, 0.1, 0.0]), False))
    balls._follow(Pull(101, end, place(panel, "right hand") + np.array([0.0, 0.1, 0.0]), True))
    assert panel.history.steps == 2


def test_moving_a_part_by_numbers_needs_no_mouse(panel: BodyPanel) -> None:
    target = place(panel, "head") - [0.0, 0.2, 0.0]
    panel.posing.which.value = "head"
    panel.posing.shift.value = (0.0, -20.0, 0.0)
    panel.posing.move()
    done(panel)
    assert np.linalg.norm(place(panel, "head") - target) < 0.01


def test_sliders_of_modes_change_the_pose_and_count_as_one_step(panel: BodyPanel) -> None:
    model = panel.poser.model
    assert model is not None
    spread = np.sqrt(model.geodesics.variances)
    before = panel.state.motion
    for value in (0.5, 1.0, 2.0):
        panel.modes.set((value, 0.0, 0.0))
    found = (model.encode(panel.state.motion[FRAME])[0] / spread)[:3]
    assert np.allclose(found, [2.0, 0.0, 0.0], atol=0.02)
    assert panel.history.steps == 1
    panel.modes.reset()
    assert panel.state.motion is before


def test_sliders_show_the_pose_of_the_frame(panel: BodyPanel) -> None:
    model = panel.poser.model
    assert model is not None
    spread = np.sqrt(model.geodesics.variances)
    panel.desk.timeline.seek(10)
    told = [slider.value for slider in panel.modes.sliders]
    assert np.allclose(
        told, np.clip((model.encode(panel.state.motion[10])[0] / spread)[:8], -3, 3), atol=0.01
    )


def test_variants_keep_the_pinned_pose_and_one_can_be_chosen(panel: BodyPanel) -> None:
    panel.varying.pin()
    assert panel.state.pins == (FRAME,) and panel.varying._marks.figures == 1
    panel.varying.count.value = 2
    panel.varying.vary()
    done(panel)
    assert len(panel.state.variants) == 2 and panel.varying._sticks.figures == 2
    clip = panel.state.motion
    for variant in panel.state.variants:
        turned = marey.geometry.rotations.distance(variant.rotations[FRAME, 1:], clip.rotations[FRAME, 1:])
        assert turned.max() < 0.1
        assert np.abs(variant.positions() - clip.positions()).max() > 0.01
    panel.varying.choice.value = "2"
    chosen = panel.state.variants[1]
    panel.varying.use()
    assert panel.state.motion is chosen and not panel.state.variants
    panel.varying.unpin()
    assert panel.state.pins == ()


def test_a_gap_is_filled_with_alternatives_and_bands_are_drawn(panel: BodyPanel, clip: marey.Motion) -> None:
    panel.desk.timeline.seek(30)
    panel.gaps.begin()
    panel.desk.timeline.seek(50)
    panel.gaps.end()
    assert panel.state.gap == (30, 50)
    panel.gaps.limb.value = "left arm"
    panel.gaps.samples.value = 2
    panel.gaps.fill()
    done(panel)
    filling = panel.state.filling
    assert filling is not None and filling.frames_filled == 21 and len(filling.samples) == 2
    kept = clip.skeleton.index("RightHand")
    assert np.allclose(panel.state.motion.rotations[:, kept], clip.rotations[:, kept])
    assert len(panel.gaps._extras) == 3, "the likeliest way, other ways, the band"
    assert "9 times in 10" in panel.gaps.text.content
    panel.undo()
    assert panel.state.filling is None and not panel.gaps._extras


def test_compression_keeps_to_the_centimetres_and_another_error_replaces_it(panel: BodyPanel) -> None:
    sizes = []
    for bound in (1.0, 4.0):
        panel.compressing.bound.value = bound
        panel.compressing.compress()
        done(panel)
        small = panel.state.small
        assert small is not None and small.error.maximum <= bound / 100 * (1 + 1e-6)
        sizes.append(small.clip.bytes)
    assert sizes[1] < sizes[0]
    assert panel.history.steps == 1 and panel.compressing.ghost.parts > 0
    assert f"{sizes[1]:,} bytes" in panel.compressing.text.content
    panel.undo()
    assert panel.state.small is None and not panel.compressing.ghost.parts


def test_a_hand_reaches_a_target_at_its_time(panel: BodyPanel) -> None:
    panel.reaching.which.value = "right hand"
    panel.reaching.place()
    target = place(panel, "right hand") + np.array([0.0, 0.1, 0.05])
    panel.reaching.drag_to(target)
    panel.reaching.reach()
    done(panel)
    assert np.linalg.norm(place(panel, "right hand") - target) < 0.01
    assert "acceleration" in panel.reaching.text.content


def test_buttons_without_what_they_need_are_told_in_words(panel: BodyPanel) -> None:
    for act in (panel.varying.unpin, panel.varying.use, panel.gaps.fill, panel.reaching.reach):
        with pytest.raises(marey.MareyError, match="first|yet"):
            act()


@pytest.mark.parametrize("label", ["motion (BVH)", "figure (GLB)", "small (MRY)", "table (CSV)"])
def test_what_is_shown_can_be_taken_away(panel: BodyPanel, label: str, tmp_path: Path) -> None:
    export = next(export for export in panel.exports() if export.label == label)
    path = tmp_path / export.name
    export.write(path, lambda done, total: None)
    if label != "table (CSV)":
        assert marey.load(path).frames == panel.state.motion.frames
        return
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    assert np.allclose(rows[:, 1:4], panel.state.motion.root, atol=1e-4)
    assert len(rows) == panel.state.motion.frames


def test_ghosts_stand_where_the_body_was_and_will_be(panel: BodyPanel) -> None:
    panel.seeing.ghosts.value = 1
    panel.seeing.apart.value = 0.1
    panel.seeing._dress()
    handle = panel.seeing._sticks._handle
    there, _ = bones(panel.state.motion.skeleton)
    step = round(0.1 * panel.state.motion.frame_rate)
    past = panel.poses.points[FRAME - step][there[:, 0]]
    assert np.allclose(handle.batched_positions[: len(there)], past, atol=1e-5)
    panel.desk.timeline.seek(0)
    assert not handle.batched_scales[: len(there)].any(), "before the first frame there is nobody"


def test_spindles_lie_along_their_bones() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2, 4, 3))
    ends = np.array([[0, 1], [1, 2], [1, 3]])
    places, turns, scales = spindles(points, ends, np.full(3, 0.01))
    tips = places + scales[:, 2:] * marey.geometry.rotations.rotate(turns, [0.0, 0.0, 1.0])
    assert np.allclose(tips, points[:, ends[:, 1]].reshape(-1, 3), atol=1e-5)


def tree(joints: int, frames: int, *, rng: int = 0) -> marey.Motion:
    """A skeleton of any size, its joints turned at random."""
    random = np.random.default_rng(rng)
    parents = [-1, *(int(random.integers(max(0, j - 20), j)) for j in range(1, joints))]
    skeleton = marey.Skeleton(
        tuple(f"j{j}" for j in range(joints)), parents, random.normal(size=(joints, 3)) * 0.1
    )
    turns = marey.geometry.rotations.exp(0.1 * random.normal(size=(frames, joints, 3)))
    return marey.Motion(skeleton, turns, np.zeros((frames, 3)), 30)


ODD: dict[str, Any] = {
    "one frame": lambda: marey.samples.walk(seconds=1)[0],
    "two frames": lambda: marey.samples.walk(seconds=1)[:2],
    "one joint": lambda: tree(1, 40),
    "seven joints without names": lambda: tree(7, 5),
    "4,000 joints": lambda: tree(4000, 3),
    "a character": lambda: marey.samples.human(),
    "a compressed clip": lambda: marey.body.compress(marey.samples.walk(seconds=1), method="tournier"),
    "a pose model": lambda: PoseModel.fit([marey.samples.walk(seconds=1).without(["Head"])], modes=4),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_bodies_are_shown_played_and_dragged_without_a_complaint(studio: Studio, kind: str) -> None:
    studio.desk.notices.clear()
    studio.show(ODD[kind](), kind)
    panel = studio.panel("Body")
    assert isinstance(panel, BodyPanel)
    assert panel.preparing.wait()
    assert panel.body.parts > 0 or panel.state.motion.joints < 2
    with studio.desk.lock:
        for frame in range(min(panel.state.motion.frames, 3)):
            studio.desk.timeline.seek(frame)
    if panel.state.motion.joints < 300:
        label = panel.ends.labels[0]
        drag(panel, label, place(panel, label, panel.frame) + 0.02, moments=2)
        assert panel.history.steps == 1
    assert not [notice for notice in studio.desk.notices if notice.wrong]
    assert panel.exports()


def test_too_many_joints_to_pose_are_told_in_words(studio: Studio) -> None:
    studio.show(tree(400, 2), "forest")
    panel = studio.panel("Body")
    assert isinstance(panel, BodyPanel)
    with pytest.raises(marey.InputError, match="400 joints"):
        panel.posing.pulled(Pull(1, 0, np.zeros(3), True))


def test_a_pose_model_of_the_same_joints_poses_the_clip(panel: BodyPanel, studio: Studio) -> None:
    motion = panel.state.motion
    model = PoseModel.fit([motion], modes=3)
    studio.show(model, "model.mry")
    assert panel.poser.model is model and panel.state.motion is motion
    assert [slider.disabled for slider in panel.modes.sliders] == [False] * 3 + [True] * 5


def test_a_body_too_far_away_to_see_is_refused(studio: Studio, clip: marey.Motion) -> None:
    with pytest.raises(marey.InputError, match="unit"):
        studio.show(clip.transform(translation=[1e9, 0.0, 0.0]), "far.bvh")
