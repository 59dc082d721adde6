"""A few tracked points of a body over time, perhaps with orientations: what :mod:`reconstruct` follows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import FloatArray, Timed, as_slice, assign, checked, checked_rate, derived
from marey.body.anatomy import end_effectors
from marey.body.ik.targets import END, Orient, Reach, Target, find_point
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError, MareyWarning


@dataclass(frozen=True, eq=False)
class Trackers(Timed):
    """A few tracked points of a body over time, perhaps with orientations.

    Attributes:
        names: What each is fixed to: a joint, or `JOINT_end` for the end site it carries.
        positions: `(frames, trackers, 3)`, world, metres; NaN where missing.
        frame_rate: Frames per second.
        rotations: `(frames, trackers, 4)` or None: world rotations of the joints; NaN where missing.
        points: `(trackers, 3)`, metres, where each sits in the frame of its joint.
        name: Of the recording.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head_end"], directions=["Head_end"])
    >>> seen.positions.shape, int(np.isfinite(seen.rotations).all(axis=(0, 2)).sum())
    ((240, 3, 3), 1)
    """

    names: tuple[str, ...]
    positions: FloatArray
    frame_rate: float
    rotations: FloatArray | None = None
    points: FloatArray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        positions = checked("tracker positions", self.positions, (None, len(names), 3), finite=False)
        if len(positions) == 0 or not names:
            raise InputError("trackers: there is no frame or no tracker")
        rotations = self.rotations
        if rotations is not None:
            rotations = checked("tracker rotations", rotations, (len(positions), len(names), 4), finite=False)
        points = np.zeros((len(names), 3)) if self.points is None else self.points
        points, rate = checked("tracker points", points, (len(names), 3)), checked_rate(self.frame_rate)
        assign(self, names=names, positions=positions, rotations=rotations, points=points, frame_rate=rate)

    @classmethod
    def of_motion(cls, motion: Motion, names: Sequence[str], *, directions: Sequence[str] = ()) -> Trackers:
        """Trackers on these joints of a clip, with the orientation of those in `directions`."""
        _indices("tracker", names, directions)
        pose = forward_kinematics(motion)
        places = [find_point(motion.skeleton, name) for name in names]
        joints = [joint for joint, _ in places]
        positions = points_on(pose, joints, np.array([point for _, point in places]).reshape(-1, 3))
        rotations = np.full((*positions.shape[:2], 4), np.nan)
        for tracker, name in enumerate(names):
            if name in directions:
                rotations[:, tracker] = pose.rotations[:, joints[tracker]]
        turns = rotations if directions else None
        return cls(tuple(names), positions, motion.frame_rate, turns, name=motion.name)

    @classmethod
    def of_markers(cls, markers: Markers, mapping: Mapping[str, str]) -> Trackers:
        """Markers by name, `{marker: joint}`, as trackers of joints."""
        places = markers.positions[:, _indices("marker", markers.names, mapping)]
        return cls(tuple(mapping.values()), places, markers.frame_rate, name=markers.name)

    frames = derived(len, "positions", "Number of frames.")

    def __getitem__(self, key: int | slice) -> Trackers:
        frames = as_slice(key, self.frames)
        turns = None if self.rotations is None else self.rotations[frames]
        rate = self.frame_rate / abs(frames.step or 1)
        return replace(self, positions=self.positions[frames], rotations=turns, frame_rate=rate)

    def renamed(self, mapping: Mapping[str, str]) -> Trackers:
        """With other names: `{tracker: joint}`; the others keep theirs."""
        _indices("tracker", self.names, mapping)
        return replace(self, names=tuple(mapping.get(name, name) for name in self.names))

    def only(self, names: Sequence[str]) -> Trackers:
        """Only these trackers, in this order."""
        chosen = _indices("tracker", self.names, names)
        rotations = None if self.rotations is None else self.rotations[:, chosen]
        assert self.points is not None
        places, points = self.positions[:, chosen], self.points[chosen]
        return replace(self, names=tuple(names), positions=places, rotations=rotations, points=points)

    def on_joints(self, skeleton: Skeleton, names: Sequence[str] | None = None) -> Trackers:
        """Only the trackers that are asked for, or that sit on a joint of the skeleton."""
        found = [name for name in self.names if sits_on(skeleton, name)]
        for name in names or (self.names if not found else ()):
            find_point(skeleton, name)
        left = [name for name in self.names if name not in found]
        if left and not names:
            said = f"not used, since no joint is called so (map NAME=JOINT): {', '.join(left[:8])}"
            warnings.warn(said, MareyWarning, stacklevel=2)
        return self.only(names or found)

    @property
    def oriented(self) -> tuple[int, ...]:
        """Indices of the trackers that have an orientation in some frame."""
        if self.rotations is None:
            return ()
        return tuple(np.flatnonzero(np.isfinite(self.rotations).all(axis=2).any(axis=0)).tolist())

    def targets(self, oriented: Sequence[int] | None = None) -> list[Target]:
        """As targets of inverse kinematics, one row per frame.

        Args:
            oriented: Trackers whose orientation is a target too; those that have one in some frame if None.
        """
        assert self.points is not None
        found: list[Target] = [
            Reach(name, self.positions[:, i], point=self.points[i]) for i, name in enumerate(self.names)
        ]
        for i in self.oriented if oriented is None else oriented:
            assert self.rotations is not None
            found.append(Orient(self.names[i].removesuffix(END), self.rotations[:, i]))
        return found

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {"kind": "trackers", "trackers": len(self.names), "tracker_names": list(self.names)}


def sits_on(skeleton: Skeleton, name: str) -> bool:
    """Whether a tracker of this name is on a joint or end site of the skeleton."""
    return name.removesuffix(END) in skeleton.names or name in skeleton.names


def feet_and_head(skeleton: Skeleton) -> list[str]:
    """Joints, or end sites, of feet and head, by their names.

    >>> import marey
    >>> feet_and_head(marey.samples.walk().skeleton)
    ['Head_end', 'LeftToeBase', 'RightToeBase']
    """
    found = [end for end in end_effectors(skeleton) if end.part in ("head", "foot")]
    if not found:
        raise InputError("no feet and head found by name: say which joints to follow (joints)")
    return [skeleton.names[end.joint] + (END if any(end.point) else "") for end in found]


def _indices(what: str, names: Sequence[str], wanted: Iterable[str]) -> list[int]:
    for name in wanted:
        if name not in names:
            raise InputError(f"no {what} {name!r}; there are {', '.join(names[:12])}")
    return [names.index(name) for name in wanted]
