"""Pedestrians on tracks as whole walking bodies: cycles of captured walks, footfalls, poses, files."""
