"""Meshes between two poses of a surface (Boukhayma 2017, section 2.4)."""
