"""The body that people of a crowd share: the sample human with few vertices on eighteen joints.

Fingers, collarbones and half of the spine are dropped, each vertex follows the nearest joint that is
left; faces are sorted by what they show (shirt, trousers, shoes, skin, hair), so that everyone can be
dressed in other colours. Cost: a second for the decimation, kept in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.body.two_bone import Leg, legs
from marey.character import Character
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.samples import human
from marey.stage.dressing import rest_pose
from marey.surface.decimation import Decimation
from marey.surface.skin import SkinnedMesh

Array = NDArray[np.float64]

VERTICES, INFLUENCES = 600, 4
JOINTS = (
    "Hips",
    "LeftUpLeg",
    "LeftLeg",
    "LeftFoot",
    "LeftToeBase",
    "RightUpLeg",
    "RightLeg",
    "RightFoot",
    "RightToeBase",
    "LowerBack",
    "Spine1",
    "Head",
    "LeftArm",
    "LeftForeArm",
    "LeftHand",
    "RightArm",
    "RightForeArm",
    "RightHand",
)
PARTS = ("shirt", "trousers", "shoes", "skin", "hair")
# Metres at rest: edge of the trousers, of the shoes; where the neck leaves the shirt; lowest hair in front
# of and behind the ears; length of the sleeves from the shoulder joint.
WAIST, ANKLE, COLLAR, FRINGE, NAPE, SLEEVE = 1.01, 0.09, 1.475, 1.70, 1.60, 0.40
# Joints at rest are this far apart when somebody stands: legs are never quite straight.
BENT = 0.012


@dataclass(frozen=True, eq=False)
class Figure:
    """A body at rest, facing +z, its feet on y = 0.

    skin: the mesh, bound to all joints of the skeleton and in their order
    skeleton: its joints
    places, turns: `(joints, 3)` metres and `(joints, 4)`, the joints in the world at rest
    legs: left, then right
    parts: `(faces,)`, which of :data:`PARTS` each face is
    stature: metres
    """

    skin: SkinnedMesh
    skeleton: Skeleton
    places: Array
    turns: Array
    legs: tuple[Leg, Leg]
    parts: NDArray[np.int64]
    stature: float

    @property
    def character(self) -> Character:
        """The body as a character that stands still."""
        local = np.array(self.turns)
        below = np.flatnonzero(self.skeleton.parents >= 0)
        above = self.turns[self.skeleton.parents[below]]
        local[below] = so3.multiply(so3.inverse(above), self.turns[below])
        rest = Motion(self.skeleton, local[None], self.places[:1], 30.0, name="rest")
        return Character(self.skin, (rest,), name="person")

    @property
    def standing_height(self) -> float:
        """Height of the root of somebody who stands, metres."""
        return float(self.places[0, 1]) - BENT


@lru_cache(maxsize=2)
def figure(vertices: int = VERTICES) -> Figure:
    """The shared body.

    >>> body = figure()
    >>> len(body.skin.vertices), body.skeleton.joints
    (600, 18)
    """
    whole = human()
    skin = _on_joints(whole.skin, whole.motion.skeleton)
    skin = Decimation.of(skin, vertices=vertices).apply(skin)
    skeleton, rest = rest_pose(replace(whole, skin=skin))
    if skeleton.names != skin.joint_names:
        raise InputError("figure: its joints are not sorted like its skeleton's")
    found = sorted(legs(skeleton), key=lambda leg: "Right" in skeleton.names[leg.hip])
    return Figure(
        replace(skin, colours=None),
        skeleton,
        rest.positions[0],
        rest.rotations[0],
        (found[0], found[1]),
        _parts(skin),
        float(np.ptp(skin.vertices[:, 1])),
    )


def _on_joints(skin: SkinnedMesh, skeleton: Skeleton) -> SkinnedMesh:
    """The mesh bound to :data:`JOINTS` alone, without its texture."""
    names = skin.joint_names
    into = np.empty(len(names), dtype=np.int32)
    for number, name in enumerate(names):
        above = (skeleton.names[joint] for joint in skeleton.ancestors(skeleton.index(name)))
        into[number] = JOINTS.index(next(joint for joint in above if joint in JOINTS))
    kept = [names.index(name) for name in JOINTS]
    pull = _pull(replace(skin, joint_names=JOINTS, bind=skin.bind[kept], influences=into[skin.influences]))
    strongest = np.argsort(-pull, axis=1, kind="stable")[:, :INFLUENCES]
    weights = np.take_along_axis(pull, strongest, axis=1)
    return replace(
        skin,
        joint_names=JOINTS,
        bind=skin.bind[kept],
        influences=np.where(weights > 0, strongest, 0).astype(np.int32),
        weights=weights / weights.sum(axis=1, keepdims=True),
        uv=None,
        uv_faces=None,
        texture=None,
    )


def _parts(skin: SkinnedMesh) -> NDArray[np.int64]:
    """What each face shows, by where its middle is at rest and whom it follows."""
    middle = skin.vertices[skin.faces].mean(axis=1)
    owner = np.array(JOINTS)[_pull(skin)[skin.faces].sum(axis=1).argmax(axis=1)]
    on_arm = np.char.endswith(owner, "Arm") | np.char.endswith(owner, "Hand")
    height = middle[:, 1]
    parts = np.full(len(middle), PARTS.index("shirt"))
    lower = (height < WAIST) & ~on_arm
    parts[lower] = PARTS.index("trousers")
    parts[lower & (height < ANKLE)] = PARTS.index("shoes")
    shoulders = skin.bind[[JOINTS.index("LeftArm"), JOINTS.index("RightArm")], :3, 3]
    away = np.linalg.norm(middle[:, None] - shoulders, axis=-1).min(axis=1)
    parts[on_arm & (away > SLEEVE)] = PARTS.index("skin")
    above = (height > COLLAR) & (np.abs(middle[:, 0]) < 0.12)
    parts[above] = PARTS.index("skin")
    line = np.interp(middle[:, 2], [-0.02, 0.06], [NAPE, FRINGE])
    parts[above & (height > line)] = PARTS.index("hair")
    return parts


def _pull(skin: SkinnedMesh) -> Array:
    """How much each joint pulls on each vertex, `(vertices, joints)`."""
    pull = np.zeros((len(skin.vertices), len(skin.joint_names)))
    np.add.at(pull, (np.arange(len(pull))[:, None], skin.influences), skin.weights)
    return pull
