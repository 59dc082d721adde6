"""The crowd room of the studio."""
