"""The surface room of the studio."""
