"""The same bodies in MuJoCo and Pinocchio: a free root and a ball joint at every other joint."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.body.physics.reduced import PhysicalCharacter
from marey.geometry import rotations as so3

Array = NDArray[np.float64]


def mujoco_xml(character: PhysicalCharacter, *, option: str = "", geoms: dict[int, str] | None = None) -> str:
    """A character in full coordinates as MJCF; z is up in MuJoCo, but gravity is given."""
    skeleton, bones = character.skeleton, character.bones
    moving = set(character.tree.moving.tolist())

    def body(joint: int) -> str:
        offset = " ".join(map(repr, map(float, skeleton.offsets[joint] if joint else np.zeros(3))))
        centre = " ".join(map(repr, map(float, bones.centres[joint])))
        I = bones.inertias[joint]
        full = " ".join(repr(float(I[a, b])) for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        kind = "<freejoint/>" if joint == 0 else f'<joint name="{skeleton.names[joint]}" type="ball"/>'
        if joint not in moving:
            kind = ""
        turn = "" if joint in moving else " ".join(map(repr, map(float, character.basis.mean[joint])))
        quat = f' quat="{turn}"' if turn else ""
        inner = (geoms or {}).get(joint, "") + "".join(body(child) for child in skeleton.children(joint))
        return (
            f'<body name="{joint}" pos="{offset}"{quat}>{kind}<inertial pos="{centre}" '
            f'mass="{float(bones.masses[joint])!r}" fullinertia="{full}"/>{inner}</body>'
        )

    return (
        f'<mujoco><compiler boundmass="0" boundinertia="0" angle="radian"/>{option}'
        f"<worldbody>{(geoms or {}).get(-1, '')}{body(0)}</worldbody></mujoco>"
    )


def coordinates(character: PhysicalCharacter, rotation: Array, place: Array, alpha: Array) -> Array:
    """MuJoCo's qpos of a configuration."""
    local = character.basis.decode(alpha)
    moving = character.tree.moving[1:]
    return np.concatenate([place, rotation, local[moving].reshape(-1)])


def velocity_map(character: PhysicalCharacter, rotation: Array, alpha: Array) -> Array:
    """B with qvel = B v: MuJoCo's root velocity is linear in the world, then angular in the body."""
    moving, size = character.tree.moving[1:], character.size
    vectors = np.tensordot(alpha, character.basis.directions, 1)
    B = np.zeros((6 + 3 * len(moving), size))
    B[0:3, 3:6] = so3.to_matrix(rotation)
    B[3:6, 0:3] = np.eye(3)
    for row, joint in enumerate(moving):
        D = dexp(vectors[joint])
        B[6 + 3 * row : 9 + 3 * row, 6:] = D @ character.basis.directions[:, joint].T
    return B


def dexp(w: Array) -> Array:
    """Body differential of exp by its power series."""
    W = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    term, total = np.eye(3), np.eye(3)
    for n in range(1, 40):
        term = -term @ W / (n + 1)
        total = total + term
    return total


def along(function: Any, step: float = 0.02) -> Array:
    """Derivative at 0 by an eighth-order difference."""
    weights = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    return sum(w * (function(n * step) - function(-n * step)) for n, w in weights) / step


def mujoco_dynamics(model: Any, qpos: Array, qvel: Array) -> tuple[Array, Array]:
    """Mass matrix and bias force of MuJoCo."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M) if mujoco.mj_versionString() >= "3.4" else mujoco.mj_fullM(
        model, M, data.qM
    )
    return M, data.qfrc_bias.copy()


def pinocchio_dynamics(character: PhysicalCharacter, qpos: Array, v: Array) -> tuple[Array, Array]:
    """Mass matrix and bias force of Pinocchio, in its order: linear and angular, both in the root's frame.

    Args:
        v: in the same order.
    """
    import pinocchio as pin

    skeleton, bones = character.skeleton, character.bones
    moving = character.tree.moving.tolist()
    model, index = pin.Model(), {}
    carriers = character.tree.parents[:, 1]
    table = character.tree.bones
    for joint in moving:
        parent = int(character.tree.parents[joint, 2])
        kind = pin.JointModelFreeFlyer() if joint == 0 else pin.JointModelSpherical()
        # Only bodies that hang directly on a moving joint are told apart here.
        assert joint == 0 or carriers[skeleton.parents[joint]] == skeleton.parents[joint]
        offset = np.zeros(3) if joint == 0 else np.array(skeleton.offsets[joint])
        index[joint] = model.addJoint(
            0 if joint == 0 else index[parent], kind, pin.SE3(np.eye(3), offset), skeleton.names[joint]
        )
        for bone in np.flatnonzero(carriers == joint):
            assert bone == joint
            inertia = pin.Inertia(
                float(bones.masses[bone]), bones.centres[bone].copy(), bones.inertias[bone].copy()
            )
            model.appendBodyToJoint(index[joint], inertia, pin.SE3.Identity())
    assert len(table) == len(moving)
    q = np.concatenate([qpos[:3], np.roll(qpos[3:7], -1)])
    q = np.concatenate([q, np.roll(qpos[7:].reshape(-1, 4), -1, axis=1).reshape(-1)])
    data = model.createData()
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    return M, pin.rnea(model, data, q, v, np.zeros(model.nv))
