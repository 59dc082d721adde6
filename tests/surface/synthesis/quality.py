"""How good an animation is where captured and blended frames meet, and within blends (Boukhayma 2017, 3.4).

At a junction the step of the body, its velocity and its rate of turning should change no more than they do in
captured motion; within blends, edges and volume should be those of the poses that are blended. Cost: a few
passes over the vertices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, FloatArray
from marey.geometry import mesh, planar
from marey.surface.distances import yaw_between
from marey.surface.sequence import Library
from marey.surface.synthesis.animation import Animation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quality:
    """Continuity of an animation at its junctions, and distortion of its blends.

    junctions: `(junctions,)`, frames at which blending begins or ends, or two captured pieces meet
    position_jumps: `(junctions,)`, metres by which the step to that frame exceeds those around it
    velocity_jumps: `(junctions,)`, change of the body's velocity, metres a second from frame to frame
    heading_jumps: `(junctions,)`, change of its rate of turning, radians a second from frame to frame
    usual_velocity_jump, usual_heading_jump: what is rarely exceeded (1 in 20) where frames are captured
    edge_deviation, volume_deviation: means over blended frames: root mean square of edge lengths, and volume,
        relative to what lies between the poses that are blended
    """

    junctions: NDArray[np.int64]
    position_jumps: Array
    velocity_jumps: Array
    heading_jumps: Array
    usual_velocity_jump: float
    usual_heading_jump: float
    edge_deviation: float
    volume_deviation: float


def quality(animation: Animation, library: Library) -> Quality:
    """Measure an animation made from a library.

    >>> import marey
    >>> from marey.surface.synthesis.animation import Provenance
    >>> walk = marey.samples.mesh_sequence()[:20]
    >>> same = Animation(walk, Provenance(np.arange(20), np.arange(20), np.zeros(20), np.zeros(20, bool)))
    >>> quality(same, Library((walk,))).junctions.tolist()
    []
    """
    sequence = animation.sequence
    junctions = junction_frames(animation)
    steps, turns = _steps(animation)
    velocity, heading = np.zeros(sequence.frames), np.zeros(sequence.frames)
    if sequence.frames > 2:
        velocity[1:-1] = np.linalg.norm(np.diff(steps, axis=0), axis=1) * sequence.frame_rate
        heading[1:-1] = np.abs(np.diff(turns)) * sequence.frame_rate
    captured = _inside_captured(animation)
    edges, volume = _distortion(animation, library)
    return Quality(
        junctions,
        _excess(np.linalg.norm(steps, axis=1), junctions),
        velocity[junctions],
        heading[junctions],
        float(np.quantile(velocity[captured], 0.95)) if captured.any() else 0.0,
        float(np.quantile(heading[captured], 0.95)) if captured.any() else 0.0,
        edges,
        volume,
    )


def junction_frames(animation: Animation) -> NDArray[np.int64]:
    """Frames at which captured ones give way to blended ones or to others, or the other way round."""
    origin = animation.provenance
    changes = origin.synthetic[1:] != origin.synthetic[:-1]
    cut = ~origin.synthetic[1:] & ~origin.synthetic[:-1] & (np.diff(origin.sources) != 1)
    return np.flatnonzero(changes | cut) + 1


def _steps(animation: Animation) -> tuple[Array, Array]:
    """From each frame to the next: the way of the body's middle `(frames - 1, 2)`, and its turn."""
    vertices = animation.sequence.vertices
    middles = np.array([planar.centroid(frame) for frame in vertices])
    faces = animation.sequence.faces
    turns = [-yaw_between(vertices[i], vertices[i + 1], faces) for i in range(len(vertices) - 1)]
    return np.diff(middles, axis=0), np.array(turns)


def _excess(lengths: Array, junctions: NDArray[np.int64]) -> Array:
    """By how much the steps before and after junctions exceed the ones around them, metres."""
    found = np.zeros(len(junctions))
    for k, frame in enumerate(junctions):
        for step in (frame - 1, frame):
            around = [lengths[i] for i in (step - 1, step + 1) if 0 <= i < len(lengths)]
            if step < len(lengths) and around:
                found[k] = max(found[k], lengths[step] - max(around))
    return found


def _inside_captured(animation: Animation) -> BoolArray:
    """Frames that are captured ones between captured ones."""
    origin = animation.provenance
    goes_on = np.concatenate([[False], ~origin.synthetic[1:] & (np.diff(origin.sources) == 1)])
    inside = goes_on.copy()
    inside[:-1] &= goes_on[1:]
    inside[-1:] = False
    return inside


def _distortion(animation: Animation, library: Library) -> tuple[float, float]:
    origin = animation.provenance
    edges = mesh.unique_edges(library.faces)
    of_edges, of_volume = [], []
    for i in np.flatnonzero(origin.synthetic):
        weight = origin.weights[i]
        first, second = (library.vertices(int(f)) for f in (origin.sources[i], origin.destinations[i]))
        now = np.asarray(animation.sequence.vertices[i], np.float64)
        expected = (1 - weight) * _lengths(first, edges) + weight * _lengths(second, edges)
        relative = _lengths(now, edges) / np.where(expected > 0, expected, 1.0) - 1.0
        of_edges.append(np.sqrt(np.mean(relative[expected > 0] ** 2)))
        volume = (1 - weight) * mesh.volume(first, library.faces) + weight * mesh.volume(
            second, library.faces
        )
        if volume != 0:
            of_volume.append(abs(mesh.volume(now, library.faces) / volume - 1.0))
    return float(np.mean(of_edges)) if of_edges else 0.0, float(np.mean(of_volume)) if of_volume else 0.0


def _lengths(vertices: FloatArray, edges: NDArray[np.int64]) -> Array:
    points = np.asarray(vertices, np.float64)
    return np.asarray(np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1))
