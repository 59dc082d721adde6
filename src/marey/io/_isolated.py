"""Native readers in a process of their own: damage can crash or stall them, or make them take all memory.

:func:`read` calls a function of a format's module there, with limits of time and memory that follow from the
file's size; the result comes back as a container, errors and warnings as JSON.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeVar

from marey import _child
from marey.errors import FormatError, MareyError, MareyWarning
from marey.io import container

T = TypeVar("T")


@dataclass(frozen=True)
class Allowance:
    """What a process may take: a start, and so much for each byte of the file.

    memory: which memory is counted: all addresses, or the data alone where a library reserves addresses
    """

    seconds: float
    bytes_per_second: float
    reserved_bytes: int
    bytes_per_byte: int
    memory: Literal["AS", "DATA"]


def read(reader: Callable[..., T], path: Path, allowance: Allowance, *, kind: str, **options: object) -> T:
    """What `reader(path, **options)` gives in another process; an error unless it ends well in time.

    Args:
        reader: a function at the top of its module.
        kind: of the file, for errors, such as `"USD"`.
        options: plain values.
    """
    seconds = allowance.seconds + path.stat().st_size / allowance.bytes_per_second
    name = f"{reader.__module__}:{reader.__name__}"
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.mry"
        arguments = (str(result), name, json.dumps(asdict(allowance)), json.dumps(options))
        command = _child.python("marey.io._isolated", str(path.absolute()), *arguments)
        try:
            done = subprocess.run(
                command, env=_child.environment(), capture_output=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise FormatError("took too long to read; it is probably damaged", path=path) from error
        if done.returncode != 0:
            raise FormatError(f"the {kind} file is damaged", path=path)
        answer = json.loads(done.stdout.decode().splitlines()[-1])
        for message in answer["warnings"]:
            warnings.warn(MareyWarning(f"{path}: {message}"), stacklevel=3)
        if "error" in answer:
            raise FormatError(answer["error"], path=path)
        content: T = container.read(result)
        return content


def main(source: str, target: str, reader: str, allowance: str, options: str) -> None:
    """In the other process: the result of `reader` as a container, what went wrong or was noted as JSON."""
    allowed = Allowance(**json.loads(allowance))
    most = allowed.reserved_bytes + allowed.bytes_per_byte * Path(source).stat().st_size
    with contextlib.suppress(ImportError, ValueError, OSError):  # where the system cannot see to that
        import resource

        resource.setrlimit(getattr(resource, f"RLIMIT_{allowed.memory}"), (most, most))
    module, _, function = reader.partition(":")
    answer: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = getattr(import_module(module), function)(Path(source), **json.loads(options))
            container.write(result, Path(target))
        except MareyError as error:
            answer["error"] = str(error).removeprefix(f"{source}: ")
    answer["warnings"] = [str(warning.message) for warning in caught]
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
