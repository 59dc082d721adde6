"""Physics of characters in the coordinates of a pose model (Tournier 2011, chapters 10 and 11)."""
