"""Crowd motion against the truth: fields, trajectories, pedestrians, and the similarity of flows."""
