"""A character: a skinned mesh and the motions of its skeleton.

The one data type that joins two scales. It sits above `body` and `surface` and below `io`, so that a
glTF file can be read into it and written from it. Posing costs forward kinematics plus skinning, linear in
frames × vertices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from marey._arrays import as_slice, derived, read_only
from marey._report import Displayed
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rigid
from marey.surface.sequence import MeshSequence
from marey.surface.skinning import SkinnedMesh


@dataclass(frozen=True, eq=False)
class Character(Displayed):
    """A mesh that follows a skeleton.

    skin: the mesh and its weights
    motions: clips of one skeleton, at least one (the rest pose if the file has no animation)

    >>> import marey
    >>> hips = marey.Skeleton(("hips",), [-1], [[0, 0, 0]])
    >>> rise = marey.Motion(hips, [[[1, 0, 0, 0]]] * 2, [[0, 1, 0], [0, 2, 0]], 30)
    >>> flap = SkinnedMesh(np.eye(3), [[0, 1, 2]], ("hips",), [np.eye(4)], [[0]] * 3, [[1]] * 3)
    >>> Character(flap, (rise,)).pose().vertices[1].tolist()
    [[1.0, 2.0, 0.0], [0.0, 3.0, 0.0], [0.0, 2.0, 1.0]]
    """

    skin: SkinnedMesh
    motions: tuple[Motion, ...]
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "motions", tuple(self.motions))
        if not self.motions:
            raise InputError("character: give at least one motion (the rest pose will do)")
        for motion in self.motions:
            _check_fits(self.skin, motion)

    @property
    def motion(self) -> Motion:
        """The first clip."""
        return self.motions[0]

    frames = derived(int, "motion.frames", "Number of frames of the first clip.")

    frame_rate = derived(float, "motion.frame_rate", "Frames per second of the first clip.")

    duration = derived(float, "motion.duration", "Seconds of the first clip.")

    def clip(self, name: str) -> Motion:
        """The clip called `name`."""
        for motion in self.motions:
            if motion.name == name:
                return motion
        raise InputError(f"no clip {name!r}; there are {', '.join(m.name for m in self.motions)}")

    def with_motion(self, motion: Motion) -> Character:
        """The same mesh with this clip alone; its skeleton must have the joints the mesh is bound to."""
        return replace(self, motions=(motion,))

    def __getitem__(self, key: int | slice) -> Character:
        """Frames of every clip; use `with_motion(clip(name))` first to cut one of several."""
        cut = []
        for motion in self.motions:
            try:
                cut.append(motion[key])
            except InputError as error:
                raise InputError(f"clip {motion.name!r}: {error}") from error
        return replace(self, motions=tuple(cut))

    def between(self, start: float | None = None, stop: float | None = None) -> Character:
        """Frames of every clip whose time in seconds lies in `[start, stop]`."""
        return replace(self, motions=tuple(motion.between(start, stop) for motion in self.motions))

    def resample(self, frame_rate: float) -> Character:
        """Every clip at another frame rate."""
        return replace(self, motions=tuple(motion.resample(frame_rate) for motion in self.motions))

    def bone_transforms(self, motion: Motion | None = None) -> NDArray[np.float64]:
        """What each bound joint does to the mesh at rest, `(frames, joints, 4, 4)`.

        World transform of the joint, found by its name in the clip's skeleton, after the inverse of bind.
        """
        motion = self.motion if motion is None else motion
        _check_fits(self.skin, motion)
        joints = motion.skeleton.indices(self.skin.joint_names)
        pose = forward_kinematics(motion)
        world = rigid.to_matrix(rigid.Rigid(pose.rotations[:, joints], pose.positions[:, joints]))
        return world @ np.linalg.inv(self.skin.bind)

    def pose(
        self,
        motion: Motion | None = None,
        frames: int | slice | None = None,
        *,
        method: str = "linear",
        dtype: DTypeLike = np.float64,
    ) -> MeshSequence:
        """The mesh in the poses of a clip (the first one, if none is given).

        frames: those to pose, e.g. `7` or `slice(0, 100)`; all, if None
        method: "linear", or "dual_quaternion", which keeps the volume of twisting limbs
        dtype: float64, or float32 for half the memory
        """
        motion = self.motion if motion is None else motion
        if frames is not None:
            motion = motion[as_slice(frames, motion.frames)]
        skin = self.skin
        return MeshSequence(
            vertices=read_only(skin.pose(self.bone_transforms(motion), method=method, dtype=dtype)),
            faces=skin.faces,
            frame_rate=motion.frame_rate,
            uv=skin.uv,
            uv_faces=skin.uv_faces,
            colours=skin.colours,
            textures=() if skin.texture is None else (skin.texture,),
            convention=motion.convention,
            name=motion.name or self.name,
        )

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        skin = self.skin
        return {
            "kind": "character",
            "joints": self.motion.joints,
            "vertices": len(skin.vertices),
            "faces": len(skin.faces),
            "texture": skin.texture is not None,
            "clips": [{"name": m.name, "frames": m.frames, "frame_rate": m.frame_rate} for m in self.motions],
            "joint_names": list(self.motion.skeleton.names),
        }


def _check_fits(skin: SkinnedMesh, motion: Motion) -> None:
    names = set(motion.skeleton.names)
    missing = [name for name in skin.joint_names if name not in names]
    if missing:
        raise InputError(f"character: the mesh is bound to {missing[0]!r}, which the skeleton lacks")
