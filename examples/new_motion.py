"""New motion from one clip: variants, a filled hole, a led hand, a crowd: `… new_motion.py [walk.bvh]`."""

import sys
import tempfile
from pathlib import Path

import marey
from marey.body import MotionModel, MotionStream, TimedReach, fill, steer, vary

clip = marey.load(sys.argv[1], clean=True) if len(sys.argv) > 1 else marey.samples.walk(3)
folder = Path(tempfile.mkdtemp())
middle, third = 0.5 * clip.duration, clip.frames // 3

# The same person doing the same thing, but for the pose in the middle never the same way.
variants = vary(clip, count=3, pins=[middle], rng=0)
for number, variant in enumerate(variants, start=1):
    marey.save(variant, folder / f"variant-{number}.bvh")
print(f"variants are {variants.report.deviation_cm:.1f} cm from the clip on average")

# What may have happened in twenty frames that were lost, and how sure that is.
filled = fill(clip, [(third, third + 20)], samples=3, rng=0)
marey.save(filled.motion, folder / "filled.bvh")
print(f"{filled.frames_filled} frames filled; joints were within {100 * filled.mean_radius:.1f} cm with 90 %")

hand = next(name for name in clip.skeleton.names if "hand" in name.lower())
steered = steer(clip, [TimedReach(hand, middle, [0.0, 0.15, 0.0], relative=True)])
marey.save(steered.motion, folder / "steered.bvh")
print(f"{hand} 15 cm higher at {middle:.2f} s: missed by {max(steered.residual_cm):.2f} cm")

crowd = MotionStream(MotionModel.fit(clip), rng=0, characters=100)
for _ in range(60):
    crowd.step()
print(f"a hundred characters are now {crowd.poses().rotations.shape} rotations; look at {folder}")
