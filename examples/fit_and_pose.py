"""Learn a clip's poses, then lead the figure by handles: `python examples/fit_and_pose.py [walk.bvh]`."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import marey
from marey.body import PoseModel
from marey.body.ik import PoseSolver, Reach

clip = marey.load(sys.argv[1], clean=True) if len(sys.argv) > 1 else marey.samples.walk()
model = PoseModel.fit([clip], modes=10)
angles, share = 3 * clip.joints - 3, 100 * model.variance
print(f"{model.modes} modes instead of {angles} angles: {share:.1f} % of the variance")

folder = Path(tempfile.mkdtemp())
marey.save(model, folder / "model.mry")
marey.views.view(model, folder / "modes.png")

# Lift a foot step by step; the other foot and the head stay. The solver goes on from its last pose.
start = clip[0]
places = dict(zip(clip.skeleton.names, start.positions()[0], strict=True))
solver = PoseSolver(model, start=start)
for step in range(1, 6):
    lifted = places["LeftFoot"] + np.array([0.0, 0.04 * step, 0.0])
    held = [Reach(name, places[name]) for name in ("RightFoot", "Head")]
    posed = solver.solve([Reach("LeftFoot", lifted), *held])
    report = posed.report
    print(f"foot up {4 * step} cm: missed by {report.residual_cm:.2f} cm in {report.milliseconds:.2f} ms")

marey.views.view(posed.motion(), folder / "pose.png")
marey.save(posed.motion(like=clip), folder / "pose.bvh")
print(f"look at {folder / 'modes.png'} and {folder / 'pose.png'}")
