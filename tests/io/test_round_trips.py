"""Whatever is saved is loaded again: every data type through every format that takes it, clips exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.kinematics import global_frames
from marey.body.motion import Motion
from marey.body.trackers import Trackers
from marey.crowd.cameras import Homography
from marey.io.formats import FORMATS, Format
from tests.io import seeds
from tests.io.test_images import film

WALK = marey.samples.walk()
THINGS = {
    **seeds.CONTAINERS,
    "Trackers": Trackers.of_motion(WALK[:20], ["Head"]),
    "Camera": seeds.CAMERA,
    "Homography": Homography(np.eye(3)),
    "Footage": film(3)[0],
}
PAIRS = [(known, kind) for known in FORMATS for kind in known.writes if kind in THINGS]


@pytest.mark.parametrize(("known", "kind"), PAIRS, ids=[f"{known.module}-{kind}" for known, kind in PAIRS])
def test_every_file_that_marey_writes_is_loaded(tmp_path: Path, known: Format, kind: str) -> None:
    for number, ending in enumerate(known.endings):
        if (known.module, ending) == ("cameras", ".xml"):
            continue  # calibrations of others
        thing = THINGS[kind]
        several = known.module in ("obj", "ply", "flo", "images") and getattr(thing, "frames", 1) > 1
        name = {".data": "crowd.constant.data"}.get(ending, f"a_%02d{ending}" if several else f"a{ending}")
        target = tmp_path / str(number) / name
        target.parent.mkdir()
        marey.save(thing, target)
        loaded = marey.load(target)
        if kind in known.reads:
            assert type(loaded).__name__ in (*known.reads, kind)
        for fact in ("frames", "frame_rate"):
            if hasattr(thing, fact) and hasattr(loaded, fact) and ending != ".flo":
                assert getattr(loaded, fact) == pytest.approx(getattr(thing, fact))


def joints(motion: Motion) -> np.ndarray:
    skeleton = motion.skeleton
    frames = global_frames(
        skeleton.parents, skeleton.offsets, motion.rotations, motion.root, translations=motion.translations
    )
    return frames.positions


@pytest.mark.parametrize("ending", [".bvh", ".glb", ".gltf", ".mry"])
@pytest.mark.parametrize("rate", [24.0, 30.0, 120.0, 29.97002997])
def test_a_clip_keeps_duration_rate_and_joints(tmp_path: Path, ending: str, rate: float) -> None:
    clip = Motion(WALK.skeleton, WALK.rotations, WALK.root, rate, convention=WALK.convention)
    marey.save(clip, tmp_path / f"a{ending}")
    back = marey.load(tmp_path / f"a{ending}", Motion)
    assert back.frame_rate == pytest.approx(rate, rel=1e-9)
    assert back.duration == pytest.approx(clip.duration, rel=1e-9)
    order = back.skeleton.indices(clip.skeleton.names)
    error = np.abs(joints(back)[:, order] - joints(clip)).max()
    assert error <= 1e-6 * np.ptp(joints(clip), axis=(0, 1)).max()


@pytest.mark.parametrize("rate", [24.0, 30.0, 120.0])
def test_a_clip_in_usd_keeps_duration_rate_and_joints(tmp_path: Path, rate: float) -> None:
    """The bones of the figure begin at the joints: the first corner of every 24 is one."""
    pytest.importorskip("pxr")
    from marey.io._rig import bones

    clip = Motion(WALK.skeleton, WALK.rotations, WALK.root, rate, convention=WALK.convention)
    marey.save(clip, tmp_path / "a.usdc")
    back = marey.load(tmp_path / "a.usdc", marey.MeshSequence)
    assert back.frame_rate == pytest.approx(rate)
    assert back.frames == clip.frames
    owners = bones(clip)[1][::24]
    error = np.abs(back.vertices[:, ::24] - joints(clip)[:, owners]).max()
    assert error <= 1e-6 * np.ptp(joints(clip), axis=(0, 1)).max()
