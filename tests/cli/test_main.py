"""The list of commands is quick and agrees with the commands."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import get_args

import click
import pytest

from marey.cli._options import Parsed
from marey.cli.main import COMMANDS, app


def found(name: str) -> click.Command:
    """The command called so."""
    group: click.Group = app
    *groups, verb = name.split()
    for one in groups:
        inner = group.get_command(click.Context(group), one)
        assert isinstance(inner, click.Group)
        group = inner
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_help_of_a_command_begins_with(name: str) -> None:
    assert (found(name).help or "").splitlines()[0] == COMMANDS[name]


@pytest.mark.parametrize("words", [["--help"], ["crowd", "--help"], ["crowd", "extend", "--help"]])
def test_help_imports_neither_numpy_nor_methods(words: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['marey', *{words!r}]\n"
        "from marey.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "own = [name for name in sys.modules if name.startswith('marey')]\n"
        "heavy = {'numpy', 'numba', 'scipy', 'rich', 'matplotlib'} & set(sys.modules)\n"
        "print(len(own), sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, heavy = done.stderr.strip().split(maxsplit=1)
    assert "Examples" in done.stdout or len(words) == 2
    assert heavy == "[]" and int(count) <= 30


def test_mistakes_in_usage_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.cli.commands import refused

    assert "No such command 'nope'" in refused(capsys, "body", "nope")
    assert "No such option" in refused(capsys, "body", "fill", "a.bvh", "b.bvh", "--nope")
    assert "IN is missing" in refused(capsys, "body", "fill", "--gap", "1:2")
    assert "-o OUT" in refused(capsys, "body", "fill", "a.bvh", "--gap", "1:2")
    assert "one word too many" in refused(capsys, "body", "fill", "a.bvh", "b.bvh", "c.bvh")
    assert "'--frames'" in refused(capsys, "crowd", "extend", "a.zarr", "b.zarr")
    assert "'--model'" in refused(capsys, "body", "reconstruct", "a.bvh", "b.bvh")


CHOICES = {
    "body compress --method": "marey.body.codec.clip.METHODS",
    "body fill --method": "marey.body.fill.METHODS",
    "body filter --method": "marey.body.filter.METHODS",
    "body fit --method": "marey.statistics.geodesics.published.METHODS",
    "body fit --metric": "marey.body.pose_model.METRICS",
    "body fit --scheme": "marey.statistics.geodesics.exact.SCHEMES",
    "body balance --basis": "marey.body.physics.simulate.BASES",
    "body balance --method": "marey.body.control.actuation.METHODS",
    "body balance --support": "marey.body.control.events.SUPPORTS",
    "body puppet --basis": "marey.body.physics.simulate.BASES",
    "body puppet --method": "marey.body.control.puppet.STRINGS",
    "body simulate --basis": "marey.body.physics.simulate.BASES",
    "body simulate --integrator": "marey.body.physics.simulate.INTEGRATORS",
    "body ik --damping": "marey.body.ik.solver.DAMPINGS",
    "body learn --kernel": "marey.statistics.processes.covariances.KERNELS",
    "body learn --method": "marey.body.dynamics.METHODS",
    "body particles --method": "marey.body.particles.particles.METHODS",
    "body restyle --method": "marey.body.restyle.METHODS",
    "body steer --method": "marey.body.steer.METHODS",
    "body vary --method": "marey.body.vary.draw.METHODS",
    "crowd animate --avoid": "marey.crowd.animation.agents.Avoid",
    "crowd capture --mask-mode": "marey.crowd.capture.capture.MASK_MODES",
    "crowd capture --method": "marey.crowd.capture.METHODS",
    "crowd capture --scale": "marey.crowd.fields.SCALES",
    "crowd density --model": "marey.crowd.density.transport.MODELS",
    "crowd direct --method": "marey.crowd.direct.direct.METHODS",
    "crowd edit --basis": "marey.crowd.spectrum.Basis",
    "crowd edit --select": "marey.crowd.spectrum.Select",
    "crowd simulate --constants": "marey.crowd.simulation.pedestrians.SETS",
    "surface animate --search": "marey.surface.synthesis.animate.SEARCHES",
    "surface distance --metric": "marey.surface.distances.METRICS",
    "surface interpolate --method": "marey.surface.interpolation.interpolator.METHODS",
    "surface interpolate --stretch": "marey.surface.interpolation.interpolator.STRETCHES",
    "surface skin --method": "marey.surface.skinning.METHODS",
    "surface transition --objective": "marey.statistics.graphs.transitions.Objective",
}
"""Where the functions list the words that these options take."""
ONLY_OPTION = {"surface distance --metric": {"skeleton"}}
ONLY_FUNCTION = {
    "body filter --method": {"mask"},
    "crowd capture --scale": {""},
    "crowd simulate --constants": {"control"},
}
OF_THE_COMMAND = {
    "body fit --root-motion", "body restyle --timing", "completion shell", "crowd dataset --camera",
    "crowd dataset --scenario", "crowd dataset --shading", "crowd tile --blend", "surface graph --method",
    "surface transition --method",
}  # fmt: skip
"""Words that choose between functions, or that the command turns into arguments."""


def test_words_of_options_are_those_of_the_functions() -> None:
    offered: dict[str, set[str]] = {}
    for name in COMMANDS:
        for parameter in found(name).params:
            if isinstance(parameter.type, Parsed) and parameter.type.expected.startswith("one of "):
                words = parameter.type.expected.removeprefix("one of ").split(", ")
                offered[f"{name} {parameter.opts[0]}"] = set(words)
    assert set(offered) == set(CHOICES) | OF_THE_COMMAND
    for option, place in CHOICES.items():
        module, _, attribute = place.rpartition(".")
        listed = getattr(import_module(module), attribute)
        known = set(get_args(listed) or listed) - ONLY_FUNCTION.get(option, set())
        assert offered[option] - ONLY_OPTION.get(option, set()) == known, option
