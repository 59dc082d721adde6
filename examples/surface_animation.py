"""New animations of a captured subject, along a path and at times: `… surface_animation.py [walk.npz …]`."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import marey
from marey.surface import Library
from marey.surface.distances import distances

# Sequences of one subject with the same faces: captured, or made by `marey surface skin`.
files = sys.argv[1:]
subject = Library(tuple(map(marey.load, files))) if files else marey.samples.mesh_library(vertices=800)
folder = Path(tempfile.mkdtemp())
print(f"{subject.frames} frames of {', '.join(subject.names)}")

# How far all poses are apart, and the transitions between them that are worth taking.
apart = distances(subject, triangles=400)
repertoire = marey.surface.graph(subject, distances=apart, alpha=0.02)
marey.save(repertoire, folder / "subject.mry")
kept = repertoire.graph
print(f"{int(kept.synthetic.sum())} transitions, {100 * kept.density:.1f} % of all pairs of frames")

# Along a curve on the ground: captured frames, joined by short blends.
along = np.linspace(0, 1, 60)
curve = np.stack([1.2 * np.sin(np.pi * along), 6 * along], axis=1)
made = repertoire.animate(path=curve)
marey.save(made.sequence, folder / "along-a-path.glb")
captured = made.provenance.captured_frames
print(
    f"{made.sequence.frames} frames, {captured} of them captured, "
    f"{100 * made.report.path_error:.1f} cm from the path on average"
)

# Two captured poses a given time apart; met exactly wherever some walk meets it.
first, last = subject.names[0], subject.names[1]
timed = repertoire.animate(poses=[(f"{first}:20", 0.0), (f"{last}:40", 3.0)])
marey.save(timed.sequence, folder / "poses-at-times.glb")
print(f"{last}:40 is taken {timed.report.time_errors[-1]:.2f} s beside the time; look at {folder}")
