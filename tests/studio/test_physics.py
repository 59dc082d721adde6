"""The physics room: drop, push, throw; energy and momentum follow the frame that is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import marey
from marey.studio.app import Studio
from marey.studio.physics import PhysicsRoom
from tests.browser import keep_screenshot, page_of, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def room(studio: Studio) -> PhysicsRoom:
    """The room with a walk that was only opened, as one comes from the body room."""
    with studio.workspace.lock:
        studio.activate(studio.room("Body"))
    studio.show(marey.samples.walk(seconds=2), "walk.bvh")
    found = studio.room("Physics")
    assert isinstance(found, PhysicsRoom)
    with studio.workspace.lock:
        found.history = None
        studio._switch("Physics")
        studio.workspace.timeline.seek(20)
    found.release.seconds.value = 1.0
    found.release.gravity.value = found.release.ground.value = True
    return found


def test_the_room_goes_on_with_the_clip_of_the_body_room(room: PhysicsRoom, studio: Studio) -> None:
    assert room.active and room.name == "walk.bvh"
    assert room.state.clip is studio.room("Body").state.motion
    # A clip that is opened now stays here.
    studio.show(marey.samples.walk(seconds=1), "short.bvh")
    assert studio.active is room and room.state.clip.duration == pytest.approx(1.0)


def test_a_dropped_character_falls_from_the_frame_shown_and_undo_brings_the_clip_back(
    room: PhysicsRoom, studio: Studio
) -> None:
    clip = room.state.clip
    room.release.height.value = 1.0
    room.release.drop()
    assert room.workspace.jobs.wait()
    found = room.state.found
    assert found is not None and room.state.start == 20
    np.testing.assert_allclose(found.motion.root[0], clip.root[20] + [0, 1, 0], atol=0.02)
    assert found.motion.root[-1, 1] < clip.root[20, 1]
    assert room.workspace.timeline.frames == found.motion.frames
    studio.undo()
    assert room.state.motion is clip


def test_a_push_changes_what_comes_after_it_alone(room: PhysicsRoom) -> None:
    room.release.gravity.value = room.release.ground.value = False
    room.release.drop()
    assert room.workspace.jobs.wait() and room.state.found is not None
    before, rate = room.state.motion, room.state.motion.frame_rate
    with room.workspace.lock:
        room.workspace.timeline.seek(30)
    room.push.which.value, room.push.impulse.value = "LeftHand", (0.0, 0.0, 20.0)
    room.push.push()
    assert room.workspace.jobs.wait()
    pushed = room.state.found
    assert pushed is not None and room.state.pushes[-1].time == pytest.approx(30 / rate)
    np.testing.assert_allclose(pushed.motion.root[:28], before.root[:28], atol=1e-6)
    gained = pushed.trajectory.linear[-1] - pushed.trajectory.linear[0]
    np.testing.assert_allclose(gained, [0, 0, 20], atol=1e-6)
    with room.workspace.lock:
        room.workspace.timeline.play(False)
        room.workspace.timeline.seek(31)
    assert room.figure.arrows.visible
    with room.workspace.lock:
        room.workspace.timeline.seek(5)
    assert not room.figure.arrows.visible


def test_a_thrown_ball_hits_the_part_and_is_seen(room: PhysicsRoom) -> None:
    room.release.gravity.value = room.release.ground.value = False
    room.push.which.value, room.push.velocity.value = "Spine1", (0.0, 0.0, -12.0)
    room.push.throw()
    assert room.workspace.jobs.wait() and room.state.found is not None
    path = room.state.found.trajectory
    passed_on = path.linear[-1] - path.linear[0]
    lost = path.balls[0, 0, 3:] - path.balls[-1, 0, 3:]
    assert passed_on[2] < -1.0
    np.testing.assert_allclose(room.push.mass.value * lost, passed_on, atol=1e-9)
    with room.workspace.lock:
        room.workspace.timeline.play(False)
        room.workspace.timeline.seek(12)
    step = round(12 * (len(path.balls) - 1) / (room.state.motion.frames - 1))
    np.testing.assert_allclose(room.figure.balls.batched_positions, path.balls[step, :, :3], atol=1e-6)


def test_curves_grow_up_to_the_frame_that_is_shown(room: PhysicsRoom) -> None:
    assert not room.curves.folder.visible
    room.release.drop()
    assert room.workspace.jobs.wait() and room.state.found is not None
    with room.workspace.lock:
        room.workspace.timeline.play(False)
        room.workspace.timeline.seek(12)
    now = 12 / room.state.motion.frame_rate
    for plot, count in ((room.curves.energy, 2), (room.curves.momentum, 3)):
        assert room.curves.folder.visible and len(plot.data) == count
        assert plot.data[0][-1] <= now < plot.data[0][-1] + 0.02
    kinetic = room.state.found.trajectory.kinetic
    np.testing.assert_array_equal(room.curves.energy.data[1], kinetic[: len(room.curves.energy.data[1])])


def test_what_cannot_be_simulated_is_refused_in_a_line(room: PhysicsRoom, studio: Studio) -> None:
    far = replace(room.state.clip, root=room.state.clip.root + 1e9)
    with pytest.raises(marey.InputError, match="within 1,000 km"):
        room.open(far, "far.bvh")


def test_a_drop_in_a_real_browser(chromium: Browser, studio: Studio, room: PhysicsRoom) -> None:
    with page_of(chromium, studio.address, size=(1000, 700)) as tab:
        tab.page.get_by_role("button", name="Drop", exact=True).click()
        until(tab, lambda: room.state.found is not None and room.workspace.timeline.frame > 10)
        tab.page.locator(".uplot").first.wait_for()
        tab.page.get_by_role("button", name="Pause").click()
        until(tab, lambda: not room.workspace.timeline.playing)
        keep_screenshot(tab.page, "studio-physics")
        tab.page.keyboard.press("Control+z")
        until(tab, lambda: room.state.found is None)
        assert not tab.errors
