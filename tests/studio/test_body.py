"""The body room without a browser: what its controls do to the state, and what is then in the scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marey
from marey.body.pose_model import PoseModel
from marey.studio.app import Studio
from marey.studio.body.pose import Drag
from marey.studio.body.room import BodyRoom
from marey.studio.layers.figure import bones, spindles

FRAME = 40


@pytest.fixture(scope="module")
def clip() -> marey.Motion:
    return marey.samples.walk(seconds=2)


@pytest.fixture
def room(studio: Studio, clip: marey.Motion) -> BodyRoom:
    """The room with a walk, at a frame in its middle."""
    studio.show(clip, "walk.bvh")
    found = studio.room("Body")
    assert isinstance(found, BodyRoom)
    assert found.preparing.wait()
    with studio.workspace.lock:
        studio.workspace.timeline.seek(FRAME)
    return found


def place(room: BodyRoom, label: str, frame: int = FRAME) -> np.ndarray:
    return room.ends.places(room.poses, frame)[room.ends.labels.index(label)]


def drag(room: BodyRoom, label: str, to: np.ndarray, *, moments: int = 6) -> None:
    """A drag as the page tells it."""
    end, start = room.ends.labels.index(label), place(room, label, room.frame)
    for i in range(1, moments + 1):
        room.pose.dragged(Drag(1, end, start + (to - start) * i / moments, i == moments))


def done(room: BodyRoom) -> None:
    assert room.workspace.jobs.wait()
    wrong = [notice for notice in room.workspace.notices if notice.wrong]
    room.workspace.notices.clear()
    assert not wrong


def test_a_dragged_hand_arrives_feet_stay_and_undo_takes_it_back(
    room: BodyRoom, studio: Studio, clip: marey.Motion
) -> None:
    target = place(room, "left hand") + np.array([0.1, 0.35, 0.1])
    foot, far = place(room, "right foot"), place(room, "left hand", 0)
    drag(room, "left hand", target)
    assert np.linalg.norm(place(room, "left hand") - target) < 0.01
    assert np.linalg.norm(place(room, "right foot") - foot) < 0.01
    assert np.allclose(place(room, "left hand", 0), far), "the falloff does not reach the first frame"
    assert "cm" in room.pose.report_text.content and "ms" in room.pose.report_text.content
    studio.undo()
    assert room.state.motion is room.history.now.motion and not room.history.steps
    assert np.allclose(room.state.motion.rotations, clip.rotations)


def test_the_body_stays_upright_while_a_hand_is_out_of_reach(room: BodyRoom) -> None:
    pelvis = room.poses.body[FRAME].copy()
    drag(room, "left hand", place(room, "left hand") + np.array([0.5, 3.0, 0.0]))
    head = place(room, "head")
    assert head[1] - room.poses.body[FRAME][1] > 0.4
    assert np.linalg.norm(room.poses.body[FRAME] - pelvis) < 0.6
    assert "Off by" in room.pose.report_text.content


def test_held_feet_stay_on_their_way_in_all_frames_that_change(room: BodyRoom) -> None:
    feet = np.flatnonzero(room.ends.feet)
    before = room.ends.places(room.poses, slice(None))[:, feet]
    hand, speed = place(room, "left hand", FRAME + 4), _fastest_change(room.poses.points)
    drag(room, "left hand", place(room, "left hand") + np.array([0.1, 0.3, 0.2]))
    assert np.linalg.norm(place(room, "left hand", FRAME + 4) - hand) > 0.1, "frames nearby follow"
    after = room.ends.places(room.poses, slice(None))[:, feet]
    assert np.linalg.norm(after - before, axis=-1).max() < 0.002
    assert _fastest_change(room.poses.points) < speed + 40.0, "and nothing jerks"


def _fastest_change(points: np.ndarray, rate: float = 60.0) -> float:
    """Largest acceleration of any point, m/s²."""
    return float(np.linalg.norm(np.diff(points, 2, axis=0), axis=-1).max()) * rate**2


@pytest.mark.parametrize("label", ["left hand", "right foot", "head"])
def test_a_body_pulled_about_comes_back_to_the_very_pose_it_had(room: BodyRoom, label: str) -> None:
    end, start = room.ends.labels.index(label), place(room, label)
    before = room.state.motion[FRAME].positions()
    for away in ([0.0, 0.2, 0.0], [0.1, 0.5, 0.2], [0.0, 3.0, 0.0], [0.3, -2.0, 0.0], [0.0, 0.2, 0.1]):
        room.pose.follow(end, start + away)
    room.pose.follow(end, start)
    room.pose.follow(end, start)
    room.pose.keep()
    assert np.abs(room.state.motion[FRAME].positions() - before).max() < 0.01


def test_a_pointer_that_rests_leaves_the_body_at_rest(room: BodyRoom) -> None:
    end = room.ends.labels.index("left hand")
    target = place(room, "left hand") + np.array([0.2, 0.4, 0.1])
    shown = []
    for _ in range(6):
        room.pose.follow(end, target)
        shown.append(room.pose.balls.places)
    assert np.abs(shown[-1] - shown[-3]).max() < 0.002


def test_feet_stay_and_nothing_goes_below_the_ground_whatever_is_pulled_where(room: BodyRoom) -> None:
    feet = [place(room, "left foot"), place(room, "right foot")]
    ground = room.ends.places(room.poses, slice(None))[..., 1].min()
    for away in ([0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, -3.0, 0.0]):
        target = place(room, "right hand") + away
        drag(room, "right hand", target, moments=12)
        assert np.linalg.norm(place(room, "left foot") - feet[0]) < 0.005
        assert np.linalg.norm(place(room, "right foot") - feet[1]) < 0.005
        assert place(room, "right hand")[1] > ground - 0.01
        told = float(room.pose.report_text.content.split("**")[1].split()[0])
        assert told == pytest.approx(100 * np.linalg.norm(place(room, "right hand") - target), abs=0.1)
        room.undo()


def test_scene_follows_a_drag_before_it_is_kept(room: BodyRoom) -> None:
    before = room.figure.body.meshes[0][0].vertices.copy()
    end = room.ends.labels.index("right hand")
    target = place(room, "right hand") + np.array([0.0, 0.2, 0.2])
    room.pose.dragged(Drag(7, end, target, False))
    assert np.abs(room.figure.body.meshes[0][0].vertices - before).max() > 0.001
    assert np.allclose(room.pose.balls.places[end], target)
    assert not room.history.steps
    room.pose.dragged(Drag(7, end, target, True))
    assert room.history.steps == 1


def test_the_end_of_a_drag_is_kept_even_if_another_follows_at_once(room: BodyRoom) -> None:
    balls = room.pose.balls
    for number, label in enumerate(("left hand", "right hand")):
        end = room.ends.labels.index(label)
        balls._follow(Drag(100 + number, end, place(room, label) + np.array([0.0, 0.1, 0.0]), False))
    balls._follow(Drag(101, end, place(room, "right hand") + np.array([0.0, 0.1, 0.0]), True))
    assert room.history.steps == 2


def test_moving_a_part_by_numbers_needs_no_mouse(room: BodyRoom) -> None:
    target = place(room, "head") - [0.0, 0.2, 0.0]
    room.pose.which.value = "head"
    room.pose.shift.value = (0.0, -20.0, 0.0)
    room.pose.move()
    done(room)
    assert np.linalg.norm(place(room, "head") - target) < 0.01


def test_sliders_of_modes_change_the_pose_and_count_as_one_step(room: BodyRoom) -> None:
    model = room.solver.model
    assert model is not None
    spread = np.sqrt(model.geodesics.variances)
    before = room.state.motion
    for value in (0.5, 1.0, 2.0):
        room.modes.set_modes((value, 0.0, 0.0))
    found = (model.encode(room.state.motion[FRAME])[0] / spread)[:3]
    assert np.allclose(found, [2.0, 0.0, 0.0], atol=0.02)
    assert room.history.steps == 1
    room.modes.reset()
    assert room.state.motion is before


def test_sliders_show_the_pose_of_the_frame(room: BodyRoom) -> None:
    model = room.solver.model
    assert model is not None
    spread = np.sqrt(model.geodesics.variances)
    room.workspace.timeline.seek(10)
    told = [slider.value for slider in room.modes.sliders]
    assert np.allclose(told, np.clip((model.encode(room.state.motion[10])[0] / spread)[:8], -3, 3), atol=0.01)


def test_variants_keep_the_pinned_pose_and_one_can_be_chosen(room: BodyRoom) -> None:
    room.vary.pin()
    assert room.state.pins == (FRAME,) and room.vary.pinned_poses.figures == 1
    room.vary.count.value = 2
    room.vary.vary()
    done(room)
    assert len(room.state.variants) == 2 and room.vary.sticks.figures == 2
    clip = room.state.motion
    for variant in room.state.variants:
        turned = marey.geometry.rotations.distance(variant.rotations[FRAME, 1:], clip.rotations[FRAME, 1:])
        assert turned.max() < 0.1
        assert np.abs(variant.positions() - clip.positions()).max() > 0.01
    room.vary.shown.value = "2"
    chosen = room.state.variants[1]
    room.vary.use()
    assert room.state.motion is chosen and not room.state.variants
    room.vary.unpin()
    assert room.state.pins == ()


def test_gains_of_inputs_change_the_clip_that_they_drive(room: BodyRoom, clip: marey.Motion) -> None:
    assert all(gain.disabled for gain in room.drive.gains)
    room.drive.count.value = 3
    room.drive.learn()
    done(room)
    driven = room.state.motion
    assert driven.frames == clip.frames
    assert [gain.disabled for gain in room.drive.gains] == [False] * 3 + [True] * 5
    room.drive.drive((1.0,) * 8)
    assert np.abs(room.state.motion.positions() - driven.positions()).max() < 1e-9
    room.drive.drive((2.0,) + (1.0,) * 7)
    assert np.abs(room.state.motion.positions() - driven.positions()).max() > 0.01
    room.undo()
    assert room.state.motion is driven
    room.undo()
    assert room.state.control is None and room.drive.gains[0].disabled


def test_a_gap_is_filled_with_alternatives_and_bands_are_drawn(room: BodyRoom, clip: marey.Motion) -> None:
    room.workspace.timeline.seek(30)
    room.fill.begin()
    room.workspace.timeline.seek(50)
    room.fill.end()
    assert room.state.gap == (30, 50)
    room.fill.limb.value = "left arm"
    room.fill.samples.value = 2
    room.fill.fill()
    done(room)
    filling = room.state.filling
    assert filling is not None and filling.frames_filled == 21 and len(filling.samples) == 2
    kept = clip.skeleton.index("RightHand")
    assert np.allclose(room.state.motion.rotations[:, kept], clip.rotations[:, kept])
    assert len(room.fill.group.nodes) == 3, "the mean, the alternatives, the band"
    assert "9 times in 10" in room.fill.report.content
    room.undo()
    assert room.state.filling is None and not room.fill.group.nodes


def test_compression_keeps_to_the_centimetres_and_another_error_replaces_it(room: BodyRoom) -> None:
    sizes = []
    for bound in (1.0, 4.0):
        room.compress.bound.value = bound
        room.compress.compress()
        done(room)
        found = room.state.compressed
        assert found is not None and found.error.maximum <= bound / 100 * (1 + 1e-6)
        sizes.append(found.clip.bytes)
    assert sizes[1] < sizes[0]
    assert room.history.steps == 1 and room.compress.ghost.parts > 0
    assert f"{sizes[1]:,} bytes" in room.compress.report.content
    room.undo()
    assert room.state.compressed is None and not room.compress.ghost.parts


def test_a_hand_reaches_a_target_at_its_time(room: BodyRoom) -> None:
    room.reach.which.value = "right hand"
    room.reach.place()
    target = place(room, "right hand") + np.array([0.0, 0.1, 0.05])
    room.reach.drag_to(target)
    room.reach.reach()
    done(room)
    assert np.linalg.norm(place(room, "right hand") - target) < 0.01
    assert "acceleration" in room.reach.report.content


def test_buttons_without_what_they_need_are_told_in_words(room: BodyRoom) -> None:
    for act in (room.vary.unpin, room.vary.use, room.fill.fill, room.reach.reach):
        with pytest.raises(marey.MareyError, match="first|yet"):
            act()


@pytest.mark.parametrize("label", ["motion (BVH)", "figure (GLB)", "compressed (MRY)", "positions (CSV)"])
def test_what_is_shown_can_be_taken_away(room: BodyRoom, label: str, tmp_path: Path) -> None:
    export = next(export for export in room.exports(room.state) if export.label == label)
    path = tmp_path / export.name
    export.write(path, lambda done, total: None)
    if label != "positions (CSV)":
        assert marey.load(path).frames == room.state.motion.frames
        return
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    assert np.allclose(rows[:, 1:4], room.state.motion.root, atol=1e-4)
    assert len(rows) == room.state.motion.frames


def test_ghosts_stand_where_the_body_was_and_will_be(room: BodyRoom) -> None:
    room.display.ghosts.value = 1
    room.display.spacing.value = 0.1
    room.display.redraw()
    handle = room.display.sticks._handle
    there, _ = bones(room.state.motion.skeleton)
    step = round(0.1 * room.state.motion.frame_rate)
    past = room.poses.points[FRAME - step][there[:, 0]]
    assert np.allclose(handle.batched_positions[: len(there)], past, atol=1e-5)
    room.workspace.timeline.seek(0)
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
    studio.workspace.notices.clear()
    studio.show(ODD[kind](), kind)
    room = studio.room("Body")
    assert isinstance(room, BodyRoom)
    assert room.preparing.wait()
    assert room.figure.body.parts > 0 or room.state.motion.joints < 2
    with studio.workspace.lock:
        for frame in range(min(room.state.motion.frames, 3)):
            studio.workspace.timeline.seek(frame)
    if room.state.motion.joints < 300:
        label = room.ends.labels[0]
        drag(room, label, place(room, label, room.frame) + 0.02, moments=2)
        assert room.history.steps == 1
    assert not [notice for notice in studio.workspace.notices if notice.wrong]
    assert room.exports(room.state)


def test_too_many_joints_to_pose_are_told_in_words(studio: Studio) -> None:
    studio.show(tree(400, 2), "forest")
    room = studio.room("Body")
    assert isinstance(room, BodyRoom)
    with pytest.raises(marey.InputError, match="400 joints"):
        room.pose.dragged(Drag(1, 0, np.zeros(3), True))


def test_a_pose_model_of_the_same_joints_poses_the_clip(room: BodyRoom, studio: Studio) -> None:
    motion = room.state.motion
    model = PoseModel.fit([motion], modes=3)
    studio.show(model, "model.mry")
    assert room.solver.model is model and room.state.motion is motion
    assert [slider.disabled for slider in room.modes.sliders] == [False] * 3 + [True] * 5


def test_a_body_too_far_away_to_see_is_refused(studio: Studio, clip: marey.Motion) -> None:
    with pytest.raises(marey.InputError, match="unit"):
        studio.show(clip.transform(translation=[1e9, 0.0, 0.0]), "far.bvh")
