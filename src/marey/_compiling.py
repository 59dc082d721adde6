"""numba's `njit` for kernels that keep their compiled code, and do without where there is no safe place.

numba refuses to compile with `cache=True` when neither the package's folder nor the user's cache can be
written, as in many containers. Such a process compiles anew, which takes seconds. So does one whose cache,
which is pickle, others could have written: one in the working folder, of another user, or open to everybody.
Importing this module imports numba: do so in `_kernels` modules only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba

# What says where numba keeps compiled code.
SETTINGS = ("CACHE_DIR", "CACHE_LOCATOR_CLASSES")


def njit(*signatures: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit(*signatures, **options)`, without the cache if there is nowhere to keep it safely.

    >>> njit(cache=True)(lambda x: 2 * x)(3)
    6
    """

    def compiled(function: Callable[..., Any]) -> Any:
        with _settings_of_the_environment():
            cache = options.get("cache", False) and _has_safe_cache(function)
            return numba.njit(*signatures, **{**options, "cache": cache})(function)

    return compiled


@contextmanager
def _settings_of_the_environment() -> Iterator[None]:
    """Leave out those of a `.numba_config.yaml`, which numba reads in the working folder."""
    before = {name: getattr(numba.config, name, "") for name in SETTINGS}
    for name in SETTINGS:
        setattr(numba.config, name, os.environ.get(f"NUMBA_{name}", ""))
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(numba.config, name, value)


def _has_safe_cache(function: Callable[..., Any]) -> bool:
    try:
        # Nothing is compiled, nor read, without a signature.
        folder = Path(numba.njit(cache=True)(function).stats.cache_path)
    except (RuntimeError, AttributeError):  # no folder can be written, or numba is switched off
        return False
    if Path(__file__).parent in folder.parents:
        return True
    status = folder.stat()
    alone = os.name == "nt" or (status.st_uid in (0, os.getuid()) and not status.st_mode & 0o002)
    return alone and folder.is_absolute()
