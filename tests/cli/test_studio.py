"""`marey studio` as typed: it says where, serves, stops on Ctrl+C, and tells bad files in a line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import marey
from tests.browser import LONG

pytest.importorskip("viser", reason="the extra studio is not installed")


def test_it_says_where_serves_there_and_stops_when_interrupted(tmp_path: Path) -> None:
    marey.save(marey.samples.walk(1), tmp_path / "walk.bvh")
    command = [sys.executable, "-m", "marey.cli.main", "studio", str(tmp_path / "walk.bvh")]
    running = subprocess.Popen(
        [*command, "--port", "0", "--no-browser", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert running.stdout is not None
        address = json.loads(running.stdout.readline())["address"]
        assert address.startswith("http://127.0.0.1:") and "/?token=" in address
        with urllib.request.urlopen(address, timeout=LONG) as page:
            assert b"<html" in page.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.partition("?")[0], timeout=LONG)
    finally:
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=LONG)
    assert (running.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["not-there.bvh"], "not-there.bvh: no such file"), (["--port", "99999"], "--port 99999")],
)
def test_bad_arguments_are_told_in_a_line(arguments: list[str], told: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "marey.cli.main", "studio", "--no-browser", *arguments]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=LONG
    )
    assert done.returncode == 2 and told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and not done.stdout
