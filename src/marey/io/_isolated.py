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

# Of the processor, which other processes do not use up; sound files are read at over 20 MB a second.
START_SECONDS, BYTES_PER_SECOND = 5, 1e6


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


def set_limits(path: str, memory: Literal["AS", "DATA"], reserved: int, bytes_a_byte: int) -> None:
    """Called by such a module before it reads: what it may have of the processor and of memory."""
    size = Path(path).stat().st_size
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        seconds, most = int(START_SECONDS + size / BYTES_PER_SECOND), reserved + bytes_a_byte * size
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(getattr(resource, f"RLIMIT_{memory}"), (most, most))
