"""Crowd motion against the truth: fields, long ways, collisions, and what flows have in common."""

from marey.crowd.evaluation.fields import FieldErrors, field_errors

__all__ = ["FieldErrors", "field_errors"]
