"""numba's `njit` for kernels that keep their compiled code, and do without where there is no place for it.

numba refuses to compile with `cache=True` when neither the package's folder nor the user's cache can be
written, as in many containers. Such a process compiles anew, which takes seconds. Importing this module
imports numba: do so in `_kernels` modules only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def njit(*signatures: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit(*signatures, **options)`, without the cache if there is nowhere to keep it.

    >>> njit(cache=True)(lambda x: 2 * x)(3)
    6
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(*signatures, **options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return numba.njit(*signatures, **{**options, "cache": False})(function)

    return compiled
