"""Fixtures shared by all tests."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.browser import opened_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A proxy is not for servers on this machine. And numba, where colorama is installed, replaces standard error
# for all threads while it compiles in one.
os.environ |= {"no_proxy": "127.0.0.1,localhost", "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}

# Programs that the tests start print as they do for others.
os.environ.pop("PYTHONUNBUFFERED", None)

# Nor do they open windows.
for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
    os.environ.pop(name, None)

settings.register_profile("marey", deadline=None, derandomize=True)
settings.load_profile("marey")


# Read once: some tests hide it from what they run.
REAL_DATA = os.environ.get("MAREY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")

LONGEST_FIRST = (
    "tests/test_readme.py",
    "tests/test_demo.py",
    "tests/test_docs.py",
    "tests/cli/",
    "tests/test_cli.py",
    "tests/studio/",
)


def pytest_configure(config: pytest.Config) -> None:
    """All processes of the run note how long they compile, in one file."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        log = tempfile.NamedTemporaryFile(prefix="marey-compiled-", delete=False)  # noqa: SIM115
        os.environ["MAREY_COMPILE_LOG"] = log.name
        config.add_cleanup(lambda: Path(log.name).unlink(missing_ok=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that run whole programs come first, so that no core waits for the last of them."""

    def rank(item: pytest.Item) -> int:
        ranks = (i for i, name in enumerate(LONGEST_FIRST) if item.nodeid.startswith(name))
        return next(ranks, len(LONGEST_FIRST))

    items.sort(key=rank)
    for item in items:
        # Travels with the report, also from another process.
        item.user_properties.append(("real data", "data_dir" in getattr(item, "fixturenames", ())))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped, by its reason; and whether real data was there."""
    table, stats = terminalreporter, terminalreporter.stats
    reasons = {report.nodeid: str(report.longrepr[-1]) for report in stats.get("skipped", [])}
    if reasons:
        table.section("skipped")
    for reason, count in Counter(reasons.values()).most_common():
        table.write_line(f"{count:5}  {reason.removeprefix('Skipped: ')}")
    ran, missed = (
        sum(("real data", True) in report.user_properties for report in stats.get(kind, []))
        for kind in ("passed", "skipped")
    )
    lines = Path(os.environ["MAREY_COMPILE_LOG"]).read_text(encoding="utf-8").splitlines()
    seconds = [float(line.split()[0]) for line in lines]
    table.write_line(f"compiled: {len(seconds)} functions in {sum(seconds):.0f} s of CPU")
    table.write_line(f"real data: {ran} tests ran on it, {missed} were skipped")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Real data: the folder MAREY_DATA names, or `../shared/data` beside the checkout."""
    folder = Path(REAL_DATA)
    if not (folder / "skeleton").is_dir():
        pytest.skip("real data is not here (set MAREY_DATA)")
    return folder


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a process; see `tests.browser`."""
    with opened_chromium() as browser:
        yield browser


@dataclass(frozen=True)
class Shown:
    """A gallery, and what `marey demo --json` said of it."""

    folder: Path
    said: dict[str, Any]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """What `marey demo` makes of the built-in samples, as the command makes it."""

    def make(folder: Path) -> None:
        from marey.cli.main import app

        with (
            (folder / "said.json").open("w") as said,
            redirect_stdout(said),
            pytest.MonkeyPatch.context() as here,
        ):
            here.setenv("MAREY_DATA", "")
            app(["demo", "--out", str(folder / "gallery"), "--json"], standalone_mode=False)

    folder = made_once(tmp_path_factory, "demo", make)
    return Shown(folder / "gallery", json.loads((folder / "said.json").read_text()))


def made_once(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that `make` fills, by whichever of the running workers comes first; the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            draft = folder.with_suffix(".draft")
            draft.mkdir()
            make(draft)
            draft.rename(folder)
    return folder
