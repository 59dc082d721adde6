"""`marey doctor` and `marey completion` as a user types them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata

import pytest

from tests.cli.commands import call, refused, result


def test_what_is_installed_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "doctor")
    assert found["marey"] == metadata.version("marey") and found["cores"] >= 1
    assert found["packages"]["numpy"] == metadata.version("numpy")
    assert "viser" in found["extras"]["studio"] and "peers" not in found["extras"]
    assert "MB" in found["compiled_code"]


def test_a_missing_extra_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "usd-core":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    assert result(capsys, "doctor")["extras"]["usd"] == "missing: pip install 'marey[usd]'"


def test_a_folder_of_data_that_is_not_there_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAREY_DATA", "/no/such/folder")
    assert "MAREY_DATA" in refused(capsys, "doctor")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert call("completion", shell) == 0
    assert "_MAREY_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("marey bo", "plain,body"),
        ("marey body ik --refi", "plain,--refine"),
        ("marey body ik wal", "file,wal"),
        ("marey body filter walk.bvh --method butt", "plain,butterworth"),
    ],
)
def test_a_shell_is_offered_what_fits(words: str, offered: str) -> None:
    asked = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "_MAREY_COMPLETE": "bash_complete",
    }
    ran = subprocess.run(
        [sys.executable, "-m", "marey.cli.main"], env=os.environ | asked, capture_output=True, text=True
    )
    assert ran.stdout.split() == [offered], ran.stderr
