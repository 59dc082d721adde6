"""Claims about results and reports."""

from __future__ import annotations

from dataclasses import dataclass

import marey
from marey._report import Report, Result


@dataclass(frozen=True)
class Measured(Report):
    joints: tuple[str, ...]
    error_cm: float


@dataclass(frozen=True, eq=False)
class One(Result):
    motion: marey.Motion
    report: Measured


@dataclass(frozen=True, eq=False)
class Several(Result):
    motions: tuple[marey.Motion, ...]


def test_a_result_is_saved_as_what_it_holds(tmp_path):
    walk = marey.samples.walk(seconds=1)
    One(walk, Measured((), 0.0)).save(tmp_path / "walk.bvh")
    assert marey.load(tmp_path / "walk.bvh").frames == walk.frames


def test_several_motions_are_saved_under_numbered_names(tmp_path):
    walk = marey.samples.walk(seconds=1)
    Several((walk, walk[:5])).save(tmp_path / "walk.bvh")
    assert {path.name for path in tmp_path.iterdir()} == {"walk_1.bvh", "walk_2.bvh"}
    assert marey.load(tmp_path / "walk_2.bvh").frames == 5


def test_a_report_has_no_nan():
    assert Measured(("Hips",), float("nan")).as_dict() == {"joints": ("Hips",), "error_cm": None}
