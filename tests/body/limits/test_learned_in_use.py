"""Learned limits in inverse kinematics, particles and variation, by one protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

import marey
from marey.body.limits import LearnedLimits, learn
from tests.cli.commands import refused, result


@pytest.fixture(scope="module")
def walk() -> marey.Motion:
    return marey.samples.walk()


@pytest.fixture(scope="module")
def learned(walk: marey.Motion) -> LearnedLimits:
    return learn([walk])


def excess(learned: LearnedLimits, motion: marey.Motion) -> float:
    return float(learned.limits.excess(motion.rotations).max())


def test_inverse_kinematics_keeps_them(walk: marey.Motion, learned: LearnedLimits) -> None:
    def posed(limits: LearnedLimits | None) -> float:
        found = marey.body.ik(walk, reach={"LeftHand": [0.2, 1.9, 0.3]}, no_model=True, limits=limits)
        return excess(learned, found.motion)

    assert posed(learned) < 0.1 < 1.0 < posed(None)


def test_a_stretch_of_inverse_kinematics_keeps_them(walk: marey.Motion, learned: LearnedLimits) -> None:
    clip = walk[:20]

    def posed(limits: LearnedLimits | None) -> float:
        found = marey.body.ik(
            clip, move={"LeftHand": [0, 0.5, 0]}, range=(0.1, None), no_model=True, limits=limits
        )
        return excess(learned, found.motion)

    assert posed(learned) < 0.1 < 1.0 < posed(None)


@pytest.mark.parametrize("polish", [False, True])
def test_particles_keep_them(walk: marey.Motion, learned: LearnedLimits, polish: bool) -> None:
    options = {"move": {"LeftHand": [0, 0.5, 0]}, "particles": 40, "steps": 8, "polish": polish, "rng": 0}
    held, free = (
        marey.body.particles(walk, limits=limits, **options).motions[0] for limits in (learned, None)
    )
    assert excess(learned, held) < 1e-6 < 1.0 < excess(learned, free)


def test_variants_keep_them(walk: marey.Motion, learned: LearnedLimits) -> None:
    short = walk[:120]
    for limits, kept in ((learned, True), (True, False)):
        made = marey.body.vary(short, count=1, deviation=1.0, limits=limits, rng=0)[0]
        assert (excess(learned, made) < 1e-6) == kept


def test_commands_read_them(
    learned: LearnedLimits, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits, walk, posed = tmp_path / "limits.json", tmp_path / "walk.bvh", tmp_path / "posed.bvh"
    marey.save(learned, limits)
    marey.save(marey.samples.walk(1), walk)
    handles = ("--reach", "LeftHand=0.2,1.9,0.3", "--no-model")
    result(capsys, "body", "ik", walk, "-o", posed, *handles, "--limits", limits)
    assert excess(learned, marey.load(posed)) < 0.1
    both = ("--limits", limits, "--no-limits")
    assert "--limits" in refused(capsys, "body", "vary", walk, "-o", tmp_path / "v", *both)
    assert not (tmp_path / "v").exists()
