"""Mathematics of rotations and rigid motion; no animation in it."""
