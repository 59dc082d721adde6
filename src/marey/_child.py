"""Other Python processes that marey starts, e.g. for native readers that damage can crash or stall.

No code of the working folder runs in them: `python -m` puts that folder first among those that modules are
looked for in, and variables such as `PYTHONPATH` can name it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from marey.errors import FormatError

HOME = Path(__file__).resolve().parents[1]


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module; use it with :func:`environment`."""
    user_site = ["-s"] if sys.flags.no_user_site else []
    return [sys.executable, "-P", *user_site, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The variables of this process, with none of Python's but a `PYTHONPATH` without the working folder."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    folders = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), ""]
    return others | {"PYTHONPATH": os.pathsep.join(without_working_folder(folders))}


def without_working_folder(folders: Sequence[str]) -> list[str]:
    """Folders to import from, absolute, without the working folder unless marey itself is in it.

    >>> without_working_folder(["", ".", "/usr/lib/python3"])
    ['/usr/lib/python3']
    """
    try:
        here = {os.path.realpath(os.curdir)} - {str(HOME)}
        return [str(Path(folder).absolute()) for folder in folders if os.path.realpath(folder) not in here]
    except FileNotFoundError:  # the working folder is gone
        return [folder for folder in folders if Path(folder).is_absolute()]


def read(module: str, path: Path, *arguments: str, kind: str, seconds: float) -> str:
    """What `module` prints, called with the file and `arguments`; an error unless it ends well in time."""
    import subprocess

    command = python(module, str(path.resolve()), *arguments)
    try:
        done = subprocess.run(command, env=environment(), capture_output=True, timeout=seconds, check=False)
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
