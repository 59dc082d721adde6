"""Human bodies with their ways to turn: the source's 40 joints, or any skeleton by its joints' names.

Courty 2013, section 3.1.4, gives the number of joints; ranges follow common tables of joint motion, rounded.
At rest bodies stand in a T pose. Angles are in radians.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from marey._arrays import Array
from marey.body.anatomy import forward_axis
from marey.body.codec.end_joints import end_joints
from marey.body.motion import Motion
from marey.body.particles.chains import Chain, Freedom, bone_of, chain_of
from marey.body.particles.constraints import At
from marey.body.particles.poses import PoseBatch
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

_Maker = Callable[[Array, float, Array], Freedom]

_UP = np.array([0.0, 1.0, 0.0])
# How readily limbs turn beside fingers.
PACE = 0.6
# Metres above the lower foot up to which the other one stands too.
FOOT_HEIGHT = 0.05
# Radians: joints that turn less over so many frames are stiff.
STILL, LEAST_FRAMES = 1e-4, 30


def human_chain(skeleton: Skeleton, *, free_root: bool = True) -> Chain:
    """Ways to turn and limits of a human skeleton, by the names of its joints.

    Knees and elbows are hinges, elbows with a twist of the forearm; hips, shoulders, spine and neck balls
    within cones; fingers curl. Joints whose names say nothing are balls within 45°.

    >>> import marey
    >>> human_chain(marey.samples.walk().skeleton).freedoms
    67
    """
    ahead = forward_axis(skeleton)
    left = np.cross([0.0, 1.0, 0.0], ahead)
    table = {}
    for joint, name in enumerate(skeleton.names):
        bone = bone_of(skeleton, joint)
        table[name] = _human_joint(name, bone, left)
    # The root turns as it likes: facing another way is no strain.
    table[skeleton.names[0]] = replace(
        Freedom.ball([0.0, 1.0, 0.0], (-10.0, 10.0), 10.0), deviations=(0.4, 0.4, 0.4)
    )
    for name, freedom in table.items():
        first, second, third = freedom.deviations
        table[name] = replace(freedom, deviations=(PACE * first, PACE * second, PACE * third))
    return chain_of(skeleton, table, root_deviation=(0.18, 0.18, 0.18) if free_root else (0.0, 0.0, 0.0))


def body_chain() -> Chain:
    """The whole body of 40 joints: trunk, legs, arms and two joints a finger, standing on the floor.

    >>> chain = body_chain()
    >>> chain.skeleton.joints
    40
    """
    names, parents, offsets = ["Hips"], [-1], [[0.0, 0.95, 0.0]]

    def add(name: str, parent: str, *offset: float) -> None:
        names.append(name)
        parents.append(names.index(parent))
        offsets.append(list(offset))

    for name, parent, height in (
        ("LowerBack", "Hips", 0.09), ("Spine", "LowerBack", 0.12), ("Spine1", "Spine", 0.13),
        ("Neck", "Spine1", 0.22), ("Head", "Neck", 0.10),
    ):  # fmt: skip
        add(name, parent, 0.0, height, 0.0)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        add(f"{side}UpLeg", "Hips", sign * 0.09, -0.04, 0.0)
        add(f"{side}Leg", f"{side}UpLeg", 0.0, -0.42, 0.0)
        add(f"{side}Foot", f"{side}Leg", 0.0, -0.43, 0.0)
        add(f"{side}ToeBase", f"{side}Foot", 0.0, -0.04, 0.13)
        add(f"{side}Shoulder", "Spine1", sign * 0.03, 0.15, 0.0)
        add(f"{side}Arm", f"{side}Shoulder", sign * 0.14, 0.0, 0.0)
        add(f"{side}ForeArm", f"{side}Arm", sign * 0.28, 0.0, 0.0)
        add(f"{side}Hand", f"{side}ForeArm", sign * 0.26, 0.0, 0.0)
        add(f"{side}HandThumb1", f"{side}Hand", sign * 0.03, -0.005, 0.03)
        for finger, z in (("Index", 0.03), ("Middle", 0.01), ("Ring", -0.012), ("Pinky", -0.03)):
            add(f"{side}Hand{finger}1", f"{side}Hand", sign * 0.09, 0.0, z)
            add(f"{side}Hand{finger}2", f"{side}Hand{finger}1", sign * 0.04, 0.0, 0.0)
    tips = [name for name in names if names.index(name) not in parents]
    ends = np.array([_tip(name) for name in tips])
    skeleton = Skeleton(
        tuple(names), np.array(parents), np.array(offsets), np.array([names.index(n) for n in tips]), ends
    )
    return human_chain(skeleton)


def as_seen(chain: Chain, motion: Motion) -> Chain:
    """The chain with limits wide enough for all poses of a clip, and joints stiff that never turn in it.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> chain = as_seen(human_chain(walk.skeleton), walk)
    >>> bool((chain.limits.excess(walk.rotations) <= 0).all())
    True
    """
    deviations = np.array(chain.noise.deviations)
    if motion.frames >= LEAST_FRAMES:
        turned = so3.distance(motion.rotations, motion.rotations[:1]).max(axis=0)
        # A clip in which nothing turns does not tell what is stiff.
        deviations[(turned < STILL) & (turned.max() >= STILL)] = 0.0
    limits = chain.limits.containing(motion.rotations)
    return replace(chain, limits=limits, noise=replace(chain.noise, deviations=deviations))


def feet_on_floor(poses: PoseBatch, *, noise: float = 0.002) -> list[At]:
    """Constraints that keep the feet of a pose (the first of the batch) where they stand.

    A foot stands if its toes are at most 5 cm above the lower ones; its ankle is kept as well.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> batch = PoseBatch(walk.skeleton, walk.rotations[:1], walk.root[:1])
    >>> sorted(kept.joint for kept in feet_on_floor(batch))
    ['RightFoot', 'RightToeBase']
    """
    skeleton, places = poses.skeleton, poses.positions[0]
    toes = [end.joint for end in end_joints(skeleton) if end.part == "foot"]
    if not toes:
        raise InputError("no feet found by name; keep joints where they are with constraints of your own")
    lowest = min(places[toe, 1] for toe in toes)
    standing = [toe for toe in toes if places[toe, 1] <= lowest + FOOT_HEIGHT]
    joints = dict.fromkeys(standing)
    for toe in standing:
        above = int(skeleton.parents[toe])
        if re.search(r"foot|ankle", skeleton.names[above], re.IGNORECASE):
            joints[above] = None
    return [At(skeleton.names[joint], places[joint], noise=noise) for joint in joints]


def _human_joint(name: str, bone: Array, left: Array) -> Freedom:
    plain = re.sub(r"[^a-z]", "", name.lower())
    side = 1.0 if bone @ left >= 0 else -1.0
    make = next((make for pattern, make in _HUMAN if re.search(pattern, plain)), _ball(0.5, np.pi / 4, 1.0))
    return make(bone, side, left)


def _ball(twist: float, cone: float, readily: float) -> _Maker:
    def make(bone: Array, side: float, left: Array) -> Freedom:
        ball = Freedom.ball(bone, (-twist, twist), cone)
        return replace(ball, deviations=(0.6 * readily, readily, readily))

    return make


def _hip(bone: Array, side: float, left: Array) -> Freedom:
    # Forward far, backward little.
    return Freedom(bone, left, (0.5, 1.0, 0.7), (-0.7, 0.7), ((2.0, 0.6), (0.8, 0.8)))


def _knee(bone: Array, side: float, left: Array) -> Freedom:
    return Freedom.hinge(left, -0.05, 2.6)


def _elbow(bone: Array, side: float, left: Array) -> Freedom:
    # The hinge, and the forearm's turn about itself.
    return Freedom(bone, -side * _UP, (0.7, 1.0, 0.0), (-1.5, 1.5), ((0.05, 2.6), (0.15, 0.15)))


def _finger(bone: Array, side: float, left: Array) -> Freedom:
    curl = np.cross(bone, -_UP)
    axis = curl if np.linalg.norm(curl) > 1e-6 else left
    return replace(Freedom.hinge(axis, -0.2, 1.6), deviations=(0.3, 0.0, 0.0))


# Patterns are tried in this order, on names without capitals, digits and signs.
_HUMAN: tuple[tuple[str, _Maker], ...] = (
    (r"thumb|index|middle|ring|pinky|finger", _finger),
    (r"toe", _ball(0.1, 0.6, 0.3)),
    (r"hand|wrist", _ball(0.4, 1.2, 1.0)),
    (r"forearm|lowerarm|elbow|radius", _elbow),
    (r"shoulder|clavicle|collar", _ball(0.2, 0.4, 0.4)),
    (r"arm|humerus", _ball(1.2, 2.0, 1.0)),
    (r"foot|ankle", _ball(0.4, 0.8, 1.0)),
    (r"hip(?!s)|upleg|upperleg|thigh|femur", _hip),
    (r"leg|knee|shin|calf|tibia", _knee),
    (r"head|neck", _ball(0.6, 0.6, 0.5)),
    (r"spine|back|chest|torso|thorax|abdomen|waist", _ball(0.3, 0.4, 0.4)),
)


def _tip(name: str) -> list[float]:
    """The end site of a leaf of the body."""
    side = 1.0 if name.startswith("Left") else -1.0
    if name == "Head":
        return [0.0, 0.17, 0.0]
    if name.endswith("ToeBase"):
        return [0.0, -0.02, 0.07]
    if "Thumb" in name:
        return [side * 0.04, -0.005, 0.035]
    return [side * 0.04, 0.0, 0.0]
