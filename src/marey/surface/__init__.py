"""4D meshes: constant connectivity, moving vertices."""
