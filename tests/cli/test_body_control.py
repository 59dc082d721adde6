"""`marey body puppet` and `marey body balance`: what they write, tell and refuse; events from a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import marey
from tests.cli.commands import refused, result


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    marey.save(marey.samples.walk(seconds=1), tmp_path / "walk.bvh")
    return tmp_path / "walk.bvh"


def test_a_puppet_with_events(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        {"t": 0.2, "push": {"joint": "Spine1", "impulse": [20, 0, 0]}},
        {"t": 0.3, "ball": {"mass": 1, "from": [2, 1.4, 0], "velocity": [-8, 0, 0]}},
        {"t": 0.4, "handle": {"joint": "LeftHand", "to": [0.3, 1.2, 0.4]}},
        {"t": 0.5, "look_at": [0, 1.6, 3]},
        {"t": 0.6, "handle": {"joint": "LeftHand", "to": None}},
    ]
    (tmp_path / "events.json").write_text(json.dumps(events))
    out = tmp_path / "out.bvh"
    told = result(
        capsys, "body", "puppet", walk, "-o", out, "--events", tmp_path / "events.json",
        "--push", "Spine1@0.1=0,0,5", "--strength", "0.7",
    )  # fmt: skip
    assert {"error_mean_cm", "error_max_cm", "peak_deviation_cm", "recovery_seconds", "root_force_n",
            "microseconds_per_step"} <= set(told)  # fmt: skip
    assert told["peak_deviation_cm"] > 0.05
    assert marey.load(out).frames == 60


def test_balance_with_events(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        {"t": 0.1, "feature": "head", "on": False},
        {"t": 0.2, "support": "left"},
        {"t": 0.2, "look_at": [0, 1.6, 3]},
    ]
    (tmp_path / "events.json").write_text(json.dumps(events))
    out = tmp_path / "out.bvh"
    told = result(
        capsys, "body", "balance", walk, "-o", out, "--seconds", "0.5", "--push", "Spine1@0.1=3,0,0",
        "--events", tmp_path / "events.json", "--reach", "RightHand=-0.2,1.1,0.3",
    )  # fmt: skip
    assert {"stood_seconds", "fell", "com_error_cm", "root_wrench_max", "steps_taken",
            "microseconds_per_step"} <= set(told)  # fmt: skip
    assert told["root_wrench_max"] < 1e-8 and not told["fell"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "JSON"),
        ("{}", "list of events"),
        ('[{"t": 1}]', "event 1"),
        ('[{"t": 1, "push": {"joint": "Spine1"}}]', "event 1: push"),
        ('[{"t": -1, "support": "left"}]', "-1"),
        ('[{"t": 1, "support": "middle"}]', "middle"),
    ],
)
def test_bad_events_are_refused(
    text: str, said: str, walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "events.json").write_text(text)
    told = refused(
        capsys, "body", "balance", walk, "-o", tmp_path / "o.bvh", "--events", tmp_path / "events.json"
    )
    assert said in told and not (tmp_path / "o.bvh").exists()


def test_bad_options_are_refused(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "o.bvh"
    assert "JOINT@T=X,Y,Z" in refused(capsys, "body", "puppet", walk, "-o", out, "--handle", "LeftHand=1,2,3")
    assert "Tail" in refused(capsys, "body", "puppet", walk, "-o", out, "--push", "Tail@0=1,2,3")
    assert "X,Y,Z" in refused(capsys, "body", "balance", walk, "-o", out, "--look-at", "1,2")
