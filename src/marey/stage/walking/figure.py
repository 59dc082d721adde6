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
from marey.stage.walking.seams import Cloth, cut
from marey.surface.decimation import Decimation
from marey.surface.skin import SkinnedMesh

Array = NDArray[np.float64]

VERTICES, INFLUENCES = 560, 4
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
WAIST, ANKLE, COLLAR, FRINGE, NAPE, SLEEVE = 0.98, 0.09, 1.475, 1.70, 1.60, 0.42
# Vertices below which seams, which would double them, are left out: clothes end at edges.
UNCUT = 60
# Metres from a seam within which a vertex counts as on it.
SNAP = 0.004
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
    def corners(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Vertices for drawing, twice where two parts meet: which they are, their parts, and faces."""
        pairs = np.stack([self.skin.faces.reshape(-1), np.repeat(self.parts, 3)], axis=1)
        found, index = np.unique(pairs, axis=0, return_inverse=True)
        return found[:, 0], found[:, 1], index.reshape(-1, 3)

    @property
    def standing_height(self) -> float:
        """Height of the root of somebody who stands, metres."""
        return float(self.places[0, 1]) - BENT


@lru_cache(maxsize=4)
def figure(vertices: int = VERTICES) -> Figure:
    """The shared body.

    >>> body = figure()
    >>> len(body.skin.vertices), body.skeleton.joints
    (734, 18)
    """
    whole = human()
    skin = _plain()
    if vertices != VERTICES:
        skin = Decimation.of(skin, vertices=vertices).apply(skin)
    skin, parts = _sewn(skin)
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
        parts,
        float(np.ptp(skin.vertices[:, 1])),
    )


@lru_cache(maxsize=1)
def _plain() -> SkinnedMesh:
    """The mesh of :data:`VERTICES`, before it is cut."""
    whole = human()
    skin = _on_joints(whole.skin, whole.motion.skeleton)
    return Decimation.of(skin, vertices=VERTICES).apply(skin)


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


def _sewn(skin: SkinnedMesh) -> tuple[SkinnedMesh, NDArray[np.int64]]:
    """The mesh cut where clothes end, and what each face shows."""
    cloth = Cloth(np.asarray(skin.vertices), np.asarray(skin.faces, np.int64), _pull(skin))
    lines = (_waist, "body"), (_ankle, "body"), (_collar, "body"), (_hair, "body"), (_sleeve, "arm")
    for line, of in lines if len(skin.vertices) >= UNCUT else ():
        values = line(cloth.vertices)
        values[np.abs(values) < SNAP] = SNAP
        cloth = cut(cloth, values, _region(cloth) == of)
    strongest = np.argsort(-cloth.pull, axis=1, kind="stable")[:, :INFLUENCES]
    weights = np.take_along_axis(cloth.pull, strongest, axis=1)
    sewn = replace(
        skin,
        vertices=cloth.vertices,
        faces=cloth.faces,
        influences=np.where(weights > 0, strongest, 0).astype(np.int32),
        weights=weights / weights.sum(axis=1, keepdims=True),
    )
    middle, region = cloth.vertices[cloth.faces].mean(axis=1), _region(cloth)
    parts = np.full(len(middle), PARTS.index("shirt"))
    body, arm = region == "body", region == "arm"
    parts[body & (_waist(middle) < 0)] = PARTS.index("trousers")
    parts[body & (_ankle(middle) < 0)] = PARTS.index("shoes")
    bare = body & (_collar(middle) > 0)
    parts[bare | (arm & (_sleeve(middle) > 0))] = PARTS.index("skin")
    parts[bare & (_hair(middle) > 0)] = PARTS.index("hair")
    return sewn, parts


def _region(cloth: Cloth) -> NDArray[np.str_]:
    """Arm or body, for each face, by whom it follows."""
    owner = np.array(JOINTS)[cloth.pull[cloth.faces].sum(axis=1).argmax(axis=1)]
    on_arm = np.char.endswith(owner, "Arm") | np.char.endswith(owner, "Hand")
    return np.where(on_arm, "arm", "body")


def _waist(points: Array) -> Array:
    return np.asarray(points[:, 1] - WAIST)


def _ankle(points: Array) -> Array:
    return np.asarray(points[:, 1] - ANKLE)


def _collar(points: Array) -> Array:
    # Higher at the nape than in front.
    return np.asarray(points[:, 1] - COLLAR + 0.25 * points[:, 2])


def _hair(points: Array) -> Array:
    return np.asarray(points[:, 1] - np.interp(points[:, 2], [-0.02, 0.06], [NAPE, FRINGE]))


def _sleeve(points: Array) -> Array:
    shoulder = np.array([0.175, 1.42, -0.0175])
    return np.asarray(
        np.linalg.norm(np.abs(points * [1, 0, 0]) + points * [0, 1, 1] - shoulder, axis=1) - SLEEVE
    )


def _pull(skin: SkinnedMesh) -> Array:
    """How much each joint pulls on each vertex, `(vertices, joints)`."""
    pull = np.zeros((len(skin.vertices), len(skin.joint_names)))
    np.add.at(pull, (np.arange(len(pull))[:, None], skin.influences), skin.weights)
    return pull
