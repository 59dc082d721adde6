"""Optional dependencies: imported where they are used, with an error that names the extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from marey.errors import MissingExtraError


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
