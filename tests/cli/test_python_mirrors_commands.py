"""Every command is a function of the same verb that takes its options by the same names."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest

import marey
from marey.cli._options import READ
from marey.cli.main import COMMANDS
from marey.crowd.capture import plan_capture
from tests.cli.test_main import found

ELSEWHERE = {
    "surface skin": "stage.skin",  # joins two scales
    "crowd walk": "stage.walk",
    "crowd dataset": "filming.write_dataset",  # a noun on the command line
    "body limits": "body.limits.learn",  # the package of all limits has the name
    "data list": "datasets.list_datasets",
    "data get": "datasets.get",
    "demo": "demo.make_gallery",
    "studio": "studio.app.Studio",
}
"""Functions that are not in the package of their command's name, or have another name."""
MIRRORED = [name for name in COMMANDS if name != "completion"]
"""Commands with a function; the lines of `completion` are for shells alone."""
OF_THE_COMMAND = {
    *READ, "help", "json", "out", "figure", "format", "provenance", "browser", "list", "resume", "jobs",
}  # fmt: skip
"""Options about files, printing and the process, which functions leave to their callers."""
OTHERWISE = {
    "seed": "rng",
    "no_limits": "limits",
    "no_plant": "plant",
    "body balance method": "settings",
    "body balance push": "events",
    "body compress levels": "dropped_levels",
    "body decompress up": None,  # of the file written
    "body decompress unit": None,
    "body drive input": "inputs",
    "body drive table": None,  # of the example's inputs
    "body fill gap": "ranges",
    "body fill auto": "ranges",
    "body fill example": "examples",
    "body fit root_motion": "root",
    "body ik max_error": None,  # of the file written
    "body puppet handle": "events",
    "body puppet method": "settings",
    "body puppet push": "events",
    "body reconstruct noise": "settings",
    "body reconstruct truth": None,  # what it is compared with
    "body reconstruct map": "trackers",
    "body reconstruct joints": "trackers",
    "body reconstruct directions": "trackers",
    "body restyle open": "open_ends",
    "body limits jump": "settings",
    "body limits grow": "settings",
    "body simulate ball": "throws",
    "body simulate push": "pushes",
    "body simulate integrator": "settings",
    "body simulate damping": "settings",
    "body simulate step": "settings",
    "body simulate gravity": "settings",
    "body simulate ground": "settings",
    "body steer reach": "requests",
    "body steer repeat": None,  # marey.body.chain
    "body steer turn": None,
    "body steer transition": None,
    "body vary pin": "pins",
    "convert faces_from": None,  # of the reader
    "crowd animate camera": None,  # of the field
    "crowd animate plane_height": None,
    "crowd animate scale": None,
    "crowd animate video": None,
    "crowd capture area": "mask",
    "crowd dataset scenario": "scene",
    "crowd dataset people": "scene",
    "crowd dataset hold": "scene",
    "crowd dataset camera": "views",
    "crowd density after": "danger",
    "crowd density alarms": None,  # marey.io.alarms
    "crowd density level": "danger",
    "crowd density live": None,  # marey.crowd.density.follow
    "crowd density pressure": "danger",
    "crowd density rising": "danger",
    "crowd direct people": "scene",
    "crowd direct write": None,  # marey.io.direction_json
    "crowd edit max_error": None,  # of the file written
    "crowd evaluate line": "lines",
    "crowd evaluate loop": "loops",
    "crowd evaluate view": "truth",
    "crowd evaluate visible": "truth",
    "crowd evaluate all_pixels": "truth",
    "crowd simulate people": "scene",
    "crowd simulate hold": "scene",
    "crowd simulate speed": "scene",
    "crowd simulate panic": "scene",
    "crowd simulate constants": "parameters",
    "crowd tile blend": None,  # marey.crowd.texture
    "crowd tile overlap": None,
    "crowd tile window": None,
    "crowd walk walk": "walks",
    "crowd walk people": "tracks",
    "crowd walk seconds": "tracks",
    "crowd walk start": "tracks",
    "crowd walk person": None,
    "surface animate behaviour": "path",
    "surface distance frame_rate": None,  # of skeletons: marey.body.compare
    "surface graph labels": "sequences",
    "surface graph slope": "windows",
    "surface graph short_ends": "ends",
    "demo out": "folder",
    "view beside": None,  # marey.views.render.draw_compared
    "view over": None,
}
"""Options that the function has under another name, as part of another argument, or (None) not at all."""


def function_of(command: str) -> Any:
    """The function of the command's verb."""
    place: Any = marey
    for name in ELSEWHERE.get(command, command.replace(" ", ".")).split("."):
        place = getattr(place, name, None) or import_module(f"{place.__name__}.{name}")
    return place


@pytest.mark.parametrize("name", MIRRORED)
def test_every_command_has_its_function(name: str) -> None:
    function = function_of(name)
    assert callable(function)
    assert function.__doc__


@pytest.mark.parametrize("name", MIRRORED)
def test_options_have_the_names_of_the_functions_arguments(name: str) -> None:
    taken = set(inspect.signature(function_of(name)).parameters)
    if name == "crowd capture":  # whose options are those of the plan
        taken |= set(inspect.signature(plan_capture).parameters)
    options = [one.name for one in found(name).params if one.param_type_name == "option"]
    for option in options:
        if option in OF_THE_COMMAND:
            continue
        other = OTHERWISE.get(f"{name} {option}", OTHERWISE.get(str(option), option))
        assert other is None or other in taken, f"{name} --{option}: not an argument, {sorted(taken)}"


def test_what_differs_is_still_there() -> None:
    options = {f"{name} {one.name}" for name in COMMANDS for one in found(name).params}
    assert {one for one in OTHERWISE if " " in one and one not in options} == set()


@pytest.mark.parametrize("module", ["", ".body", ".surface", ".crowd", ".stage"])
def test_dir_shows_what_is_meant_for_users(module: str) -> None:
    package = import_module(f"marey{module}")
    shown = [name for name in dir(package) if not name.startswith("_")]
    assert sorted(shown) == sorted(package.__all__)
