"""Files that native libraries read, which damage can crash or stall: in a process of its own.

Whatever happens there becomes one readable line here.
"""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import Literal

from marey import _child
from marey.errors import FormatError


def run(module: str, path: Path, *arguments: str, kind: str, seconds: float) -> str:
    """What `module` prints, called with the file and `arguments`; an error unless it ends well in time."""
    try:
        done = subprocess.run(
            _child.python(module, str(path.resolve()), *arguments),
            env=_child.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise FormatError("took too long to read; it is probably damaged", path=path) from error
    if done.returncode != 0:
        raise FormatError(f"the {kind} file is damaged", path=path)
    return done.stdout.decode()


def limit_memory(kind: Literal["AS", "DATA"], most: int) -> None:
    """Called by such a module before it reads: the bytes it may have, where the system can see to that."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (most, most))
