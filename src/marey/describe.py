"""What is in a thing we loaded, as plain values: the content of `marey info`."""

from __future__ import annotations

from typing import Any

import numpy as np

from marey.body.codec.clip import CompressedMotion
from marey.body.dynamics import MotionModel
from marey.body.kinematics import end_positions, forward_kinematics
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.character import Character
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scene import Scene
from marey.crowd.simulation.simulated import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.stage.walk.walk import WalkingCrowd
from marey.surface.distances.matrix import DistanceMatrix
from marey.surface.graphs.repertoire import Repertoire
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation

# Frames looked at for sizes and speeds: enough for a summary, quick on an hour of capture.
LOOKED_AT = 200


def describe(thing: Any) -> dict[str, Any]:
    """Plain values that say what `thing` is; lengths in metres, times in seconds.

    >>> import marey
    >>> describe(marey.samples.walk())["kind"]
    'motion'
    """
    for kind, (cls, facts) in _KINDS.items():
        if isinstance(thing, cls):
            return {"kind": kind, **_times(thing), **facts(thing)}
    raise InputError(f"a {type(thing).__name__} is not something we can describe")


def _times(thing: Any) -> dict[str, Any]:
    if isinstance(thing, Scene):
        return {"frames": None, "frame_rate": None, "duration": thing.seconds}
    if isinstance(thing, PoseModel | DistanceMatrix):
        return {"frames": thing.frames, "frame_rate": None, "duration": None}
    if isinstance(thing, Repertoire):
        frames, rate = thing.library.frames, thing.library.frame_rate
        return {"frames": frames, "frame_rate": round(rate, 6), "duration": round(frames / rate, 6)}
    timed = thing.sequence if isinstance(thing, Animation) else thing
    return {
        "frames": timed.frames,
        "frame_rate": round(timed.frame_rate, 6),
        "duration": round(timed.duration, 6),
    }


def _motion(motion: Motion) -> dict[str, Any]:
    shown = motion[:: max(1, motion.frames // LOOKED_AT)]
    pose = forward_kinematics(shown)
    positions = np.concatenate([pose.positions, end_positions(shown, pose)], axis=1)
    moving = np.ptp(np.abs(shown.rotations), axis=0).max(axis=-1) > 1e-6
    # The middle of the body: in some files the root joint stays where it is and the hips travel.
    path = np.linalg.norm(np.diff(positions.mean(axis=1), axis=0), axis=-1).sum()
    return {
        "joints": motion.joints,
        "end_sites": len(motion.skeleton.end_parents),
        "moving_joints": int(moving.sum()),
        "sliding_joints": motion.translations is not None,
        "height": _rounded(np.ptp(positions[..., 1], axis=1).max()),
        "travelled": _rounded(path),
        "unit": motion.convention.unit_name,
        "up": motion.convention.up,
        "joint_names": list(motion.skeleton.names),
    }


def _markers(markers: Markers) -> dict[str, Any]:
    return {
        "markers": len(markers.names),
        "seen": _rounded(markers.present.mean()),
        "unit": markers.convention.unit_name,
        "up": markers.convention.up,
        "marker_names": list(markers.names),
    }


def _mesh(sequence: MeshSequence) -> dict[str, Any]:
    return {
        "vertices": sequence.vertices.shape[1],
        "faces": len(sequence.faces),
        "uv": sequence.uv is not None,
        "colours": sequence.colours is not None,
        "textures": len(sequence.textures),
        "size": [_rounded(v) for v in np.ptp(sequence.vertices[0], axis=0)],
    }


def _distances(distances: DistanceMatrix) -> dict[str, Any]:
    apart = distances.values[np.triu_indices(distances.frames, 1)]
    return {
        "metric": distances.metric,
        "mean_distance": _rounded(apart.mean()) if len(apart) else None,
        "largest_distance": _rounded(apart.max()) if len(apart) else None,
        "sequences": [
            {"name": name, "frames": int(length)}
            for name, length in zip(distances.names, np.diff(distances.starts), strict=True)
        ],
    }


def _repertoire(repertoire: Repertoire) -> dict[str, Any]:
    library, graph = repertoire.library, repertoire.graph
    return {
        "vertices": library.sequences[0].vertices.shape[1],
        "faces": len(library.faces),
        "graph": graph.kind,
        "edges": graph.edges,
        "transitions": int(graph.synthetic.sum()),
        "density": round(graph.density, 6),
        "alpha": graph.alpha,
        "windows": [graph.windows.shortest, graph.windows.longest],
        "metric": repertoire.distances.metric,
        "sequences": [
            {"name": sequence.name, "label": label, "frames": sequence.frames}
            for sequence, label in zip(library.sequences, library.labels, strict=True)
        ],
    }


def _animation(animation: Animation) -> dict[str, Any]:
    captured = animation.provenance.captured_frames
    return {
        "captured_frames": captured,
        "synthetic_frames": animation.sequence.frames - captured,
        **_mesh(animation.sequence),
    }


def _character(character: Character) -> dict[str, Any]:
    skin = character.skin
    return {
        "joints": character.motion.joints,
        "vertices": len(skin.vertices),
        "faces": len(skin.faces),
        "texture": skin.texture is not None,
        "clips": [
            {"name": m.name, "frames": m.frames, "frame_rate": m.frame_rate} for m in character.motions
        ],
        "joint_names": list(character.motion.skeleton.names),
    }


def _tracks(tracks: Tracks) -> dict[str, Any]:
    steps = np.linalg.norm(np.diff(tracks.positions, axis=0), axis=-1) * tracks.frame_rate
    low, high = np.nanmin(tracks.positions, axis=(0, 1)), np.nanmax(tracks.positions, axis=(0, 1))
    return {
        "agents": tracks.agents,
        "most_at_once": int(tracks.present.sum(axis=1).max()),
        "mean_speed": _rounded(np.nanmean(steps)) if np.isfinite(steps).any() else None,
        "area": [_rounded(v) for v in (*low, *high)],
    }


def _simulated(crowd: SimulatedCrowd) -> dict[str, Any]:
    return {**_tracks(crowd.tracks), "scene": crowd.scene.name, "left": crowd.left, "steps": crowd.steps}


def _scene(scene: Scene) -> dict[str, Any]:
    return {
        "size": list(scene.size),
        "people": sum(group.people for group in scene.groups),
        "groups": len(scene.groups),
        "goals": list(scene.goals),
        "obstacles": len(scene.obstacles),
        "rest": scene.hold,
    }


def _field(field: FieldSeries) -> dict[str, Any]:
    speed = np.hypot(field.velocities[..., 0], field.velocities[..., 1])
    return {
        "rows": field.rows,
        "columns": field.columns,
        "masked": None if field.mask is None else _rounded(1 - field.mask.mean()),
        "mean_speed_pixels": _rounded(speed.mean() if field.mask is None else speed[:, field.mask].mean()),
    }


def _footage(footage: Footage) -> dict[str, Any]:
    return {"rows": footage.rows, "columns": footage.columns}


def _pose_model(model: PoseModel) -> dict[str, Any]:
    return {
        "joints": model.skeleton.joints,
        "modes": model.modes,
        "variance": _rounded(model.variance),
        "metric": model.metric,
        "root": model.root,
        "shares": [_rounded(share) for share in np.diff(model.geodesics.explained, prepend=0.0)],
        "wrap_hazards": list(model.wrap_hazards),
        "joint_names": list(model.skeleton.names),
    }


def _motion_model(model: MotionModel) -> dict[str, Any]:
    return {
        "joints": model.poses.skeleton.joints,
        "modes": model.modes,
        "variance": _rounded(model.poses.variance),
        "method": model.method,
        "order": model.dynamics.order,
        "radius": _rounded(model.radius),
        "period": None if model.trend.period is None else _rounded(model.trend.period),
        "joint_names": list(model.poses.skeleton.names),
    }


def _compressed(clip: CompressedMotion) -> dict[str, Any]:
    return {
        "joints": clip.joints,
        "end_sites": len(clip.skeleton.end_parents),
        "method": clip.method,
        "bytes": clip.bytes,
        "ratio": round(clip.ratio, 2),
        "name": clip.name,
        "unit": clip.header.convention.unit_name,
        "up": clip.header.convention.up,
        "joint_names": list(clip.skeleton.names),
    }


def _rounded(value: Any) -> float:
    return round(float(value), 4)


def _walking(crowd: WalkingCrowd) -> dict[str, Any]:
    return {"people": crowd.people, "joints": crowd.skeleton.joints}


_KINDS: dict[str, tuple[type[Any], Any]] = {
    "motion": (Motion, _motion),
    "markers": (Markers, _markers),
    "mesh": (MeshSequence, _mesh),
    "pose distances": (DistanceMatrix, _distances),
    "repertoire": (Repertoire, _repertoire),
    "animation": (Animation, _animation),
    "character": (Character, _character),
    "tracks": (Tracks, _tracks),
    "simulated crowd": (SimulatedCrowd, _simulated),
    "walking crowd": (WalkingCrowd, _walking),
    "scene": (Scene, _scene),
    "field": (FieldSeries, _field),
    "video": (Footage, _footage),
    "pose model": (PoseModel, _pose_model),
    "motion model": (MotionModel, _motion_model),
    "compressed motion": (CompressedMotion, _compressed),
}
