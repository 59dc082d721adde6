"""The body room of the studio."""
