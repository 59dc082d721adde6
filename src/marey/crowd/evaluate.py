"""Captured fields, or people, against the truth: `marey crowd evaluate`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import ArrayLike

from marey.crowd.animation.agents import BODY_RADIUS
from marey.crowd.evaluation.fields import ErrorSums, FieldErrors, Truth, check_comparable, flow_similarity
from marey.crowd.evaluation.flows import flow_errors
from marey.crowd.evaluation.pedestrians import crowd_errors, flow_deviation, overlaps, trajectory_errors
from marey.crowd.fields import FieldSeries, on_grid, pixel_map
from marey.crowd.scales import crowd_flow
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError, MareyWarning

MEASURES = ("endpoint", "angular_degrees", "divergence", "vorticity", "trajectory_m")


def evaluate(
    data: FieldSeries | Tracks | SimulatedCrowd,
    truth: Truth | FieldSeries | Tracks | None = None,
    *,
    statistics: bool = False,
    lines: Sequence[ArrayLike] = (),
    loops: Sequence[ArrayLike] = (),
) -> dict[str, object]:
    """Errors of captured motion against the truth; of people, also overlapping bodies.

    People are carried by the field as it is; what is said of the crowd is said of the crowd's flow in it.

    Args:
        data: A captured flow, tracks, or a simulated crowd.
        truth: What is known; of people alone, overlapping bodies are counted if None.
        statistics: Compare flow statistics instead of frame-by-frame errors.
        lines: Across which flux is measured, `(points, 2)` metres each.
        loops: Round which circulation and outflow are, `(corners, 2)` metres each, counter-clockwise.

    Returns:
        Measures by name, None where the truth does not say. Of fields: endpoint, angular_degrees, divergence,
        vorticity and more, in pixels of the truth's grid; `trajectory_m`, the mean distance after the longest
        of 1, 2 and 5 seconds that the series is long enough for, and `trajectories`, after 10 too; `flow`,
        :class:`~marey.crowd.evaluation.FlowErrors` on the ground.

    >>> from marey import samples
    >>> flow = samples.field(rows=20, columns=30, seconds=1)
    >>> evaluate(flow, flow)["endpoint"]
    0.0
    """
    if isinstance(truth, FieldSeries):
        truth = Truth(truth)
    elif isinstance(truth, Tracks):
        truth = Truth(None, truth)
    known = Truth() if truth is None else truth
    if isinstance(data, FieldSeries):
        return _fields(data, known, statistics, lines, loops)
    return _people(data, known, statistics)


def simulation_report(crowd: SimulatedCrowd) -> dict[str, object]:
    """How a simulated crowd fared: who left, how bodies overlap, how fast people walk."""
    touching = overlaps(crowd.tracks, crowd.radius, tolerance=1.0)
    speed = np.linalg.norm(crowd.velocities[round(crowd.scene.hold * crowd.frame_rate) :], axis=-1)
    return {
        "people": crowd.agents,
        "steps": crowd.steps,
        "frames": crowd.frames,
        "frame_rate": crowd.frame_rate,
        "left": crowd.departed,
        "collisions": overlaps(crowd.tracks, crowd.radius).as_dict(),
        "deepest_overlap": round(touching.deepest_share, 3),
        "mean_speed": round(float(np.nanmean(speed)), 3) if np.isfinite(speed).any() else 0.0,
    }


def _fields(
    series: FieldSeries,
    truth: Truth,
    statistics: bool,
    lines: Sequence[ArrayLike],
    loops: Sequence[ArrayLike],
) -> dict[str, object]:
    true = truth.fields
    if true is None and truth.tracks is None:
        raise InputError(
            "give a field and, after it, the truth; of tracks alone, overlapping bodies are counted"
        )
    if statistics:
        if true is None:
            raise InputError("statistics compares two field series, the truth holds tracks")
        return flow_similarity(crowd_flow(series), crowd_flow(true)).as_dict()
    if true is None and series.homography is None:
        raise InputError("the truth holds tracks in metres, and the field has no camera; capture it with one")
    if true is not None and abs(series.frames - true.frames) > 1:
        shorter = min(series.frames, true.frames)
        _note(
            f"{series.frames} fields and {true.frames} of the truth: the first {shorter} of each are "
            "compared; --frames A:B chooses others of the truth"
        )
    row: dict[str, object] = dict.fromkeys(field.name for field in fields(FieldErrors))
    crowd = crowd_flow(series) if true is None or true.scale == "crowd" else series
    if true is not None:
        check_comparable(series, true)
        sums = ErrorSums()
        for frame in range(min(series.frames, true.frames)):
            found = on_grid(crowd.velocities[frame], true.rows, true.columns)
            sums.add(found, true.velocities[frame], truth.counts(frame))
        row |= sums.errors().as_dict()
        if true.homography is not None:
            shapes = (series.rows, series.columns), (true.rows, true.columns)
            matrix = true.homography @ pixel_map(*shapes)
            series, crowd = replace(series, homography=matrix), replace(crowd, homography=matrix)
    row |= {"trajectory_m": None, "trajectory_seconds": None, "trajectories": [], "flow": None}
    if truth.tracks is not None and series.homography is not None:
        errors = trajectory_errors(series, truth.tracks)
        row["trajectories"] = [error.as_dict() for error in errors]
        usual = [error for error in errors if error.seconds <= 5]
        if usual:
            row["trajectory_m"], row["trajectory_seconds"] = usual[-1].mean, usual[-1].seconds
        flow = flow_errors(crowd, truth.tracks, lines=lines, loops=loops)
        row["flow"] = None if flow is None else flow.as_dict()
    return row


def _people(people: Tracks | SimulatedCrowd, truth: Truth, statistics: bool) -> dict[str, object]:
    # A simulated crowd knows its bodies; tracks alone are taken for people of usual size.
    if isinstance(people, SimulatedCrowd):
        tracks, collisions = people.tracks, overlaps(people.tracks, people.radius)
    else:
        tracks, collisions = people, overlaps(people, BODY_RADIUS)
    row: dict[str, object] = {"collisions": collisions.as_dict()}
    if truth.tracks is not None:
        found = crowd_errors(tracks, truth.tracks)
        if found.shared == 0:
            _note("the two have no person's number in common: they are compared as crowds only")
        return dict.fromkeys(MEASURES) | found.as_dict() | row
    if truth.fields is None:
        return row
    if statistics:
        raise InputError("statistics compares two field series, this holds tracks")
    if truth.fields.homography is None:
        raise InputError("the truth has no camera, and the tracks are in metres; capture it with a camera")
    return dict.fromkeys(MEASURES) | {"deviation": flow_deviation(tracks, truth.fields)} | row


def _note(text: str) -> None:
    warnings.warn(text, MareyWarning, stacklevel=4)
