"""Crowd motion against the truth: fields, long ways, collisions, and what flows have in common."""

from marey.crowd.evaluation.collisions import Collisions, collisions
from marey.crowd.evaluation.comparing import Truth, compare, error_map
from marey.crowd.evaluation.fields import FieldErrors, field_errors
from marey.crowd.evaluation.following import deviation
from marey.crowd.evaluation.likeness import Likeness, likeness
from marey.crowd.evaluation.paths import PathError, path_errors
from marey.crowd.evaluation.people import PeopleErrors, fundamental_diagram, people_errors

__all__ = [
    "Collisions",
    "FieldErrors",
    "Likeness",
    "PathError",
    "PeopleErrors",
    "Truth",
    "collisions",
    "compare",
    "deviation",
    "error_map",
    "field_errors",
    "fundamental_diagram",
    "likeness",
    "path_errors",
    "people_errors",
]
