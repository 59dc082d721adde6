"""What poses a figure while a handle is dragged: the poses of the clip, seen from the one that is changed.

A pose model has its mean in the middle; here it is moved to the pose one takes hold of, so that this very
pose is where a drag starts and what it comes back to (Tournier 2011, section 8.2). Learning takes a fraction
of a second, once a clip; a solve a fraction of a millisecond.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, pose_rotations
from marey.body.skeleton import Skeleton
from marey.errors import MareyWarning
from marey.geometry.matrices import dexp_body
from marey.studio.body.section import workable

if TYPE_CHECKING:
    from marey.body.ik.solver import PoseSolver

MODES = 15
# A clip this long has a pose model of its own, and of a longer one than that so many frames tell it.
ENOUGH_FRAMES, MANY_FRAMES = 30, 4000
# The root stays upright rather than making up for what the poses of a clip do not hold: an arm that a walk
# never raises is raised in the end by leaving the model as little as is needed.
HOLD_ROOT = 30.0
# Metres that a pose gains at the price of being one deviation less likely. Less would ask for poses that the
# clip hardly holds, which come and go in jumps.
ROUGHLY = 0.05


class Poser:
    """What poses a figure by targets: a pose model, learned when first asked for, or the whole skeleton.

    motion: to learn from; model: used instead, if its joints are those of the clip
    """

    def __init__(self, motion: Motion, model: PoseModel | None = None):
        self._motion = motion
        self._lock = threading.Lock()
        self._body: PoseModel | Skeleton | None = model

    @property
    def ready(self) -> bool:
        """Whether it has been learned."""
        return self._body is not None

    @property
    def model(self) -> PoseModel | None:
        """The pose model, if there is one by now."""
        return self._body if isinstance(self._body, PoseModel) else None

    def body(self) -> PoseModel | Skeleton:
        """What to pose; learned now if it was not before, so do not hold the desk's lock."""
        with self._lock:
            if self._body is None:
                motion = workable(self._motion)
                if motion.frames < ENOUGH_FRAMES or motion.joints < 2:
                    self._body = motion.skeleton
                else:
                    some = motion[:: -(-motion.frames // MANY_FRAMES)]
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", MareyWarning)
                        self._body = PoseModel.fit([some], modes=min(MODES, 3 * motion.joints))
            return self._body

    def warm(self) -> None:
        """Solve once, so that nobody who drags waits for what is compiled or learned."""
        from marey.body.ik.targets import Reach

        start = self._motion[0]
        name = start.skeleton.names[-1]
        self.solver(start).solve([Reach(name, start.positions()[0, -1])])

    def solver(self, start: Motion) -> PoseSolver:
        """A solver that begins with a pose and prefers poses like it."""
        from marey.body.ik.solver import PoseSolver

        body = self.body()
        if isinstance(body, Skeleton):
            return PoseSolver(body, start=start, root_stiffness=HOLD_ROOT, anchor="start")
        return PoseSolver(
            around(body, start),
            start=start,
            root_stiffness=HOLD_ROOT,
            anchor="start",
            refine=True,
            tolerance=ROUGHLY,
        )


def around(model: PoseModel, pose: Motion) -> PoseModel:
    """The model with a pose (a clip of one frame) in its middle: nearby it varies in the same ways.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> model = around(PoseModel.fit([walk], modes=5), walk[7])
    >>> bool(np.allclose(model.decode(np.zeros(5))[1:], walk.rotations[7, 1:]))
    True
    """
    geodesics = model.geodesics
    turned = dexp_body(geodesics.tangent(model.encode(pose)[0]))
    directions = np.einsum("jab,mjb->mja", turned, geodesics.directions)
    return replace(model, geodesics=replace(geodesics, mean=pose_rotations(pose)[0], directions=directions))
