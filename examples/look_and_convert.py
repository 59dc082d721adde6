"""Load a clip, look at it, take it elsewhere: `python examples/look_and_convert.py [walk.bvh]`."""

import sys
import tempfile
from pathlib import Path

import marey

clip = marey.load(sys.argv[1]) if len(sys.argv) > 1 else marey.samples.walk()
print(f"{clip.frames} frames, {clip.joints} joints, {clip.duration:.1f} s")

positions = clip.positions()  # (frames, joints, 3), metres
print(f"highest joint over the clip: {positions[..., 1].max():.2f} m")

folder = Path(tempfile.mkdtemp())
marey.save(clip.resample(30), folder / "clip.glb")
marey.views.view(clip, folder / "poses.png")
print(f"look at {folder / 'poses.png'}, open {folder / 'clip.glb'} in Blender")
