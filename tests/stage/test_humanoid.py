"""Clips of any human figure are understood, whatever their joints are called and however they lie at rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey import Motion, Skeleton, samples
from marey.body.kinematics import forward_kinematics
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.stage import dress
from marey.stage.humanoid import NAMES, humanoid
from marey.stage.walking.cycles import cycle
from marey.stage.walking.figure import figure

BONES = {"UpLeg": "UpperLeg", "Leg": "LowerLeg", "ToeBase": "Toes", "ForeArm": "LowerArm", "Arm": "UpperArm"}


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.walk(seconds=3, frame_rate=30)


def called(motion: Motion, *, prefix: str = "", style: str = "side last") -> Motion:
    """The clip with joints named in another way."""

    def name(old: str) -> str:
        side = next((side for side in ("Left", "Right") if old.startswith(side)), "")
        part = old.removeprefix(side)
        if style == "side last" and side:
            return f"{BONES.get(part, part)}_{side[0]}"
        return prefix + old

    names = tuple(name(old) for old in motion.skeleton.names)
    return replace(motion, skeleton=replace(motion.skeleton, names=names))


def along_an_axis(motion: Motion) -> Motion:
    """The same motion of a skeleton whose bones all lie along x when its rotations are zero."""
    skeleton = motion.skeleton
    turns = so3.identity((skeleton.joints,))
    for joint in range(skeleton.joints):
        child = next(iter(skeleton.children(joint)), None)
        if child is not None and np.linalg.norm(skeleton.offsets[child]) > 1e-6:
            turns[joint] = so3.between(skeleton.offsets[child], [1.0, 0.0, 0.0])
    above = turns[np.maximum(skeleton.parents, 0)]
    offsets = so3.rotate(above, skeleton.offsets)
    offsets[0] = skeleton.offsets[0]
    rotations = so3.multiply(above, so3.multiply(motion.rotations, so3.inverse(turns)))
    rotations[:, 0] = so3.multiply(motion.rotations[:, 0], so3.inverse(turns[0]))
    ends = so3.rotate(turns[skeleton.end_parents], skeleton.end_offsets)
    return replace(motion, skeleton=replace(skeleton, offsets=offsets, end_offsets=ends), rotations=rotations)


@pytest.mark.parametrize("style", ["side last", "namespace"])
def test_names_do_not_matter(walk: Motion, style: str) -> None:
    other = called(walk, prefix="mixamorig:", style=style)
    body = figure().character
    wanted = forward_kinematics(dress(body, walk).motion).positions
    found = forward_kinematics(dress(body, other).motion).positions
    np.testing.assert_allclose(found, wanted, atol=0.02)


def test_how_bones_lie_at_rest_does_not_matter(walk: Motion) -> None:
    lying = along_an_axis(called(walk))
    np.testing.assert_allclose(lying.positions(), walk.positions(), atol=1e-9)
    named = humanoid(lying)
    np.testing.assert_allclose(named.positions(), walk.positions(), atol=1e-6)
    body = figure().character
    wanted = forward_kinematics(dress(body, walk).motion).positions
    found = forward_kinematics(dress(body, lying).motion).positions
    off = np.linalg.norm(found - wanted, axis=-1)
    assert off.mean() < 0.03
    assert off.max() < 0.12


def test_cycles_of_a_renamed_walk_are_those_of_the_walk(walk: Motion) -> None:
    own, other = cycle(figure(), walk), cycle(figure(), along_an_axis(called(walk)))
    assert other.speed == pytest.approx(own.speed, rel=0.05)
    assert other.cadence == pytest.approx(own.cadence, rel=0.02)
    assert other.duty == pytest.approx(own.duty, abs=0.05)


def test_feet_without_toes_get_them_at_their_ends(walk: Motion) -> None:
    skeleton = walk.skeleton
    toes = [skeleton.index(f"{side}ToeBase") for side in ("Left", "Right")]
    kept = [j for j in range(skeleton.joints) if not any(j in skeleton.descendants(toe) for toe in toes)]
    short = Skeleton(
        tuple(skeleton.names[j] for j in kept),
        [kept.index(int(skeleton.parents[j])) if j else -1 for j in kept],
        skeleton.offsets[kept],
        [kept.index(int(skeleton.parents[toe])) for toe in toes],
        skeleton.offsets[toes],
    )
    bare = called(replace(walk, skeleton=short, rotations=walk.rotations[:, kept]))
    named = humanoid(bare)
    assert set(NAMES) <= set(named.skeleton.names)
    for toe in toes:
        here = named.skeleton.index(skeleton.names[toe])
        np.testing.assert_allclose(named.positions()[:, here], walk.positions()[:, toe], atol=1e-9)


def test_a_figure_without_a_leg_is_refused_by_its_name(walk: Motion) -> None:
    gone = walk.skeleton.descendants(walk.skeleton.index("RightUpLeg"))
    names = tuple(f"bone{j}" if j in gone else f"{name}_" for j, name in enumerate(walk.skeleton.names))
    other = replace(walk, skeleton=replace(walk.skeleton, names=names), name="hopping")
    with pytest.raises(InputError, match=r"^hopping: .* right leg not found"):
        cycle(figure(), other)


@pytest.mark.parametrize(("file", "low", "high"), [("walk_normal", 1.1, 1.5), ("walk_old", 0.5, 0.9)])
def test_real_clips_of_other_makers_walk(data_dir: Path, file: str, low: float, high: float) -> None:
    path = data_dir / "skeleton" / "bandai_bvh_NC" / f"dataset-1_{file}_001.bvh"
    if not path.exists():
        pytest.skip("no such clip")
    found = cycle(figure(), marey.load(path))
    assert low < found.speed < high
    assert 0.55 < found.duty < 0.75
