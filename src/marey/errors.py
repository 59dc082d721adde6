"""What can go wrong, sorted by what the user can do about it, and optional dependencies.

Every message says what is wrong, where (file, line, joint, frame) and what to do. The command line
prints a :class:`MareyError` as one line and exits with 2.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike, fspath
from typing import Any


class MareyError(Exception):
    """Something the user can fix."""


class InputError(MareyError):
    """An argument or array that makes no sense: wrong shape, not finite, out of range."""


class FormatError(MareyError):
    """A file that is not what its ending says, or is damaged.

    >>> str(FormatError("expected 96 numbers, found 95", path="walk.bvh", line=312))
    'walk.bvh:312: expected 96 numbers, found 95'
    """

    def __init__(self, message: str, *, path: str | PathLike[str] | None = None, line: int | None = None):
        self.path = None if path is None else fspath(path)
        self.line = line
        where = "" if path is None else f"{fspath(path)}:" if line is None else f"{fspath(path)}:{line}:"
        super().__init__(f"{where} {message}".strip())


class MissingExtraError(MareyError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class DownloadError(MareyError):
    """Data that could not be fetched: no network, no such file there, or not the file that was registered."""


class ModelError(MareyError):
    """A model that cannot be learned from, or used with, what was given."""


class UnreachableError(MareyError):
    """A target that no solution reaches, where the caller asked for one that does."""


class MareyWarning(UserWarning):
    """Something in the input that was put right or passed over; the command line prints it as one line."""


def require(module: str, *, extra: str) -> Any:
    """Import `module`, or say which extra brings it.

    >>> require("json", extra="video").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs the package '{module.split('.')[0]}': install it with  pip install 'marey[{extra}]'"
        ) from error
