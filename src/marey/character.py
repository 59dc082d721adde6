"""A character: a skinned mesh and the motions of its skeleton.

The one data type that joins two scales. It sits above `body` and `surface` and below `io`, so that a
glTF file can be read into it and written from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from marey.body.motion import Motion
from marey.errors import InputError
from marey.surface.skin import SkinnedMesh


@dataclass(frozen=True, eq=False)
class Character:
    """A mesh that follows a skeleton.

    skin: the mesh and its weights
    motions: clips of one skeleton, at least one (the rest pose if the file has no animation)
    """

    skin: SkinnedMesh
    motions: tuple[Motion, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.motions:
            raise InputError("character: give at least one motion (the rest pose will do)")
        names = self.motions[0].skeleton.names
        missing = [name for name in self.skin.joint_names if name not in names]
        if missing:
            raise InputError(f"character: the mesh is bound to {missing[0]!r}, which the skeleton lacks")

    @property
    def motion(self) -> Motion:
        """The first clip."""
        return self.motions[0]

    def clip(self, name: str) -> Motion:
        """The clip called `name`."""
        for motion in self.motions:
            if motion.name == name:
                return motion
        raise InputError(f"no clip {name!r}; there are {', '.join(m.name for m in self.motions)}")
