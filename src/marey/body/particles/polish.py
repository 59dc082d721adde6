"""The last millimetre: damped Gauss–Newton steps on whatever constraints there are (Courty 2013, 3.1.1).

The Jacobian comes from finite differences of all ways to turn at once, which is one evaluation of as many
poses, so constraints need no derivatives here either. Joints that reach a limit stay there and the others
make up for it. Cost: about 1 ms a step for 80 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.particles.chains import Chain
from marey.body.particles.constraints import Constraint
from marey.body.particles.errors import Errors
from marey.body.particles.evolution import RandomWalk
from marey.body.particles.poses import PoseBatch
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous

# Radians of the finite differences.
DIFFERENCE = 1e-4
# Radians that cost as much as an error by its own noise: the pose is left no more than needed.
STRAY = 0.5
# The same for the last frame of a motion, whose targets count for more.
FAR = 10.0


def polished_pose(
    chain: Chain,
    constraints: Sequence[Constraint],
    rotations: Array,
    root: Array,
    *,
    iterations: int = 12,
    stray: float = STRAY,
) -> tuple[Array, Array]:
    """The pose near `rotations (joints, 4)`, `root (3,)` that meets the constraints, within the limits.

    stray: radians by which a joint may leave the pose for an error as large as its noise

    >>> from marey.body.particles import At, hand_chain
    >>> hand, there = hand_chain(), At("Middle3_end", [0.0, -0.06, 0.42], noise=0.001)
    >>> curled = hand.limits.clamp(so3.exp(np.tile([0.2, 0.0, 0.0], (17, 1))))
    >>> q, p = polished_pose(hand, [there], curled, np.zeros(3))
    >>> bool(np.linalg.norm(there.errors(PoseBatch(hand.skeleton, q[None], p[None]))) < 1e-3)
    True
    """
    from marey.body.particles import _guide_kernels as algebra

    law = RandomWalk(chain, deviation=1.0)
    noise = Errors.noise(constraints, 1.0)
    freedoms = law.freedoms
    here = PoseBatch(chain.skeleton, chain.limits.clamp(rotations[None]), np.array(root)[None])
    gone = np.zeros(freedoms)
    value = Errors.of(constraints, here).scaled(noise)[0]
    cost = float(value @ value)
    damping = 1e-3
    for _ in range(iterations):
        many = here.take(np.zeros(freedoms, dtype=np.int64))
        nearby, steps = law.move(many, DIFFERENCE * np.eye(freedoms), 1.0)
        lengths = np.diag(steps).copy()
        lengths[np.abs(lengths) < 0.1 * DIFFERENCE] = np.inf
        jacobian = (Errors.of(constraints, nearby).scaled(noise) - value) / lengths[:, None]
        held = np.zeros(freedoms, dtype=bool)
        improved = False
        for _ in range(8):
            normal = algebra.gram(np.ascontiguousarray(jacobian.T))
            normal[np.diag_indices(freedoms)] += 1 / stray**2 + damping * np.diag(normal).mean()
            downhill = -(jacobian @ value + gone / stray**2)
            normal[held], normal[:, held], downhill[held] = 0.0, 0.0, 0.0
            normal[held, held] = 1.0
            algebra.factorise(normal)
            step = downhill[:, None]
            algebra.solve(normal, step)
            trial, really = law.move(here, step.T, 1.0, bounce=False)
            stopped = np.abs(really[0] - step[:, 0]) > 1e-9 + 1e-3 * np.abs(step[:, 0])
            found = Errors.of(constraints, trial).scaled(noise)[0]
            new = float(found @ found) + float(((gone + really[0]) ** 2).sum()) / stray**2
            if new < cost - 1e-12:
                improved = True
                break
            # Joints at their limits are left out before smaller steps are tried.
            if (stopped & ~held).any():
                held |= stopped
            else:
                damping *= 10.0
        if not improved:
            break
        gain = (cost - new) / max(cost, 1e-300)
        here, gone, value, cost = trial, gone + really[0], found, new
        damping = max(0.1 * damping, 1e-9)
        if gain < 1e-3:
            break
    return here.rotations[0], here.root[0]


def polished(
    chain: Chain, motion: Motion, held: Sequence[Constraint], reached: Sequence[Constraint]
) -> Motion:
    """A motion of particles whose last frame meets `reached` and all of whose frames meet `held`.

    What the last frame changes fades in over the frames before.
    """
    rotations, root = np.array(motion.rotations), np.array(motion.root)
    q, p = polished_pose(chain, [*reached, *held], rotations[-1], root[-1], iterations=30, stray=FAR)
    way, shift = so3.log(so3.multiply(so3.inverse(rotations[-1]), q)), p - root[-1]
    t = np.linspace(0.0, 1.0, len(rotations))
    share = t**3 * (10.0 - 15.0 * t + 6.0 * t**2)
    rotations = so3.multiply(rotations, so3.exp(share[:, None, None] * way))
    root = root + share[:, None] * shift
    rotations = chain.limits.clamp(so3.normalise(rotations))
    if held:
        for frame in range(1, len(rotations) - 1):
            rotations[frame], root[frame] = polished_pose(
                chain, held, rotations[frame], root[frame], iterations=4, stray=FAR
            )
    rotations[-1], root[-1] = q, p
    return replace(motion, rotations=continuous(rotations), root=root)
