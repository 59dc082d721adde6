"""Store every BVH of a folder in as few bytes as an error allows, and say what that cost.

`python examples/compress_folder.py [FOLDER [OUT [CENTIMETRES]]]`; without a folder, three sample walks.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import marey
from marey.body.compare import joint_error

given = [*sys.argv[1:], "", "", ""]
source = Path(given[0] or tempfile.mkdtemp())
target = Path(given[1] or tempfile.mkdtemp())
allowed = float(given[2] or 1.0) / 100
target.mkdir(parents=True, exist_ok=True)
if not given[0]:
    for speed in (0.9, 1.2, 1.6):
        marey.save(marey.samples.walk(2, speed=speed), source / f"walk_{speed}.bvh")

print(f"{'clip':20} {'BVH':>10} {'stored':>8} {'1 :':>5}   mean, largest error")
for path in sorted(source.glob("*.bvh")):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cleaning did
        clip = marey.load(path, clean=True)
    small = marey.body.compress(clip, max_error=allowed)
    marey.save(small, target / f"{path.stem}.mry")
    error = joint_error(clip, small.decode())
    size = path.stat().st_size
    print(
        f"{path.stem:20} {size:10,} {small.bytes:8,} {size / small.bytes:5.0f}   "
        f"{100 * error.mean:.2f}, {100 * error.maximum:.2f} cm"
    )
print(f"in {target}; marey view, convert and body decompress take them as they are")
