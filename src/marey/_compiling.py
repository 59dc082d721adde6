"""numba's `njit` for kernels that keep their compiled code, and do without where there is no safe place.

Kept code is used again while the sources that it was compiled from are the same: those of the kernel's own
module and of the kernel modules whose functions and constants it contains. numba alone looks at the first.

numba refuses to compile with `cache=True` when neither the package's folder nor the user's cache can be
written, as in many containers. Such a process compiles anew, which takes seconds. So does one whose cache,
which is pickle, others could have written: one in the working folder, of another user, or open to everybody.
Importing this module imports numba: do so in `_kernels` modules only.

Declared signatures are compiled when a kernel is first called. Where compiling takes more than a second, a
line on the logger `marey` says so, once. If `MAREY_COMPILE_LOG` names a file, a line is added to it for every
function compiled: seconds of CPU without and with what it compiled on the way, and its name.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

# With colours, numba wraps standard error for all threads while one compiles.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

import numba
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
"""What most kernels are compiled with."""

# What says where numba keeps compiled code.
SETTINGS = ("CACHE_DIR", "CACHE_LOCATOR_CLASSES")


def njit(*signatures: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit(*signatures, **options)`, without the cache if there is nowhere to keep it safely.

    >>> njit(cache=True)(lambda x: 2 * x)(3)
    6
    """

    def compiled(function: Callable[..., Any]) -> Any:
        with _settings_of_the_environment():
            dispatcher = numba.njit(**{**options, "cache": False})(function)
            if options.get("cache") and dispatcher is not function:  # else numba is switched off
                _keep(dispatcher)
            if signatures and dispatcher is not function:
                _compile_when_called(
                    dispatcher, signatures[0] if isinstance(signatures[0], list) else signatures
                )
            return dispatcher

    return compiled


def _compile_when_called(dispatcher: Any, signatures: Sequence[Any]) -> None:
    """Compile the declared signatures, and no others, at the first call from Python or another kernel."""
    compile_one = dispatcher.compile

    def compile_declared(_: object) -> Any:
        with global_compiler_lock:
            for signature in signatures if dispatcher._can_compile else ():
                compile_one(signature)
            dispatcher.disable_compile()
        return dispatcher  # called again, it finds what fits

    dispatcher.compile = compile_declared


class _Watch(event.Listener):  # type: ignore[misc]
    """Says that numba is compiling, and how long each function took."""

    def __init__(self) -> None:
        self.running: list[list[float]] = []
        self.said = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        if not (self.running or self.said):
            self.timer = threading.Timer(1.0, self.say)
            self.timer.daemon = True
            self.timer.start()
        self.running.append([time.thread_time(), 0.0])

    def on_end(self, event: Any) -> None:
        start, inner = self.running.pop()
        seconds = time.thread_time() - start
        if self.running:
            self.running[-1][1] += seconds
        elif self.timer is not None:
            self.timer.cancel()
        if log := os.environ.get("MAREY_COMPILE_LOG"):
            function = event.data["dispatcher"].py_func
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(
                    f"{seconds - inner:.3f} {seconds:.3f} {function.__module__}.{function.__qualname__}\n"
                )

    def say(self) -> None:
        self.said = True
        logging.getLogger("marey").warning("marey: compiling, first use only")


event.register("numba:compile", _Watch())


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


def _keep(dispatcher: Any) -> None:
    """Let a dispatcher keep its compiled code, if there is a safe folder for it."""
    try:
        kept = _Kept(dispatcher.py_func, dispatcher.targetoptions.get("parallel", False))
    except RuntimeError:  # no folder can be written
        return
    if _is_safe(Path(kept.cache_path)):
        dispatcher._cache = kept


class _Kept(FunctionCache):  # type: ignore[misc]
    """Compiled code of a function, as long as all its sources are the same."""

    def __init__(self, function: Any, parallel: bool):
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            # The twin of one thread is another piece of code, which numba's own names do not tell apart.
            filename_base=self._impl.filename_base + ("-parallel" if parallel else ""),
            source_stamp=_digest(function.__module__, function.__code__.co_filename),
        )
        try:
            self._cache_file._load_index()
        except (ImportError, AttributeError, pickle.UnpicklingError, EOFError):  # its types have moved since
            Path(self._cache_file._index_path).unlink(missing_ok=True)


@cache
def _digest(module: str, file: str) -> str:
    """Hash of a module's source and of what it imports of its own package, kernels with what these import."""
    source = Path(file).read_bytes()
    found = hashlib.sha256(source)
    for imported in _imports(source):
        home, _, name = imported.rpartition(".")
        if home.split(".")[0] != module.split(".")[0]:
            continue
        for whole in (home, imported):
            path = getattr(sys.modules.get(whole), "__file__", None)
            if path and whole.endswith("_kernels"):
                found.update(_digest(whole, path).encode())
            elif path and whole == imported:
                found.update(Path(path).read_bytes())
        value = getattr(sys.modules.get(home), name, None)
        if isinstance(value, int | float | str | tuple):
            found.update(repr(value).encode())
    return found.hexdigest()


def _imports(source: bytes) -> Iterator[str]:
    """Full names of what a module imports."""
    for home, names in re.findall(r"^from ([\w.]+) import (\([^)]*\)|.*)", source.decode(), re.MULTILINE):
        yield from (f"{home}.{name}" for name in re.findall(r"(\w+)(?: as \w+)?", names))


def _is_safe(folder: Path) -> bool:
    if Path(__file__).parent in folder.parents:
        return True
    status = folder.stat()
    alone = os.name == "nt" or (status.st_uid in (0, os.getuid()) and not status.st_mode & 0o002)
    return alone and folder.is_absolute()
