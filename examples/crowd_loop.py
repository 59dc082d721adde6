"""Simulate people, film them, capture their motion from the film, let others walk in it."""

import tempfile
from pathlib import Path

import marey
from marey.crowd import animate, capture, scenes
from marey.crowd.evaluation.fields import field_errors
from marey.filming import read_dataset, write_dataset

folder = Path(tempfile.mkdtemp())

# A film of a simulated crowd: what moves how is known exactly.
scene = scenes.preset("rotation").with_people(60)
write_dataset(scene, folder / "film", size=(160, 120), seconds=1.6)
film = read_dataset(folder / "film").views["above"]

# Its motion, captured from the pictures alone, and how far off that is.
flow = capture(film.footage(), size=160, camera=film.camera, plane_height=0.9)
there = film.crowd_flow.foreground > 127
print(f"{field_errors(flow.velocities, film.crowd_flow.velocities, there).endpoint:.3f} pixels a frame off")

# New people in it, in metres, for a game engine or a plot.
people = animate(flow, people=40, avoid="social", seconds=2, frame_rate=25).tracks
marey.save(people, folder / "people.csv")
marey.views.view(people, folder / "people.png")
print(f"look at {folder}")
