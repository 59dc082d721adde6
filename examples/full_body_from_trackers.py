"""A whole body from three trackers, live: `python examples/full_body_from_trackers.py [walk.bvh]`.

The clip plays the part of the tracking system: only its toes and the top of its head are looked at, with half
a second of the left foot missing. The model is learned from the same walker.
"""

import sys
import time

import numpy as np

import marey
from marey.body import BodyFromTrackers, PoseModel, Trackers, reconstruct

walk = marey.load(sys.argv[1], clean=True) if len(sys.argv) > 1 else marey.samples.walk()
model = PoseModel.fit([walk], modes=6)
seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head_end"], directions=["Head_end"])
positions, rotations = np.array(seen.positions), np.array(seen.rotations)
positions[30 : 30 + int(walk.frame_rate / 2), 0] = np.nan  # hidden for half a second
truth = walk.positions()

live = BodyFromTrackers(model, seen, frame_rate=seen.frame_rate)
poses, seconds = [], []
for position, rotation in zip(positions, rotations, strict=True):
    began = time.perf_counter()
    poses.append(live.update(position, rotation))
    seconds.append(time.perf_counter() - began)
found = marey.Motion(
    model.skeleton,
    np.concatenate([pose.rotations for pose in poses]),
    np.concatenate([pose.root for pose in poses]),
    seen.frame_rate,
)
error = np.linalg.norm(found.positions() - truth, axis=2).mean()
print(f"live: joints {100 * error:.1f} cm off on average, {1e3 * np.median(seconds):.2f} ms a frame")

after = reconstruct(model, Trackers(seen.names, positions, seen.frame_rate, rotations))
error = np.linalg.norm(after.positions() - truth, axis=2).mean()
print(f"afterwards, smoothly: {100 * error:.1f} cm")
