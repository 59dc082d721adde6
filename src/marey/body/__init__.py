"""Articulated characters."""
