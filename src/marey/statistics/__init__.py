"""Learning and sampling; no animation in it."""
