"""BVH: every dialect comes in right, goes out and comes back, and damage is named by file and line."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.kinematics import end_positions, forward_kinematics
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.convention import CMU_UNIT, Convention
from marey.io import bvh
from marey.io._bvh_write import channel_table
from marey.io._limits import LIMITS
from marey.io.bvh import printed_frame_time, snap_frame_rate

from .bvh_files import Figure

ARM = """HIERARCHY
ROOT shoulder
{
	OFFSET 1 2 3
	CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
	JOINT elbow
	{
		OFFSET 3 0 0
		CHANNELS 3 Zrotation Xrotation Yrotation
		End Site
		{
			OFFSET 2 0 0
		}
	}
}
MOTION
Frames: 2
Frame Time: .0083333
0 10 0 0 0 0 0 0 0
5 10 0 90 0 0 90 0 0
"""
HEADER, ROWS = ARM.split("0 10 0 0", 1)[0], "0 10 0 0" + ARM.split("0 10 0 0", 1)[1]
ROTATIONS = ["Xrotation", "Yrotation", "Zrotation"]
POSITIONS = ["Xposition", "Yposition", "Zposition"]


@pytest.fixture
def save(tmp_path):
    def write(text: str | bytes, name: str = "clip.bvh") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def positions(motion: Motion) -> np.ndarray:
    return forward_kinematics(motion).positions


def there_and_back(motion: Motion, folder: Path, **options) -> Motion:
    bvh.write(motion, folder / "back.bvh")
    return bvh.read(folder / "back.bvh", **options)


# What the numbers mean


def test_two_bones_are_where_a_hand_computes_them(save):
    motion = bvh.read(save(ARM), unit="m")
    assert motion.skeleton.names == ("shoulder", "elbow")
    assert motion.skeleton.offsets.tolist() == [[1, 2, 3], [3, 0, 0]]
    assert (motion.frames, motion.frame_rate, motion.name) == (2, 120.0, "clip")
    assert np.allclose(positions(motion), [[[0, 10, 0], [3, 10, 0]], [[5, 10, 0], [5, 13, 0]]], atol=1e-12)
    tip = so3.rotate(forward_kinematics(motion).rotations[1, 1], motion.skeleton.end_offsets[0])
    assert np.allclose(tip, [-2, 0, 0], atol=1e-12)


def test_a_root_without_position_channels_stays_at_its_offset(save):
    text = (
        "HIERARCHY\nROOT a\n{\nOFFSET 1 2 3\nCHANNELS 1 Xrotation\n}\nMOTION\nFrames: 1\nFrame Time: 1\n5\n"
    )
    assert bvh.read(save(text), unit="m").root.tolist() == [[1, 2, 3]]


def test_position_channels_take_the_place_of_the_offset(save):
    text = ARM.replace("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 1 Yposition")
    text = text[: text.index("0 10 0 0")] + "0 10 0 0 0 0 7\n0 10 0 0 0 0 8\n"
    motion = bvh.read(save(text), unit="m")
    assert motion.translations.tolist() == [[[0, 10, 0], [3, 7, 0]], [[0, 10, 0], [3, 8, 0]]]


def test_position_channels_that_repeat_the_offset_are_no_translations(save):
    text = ARM.replace("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 3 Xposition Yposition Zposition")
    text = text[: text.index("0 10 0 0")] + "0 10 0 0 0 0 3 0 0\n0 10 0 0 0 0 3.000001 0 0\n"
    motion = bvh.read(save(text), unit="m")
    assert motion.translations is None
    assert motion.channels[1] == ("Xposition", "Yposition", "Zposition")


@st.composite
def figures(draw, channels=None):
    joints = draw(st.integers(1, 7))
    parents = [-1]
    for _ in range(joints - 1):
        # The next joint hangs on the last one or one of its ancestors: depth-first order.
        chain = [len(parents) - 1]
        while chain[-1] > 0:
            chain.append(parents[chain[-1]])
        parents.append(draw(st.sampled_from(chain)))
    length = st.floats(-3, 3).map(lambda x: round(x, 4))
    rotation_lists = st.lists(st.sampled_from(ROTATIONS), max_size=3)
    position_lists = st.lists(st.sampled_from(POSITIONS), max_size=3, unique=True)
    layout = st.tuples(rotation_lists, position_lists).flatmap(lambda t: st.permutations(t[0] + t[1]))
    own = [draw(layout if channels is None else channels) for _ in range(joints)]
    if not any(own):
        own[0] = ["Zrotation"]
    frames = draw(st.integers(1, 4))
    columns = [c for joint in own for c in joint]
    size = [200.0 if "rotation" in c else 3.0 for c in columns]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = rng.uniform(-1, 1, (frames, len(columns))) * size
    table = np.where(rng.random(table.shape) < 0.2, rng.choice([0.0, 90.0, -180.0], table.shape), table)
    offset = st.lists(length, min_size=3, max_size=3)
    ends = [(j, draw(offset)) for j in range(joints) if draw(st.booleans())]
    return Figure(parents, [draw(offset) for _ in range(joints)], [list(c) for c in own], table, ends)


@settings(max_examples=150)
@given(figures(), st.sampled_from([" ", "\t", "  "]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_tree_and_channel_layout_is_read_as_the_format_means_it(tmp_path_factory, figure, gap, line_end):
    folder = tmp_path_factory.mktemp("figure")
    path = folder / "figure.bvh"
    path.write_text(figure.text(gap=gap, line_end=line_end), newline="")
    motion = bvh.read(path, unit="m", up="y")
    assert motion.channels == tuple(map(tuple, figure.channels))
    assert np.allclose(positions(motion), figure.positions(), atol=2e-6 * 3)

    again = there_and_back(motion, folder, unit="m", up="y")
    assert np.abs(positions(again) - positions(motion)).max() < 1e-6
    assert np.allclose(again.skeleton.offsets, motion.skeleton.offsets, atol=1e-9)
    assert np.allclose(again.skeleton.end_offsets, motion.skeleton.end_offsets, atol=1e-9)
    assert again.frame_rate == motion.frame_rate


@settings(max_examples=60)
@given(figures(channels=st.permutations(ROTATIONS)), st.sampled_from([*"yz"]), st.sampled_from([0.01, 1.0]))
def test_the_file_remembers_unit_up_axis_and_channels(tmp_path_factory, figure, up, unit):
    folder = tmp_path_factory.mktemp("figure")
    path = folder / "figure.bvh"
    path.write_text(figure.text())
    motion = bvh.read(path, unit=unit, up=up)
    bvh.write(motion, folder / "back.bvh")
    again = bvh.read(folder / "back.bvh", unit=unit, up=up)
    assert again.channels == motion.channels
    assert np.abs(positions(again) - positions(motion)).max() < 1e-6
    in_file = bvh.read(folder / "back.bvh", unit="m", up="y")
    assert np.abs(positions(in_file) - figure.positions()).max() < 1e-6 / unit


@pytest.mark.parametrize("order", ["ZYX", "XYZ", "YXZ", "ZXY", "XZY", "YZX", "ZXZ", "YXY"])
def test_the_kernel_agrees_with_euler_angles_in_numpy(save, order):
    rng = np.random.default_rng(0)
    degrees = np.concatenate(
        [rng.uniform(-720, 720, (200, 3)), rng.choice([0, 45, 90, 180, -270, 1e7], (99, 3))]
    )
    channels = [f"{letter}rotation" for letter in order]
    figure = Figure([-1], [[0.0, 0.0, 0.0]], [channels], degrees, [])
    expected = so3.continuous(so3.from_euler(np.radians(degrees), order))
    found = bvh.read(save(figure.text())).rotations[:, 0]
    assert np.abs(found[:200] - expected[:200]).max() < 2e-14
    # Half turns leave the sign open, and a product of 1e7 degrees with pi / 180 has lost its last digits.
    assert so3.distance(found, expected).max() < 1e-8


def test_quaternions_are_continuous_in_time(save):
    degrees = np.linspace(0, 5000, 4000)[:, None]
    figure = Figure([-1], [[0.0, 0.0, 0.0]], [["Yrotation"]], degrees, [])
    q = bvh.read(save(figure.text())).rotations[:, 0]
    assert np.einsum("ij,ij->i", q[1:], q[:-1]).min() > 0.99


# Dialects


def read_as_arm(motion: Motion) -> None:
    assert np.allclose(positions(motion), [[[0, 10, 0], [3, 10, 0]], [[5, 10, 0], [5, 13, 0]]], atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        ARM.replace("\n", "\r\n"),
        ARM.replace("\n", "\r"),
        ARM.replace("\n", " \t\n\n"),
        ARM.replace(" ", "\t"),
        "\ufeff" + ARM,
        ARM.rstrip(),
        ARM.replace("shoulder\n{", "shoulder {").replace("elbow\n\t{", "elbow{"),
        ARM.upper().replace("SHOULDER", "shoulder").replace("ELBOW", "elbow"),
        ARM.lower(),
        ARM.replace("End Site", "End Site tip"),
        ARM.replace("End Site", "EndSite"),
        ARM.replace("Frames: 2", "Frames:2").replace("Frame Time: ", "Frame Time:"),
        ARM.replace("Frames: 2", "Frames :\t2").replace("Frame Time: ", "FRAME TIME \t:\t"),
        ARM.replace("5 10 0 90 0 0 90 0 0", "5. +10 -0 9e1 .0 0E0 90.000 0 0"),
        ARM.replace(" 90 0 0 90", "\n90 0 0\n90").replace("10 0 0 0 0 0", "10 0\n0 0\n0 0"),
        ARM.replace("0 10 0 0 0 0 0 0 0\n5", "0 10 0 0 0 0 0 0 0 5"),
        ARM.replace("0 0 0 0\n5 10", "0 0 0\n0 5 10").replace("5 10 0", "5 10\n0"),
    ],
    ids=[
        "crlf",
        "cr",
        "blank lines",
        "tabs",
        "byte order mark",
        "no last line end",
        "braces beside names",
        "upper case",
        "lower case",
        "named end site",
        "EndSite",
        "no blanks after colons",
        "odd colons",
        "odd numbers",
        "frames over several lines",
        "frames on one line",
        "lines across frames",
    ],
)
def test_dialects_read_alike(save, text):
    read_as_arm(bvh.read(save(text), unit="m"))


def test_a_missing_end_site_is_no_error(save):
    text = ARM[: ARM.index("\t\tEnd Site")] + ARM[ARM.index("\t}\n}\nMOTION") :]
    motion = bvh.read(save(text), unit="m")
    read_as_arm(motion)
    assert len(motion.skeleton.end_parents) == 0


def test_names_may_hold_blanks_accents_and_any_encoding(save):
    for name, encoding in (("left  elbow", "utf-8"), ("épaule", "utf-8"), ("épaule", "latin-1")):
        assert bvh.read(save(ARM.replace("elbow", name).encode(encoding))).skeleton.names[1] == name


def test_joints_without_channels_stand_still(save):
    text = ARM.replace("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 0").replace(" 90 0 0\n", "\n")
    text = text.replace("0 10 0 0 0 0 0 0 0", "0 10 0 0 0 0")
    motion = bvh.read(save(text), unit="m")
    assert np.allclose(motion.rotations[:, 1], [1, 0, 0, 0])
    read_as_arm(motion)
    without = text.replace("\t\tCHANNELS 0\n", "")
    read_as_arm(bvh.read(save(without), unit="m"))


def test_rows_count_more_than_the_declared_frames(save):
    for declared in ("1", "3", "0", "99999999999999999999"):
        with pytest.warns(MareyWarning, match=r"clip\.bvh: declares \d+ frames and has 2"):
            motion = bvh.read(save(ARM.replace("Frames: 2", f"Frames: {declared}")), unit="m")
        read_as_arm(motion)


def test_a_sound_file_gives_no_warning(save, tmp_path):
    bvh.write(human(1.7), tmp_path / "human.bvh")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bvh.read(save(ARM), unit="cm")
        bvh.read(tmp_path / "human.bvh")


def test_a_figure_that_is_no_person_in_any_unit_is_noted(save):
    with pytest.warns(MareyWarning, match=r"centimetres are assumed; else give unit= \(--from-unit\)"):
        assert bvh.read(save(ARM)).convention.unit == 0.01


def test_decimetres_are_found_by_the_size_of_the_figure(tmp_path):
    bvh.write(human(1.7), tmp_path / "human.bvh", unit="dm")
    assert bvh.read(tmp_path / "human.bvh").convention.unit == 0.1


def test_joints_of_one_name_are_told_apart(save):
    text = ARM.replace("shoulder", "bone").replace("elbow", "bone")
    with pytest.warns(MareyWarning, match="renamed 'bone' to 'bone_2'"):
        assert bvh.read(save(text)).skeleton.names == ("bone", "bone_2")


def two_roots() -> str:
    second = ARM[ARM.index("ROOT") : ARM.index("MOTION")].replace("shoulder", "hip").replace("elbow", "knee")
    rows = "0 10 0 0 0 0 0 0 0 1 1 1 0 0 0 0 0 0\n5 10 0 90 0 0 90 0 0 2 2 2 0 0 0 0 0 0\n"
    return ARM[: ARM.index("MOTION")] + second + "MOTION\nFrames: 2\nFrame Time: 0.1\n" + rows


def test_of_several_roots_one_is_to_be_picked(save):
    path = save(two_roots())
    with pytest.raises(FormatError, match=r"clip\.bvh: the file has 2 roots \(shoulder, hip\); pick one"):
        bvh.read(path)
    read_as_arm(bvh.read(path, root="shoulder", unit="m"))
    hip = bvh.read(path, root="hip", unit="m")
    assert hip.skeleton.names == ("hip", "knee")
    assert hip.root.tolist() == [[1, 1, 1], [2, 2, 2]]
    assert hip.skeleton.end_parents.tolist() == [1]
    with pytest.raises(InputError, match="no root 'head'; the file has shoulder, hip"):
        bvh.read(path, root="head")


def chain(joints: int) -> str:
    opening = [
        f"{'JOINT' if j else 'ROOT'} j{j}\n{{\nOFFSET 0 0.001 0\nCHANNELS 1 Zrotation\n"
        for j in range(joints)
    ]
    rows = " ".join(["0.01"] * joints)
    return "HIERARCHY\n" + "".join(opening) + "}\n" * joints + f"MOTION\nFrames: 1\nFrame Time: 1\n{rows}\n"


def test_deep_nesting_is_read_and_written(save, tmp_path):
    motion = bvh.read(save(chain(5000)), unit="m")
    assert motion.joints == 5000
    again = there_and_back(motion, tmp_path, unit="m")
    assert np.abs(positions(again) - positions(motion)).max() < 1e-6


# Unit, up axis and frame rate


def human(height: float, *, up: str = "y", names: tuple[str, ...] | None = None) -> Motion:
    """A stick figure of some height in metres, one still frame, arms to the sides."""
    joints = [
        ("Hips", -1, (0, 0.53, 0)),
        ("LHipJoint", 0, (0, 0, 0)),
        ("LeftLeg", 1, (0.06, -0.26, 0)),
        ("LeftFoot", 2, (0, -0.27, 0)),
        ("RHipJoint", 0, (0, 0, 0)),
        ("RightLeg", 4, (-0.06, -0.26, 0)),
        ("RightFoot", 5, (0, -0.27, 0)),
        ("LowerBack", 0, (0, 0.27, 0)),
        ("Head", 7, (0, 0.14, 0)),
        ("LeftArm", 7, (0.1, 0, 0)),
        ("LeftHand", 9, (0.33, 0, 0)),
        ("RightArm", 7, (-0.1, 0, 0)),
        ("RightHand", 11, (-0.33, 0, 0)),
    ]
    ends = {3: (0, 0, 0.12), 6: (0, 0, 0.12), 8: (0, 0.06, 0), 10: (0.08, 0, 0), 12: (-0.08, 0, 0)}
    skeleton = Skeleton(
        names or tuple(f"joint {j}" for j in range(len(joints))),
        [parent for _, parent, _ in joints],
        height * np.array([offset for _, _, offset in joints]),
        list(ends),
        height * np.array(list(ends.values()), dtype=float),
    )
    root = np.repeat([[0.0, 0.53 * height, 0.0]], 3, axis=0)
    return Motion(skeleton, so3.identity((3, len(joints))), root, 30, convention=Convention(up=up))


CMU_NAMES = ("Hips", "LHipJoint", "LeftLeg", "LeftFoot", "RHipJoint", "RightLeg", "RightFoot", "LowerBack")
CMU_NAMES += ("Head", "LeftArm", "LeftHand", "RightArm", "RightHand")


@pytest.mark.parametrize("height", [1.3, 1.7, 2.0])
@pytest.mark.parametrize("unit", ["m", "cm", "mm", "in"])
def test_the_unit_is_that_in_which_a_figure_is_as_tall_as_a_person(tmp_path, unit, height):
    bvh.write(human(height), tmp_path / "human.bvh", unit=unit)
    motion = bvh.read(tmp_path / "human.bvh")
    assert motion.convention.unit_name == unit
    assert np.isclose(np.ptp(positions(motion)[0, :, 1]), 0.94 * height)


def test_a_cmu_rig_counts_in_cmu_units_unless_its_size_says_otherwise(tmp_path):
    bvh.write(human(1.7, names=CMU_NAMES), tmp_path / "cmu.bvh", unit=CMU_UNIT)
    assert bvh.read(tmp_path / "cmu.bvh").convention.unit == CMU_UNIT
    bvh.write(human(1.7, names=CMU_NAMES), tmp_path / "metres.bvh", unit="m")
    assert bvh.read(tmp_path / "metres.bvh").convention.unit == 1.0
    assert bvh.read(tmp_path / "cmu.bvh", unit="cm").convention.unit == 0.01


def test_what_is_not_a_person_is_taken_to_be_in_centimetres(save):
    assert bvh.read(save(ARM)).convention == Convention(unit=0.01, up="y")


def test_z_is_up_only_if_rest_pose_and_clip_stand_along_it(tmp_path):
    path = tmp_path / "human.bvh"
    standing = human(1.7, up="z")
    bvh.write(standing, path)
    assert bvh.read(path).convention.up == "z"
    assert np.allclose(positions(bvh.read(path)), positions(standing), atol=1e-8)

    crawling = human(1.7)
    q = crawling.rotations.copy()
    q[:, 0] = so3.exp([np.pi / 2, 0, 0])
    bvh.write(Motion(crawling.skeleton, q, crawling.root, 30), path)
    assert bvh.read(path).convention.up == "y"
    assert bvh.read(path, up="z").convention.up == "z"

    # The same figure on the floor z = 0, away from y = 0: it rests along y and stands along z.
    upright = Motion(crawling.skeleton, q, crawling.root, 30)
    root = crawling.root + np.array([0, 2.0, -positions(upright)[..., 2].min()])
    bvh.write(replace(upright, root=root), path)
    assert bvh.read(path).convention.up == "z"


def test_places_that_are_all_near_zero_are_counted_from_the_offsets(tmp_path):
    figure = human(1.7)
    all_channels = ("Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation")
    still = np.broadcast_to(figure.skeleton.offsets, (figure.frames, figure.joints, 3)).copy()
    slid = still + np.array([0, 1e-3, 0])
    motion = replace(figure, translations=slid, channels=(all_channels,) * figure.joints)
    bvh.write(motion, tmp_path / "absolute.bvh", unit="m", up="y")
    head, rows = (tmp_path / "absolute.bvh").read_text().split("Frame Time:")
    first, *rows = rows.splitlines()
    table = np.array([row.split() for row in rows], dtype=float).reshape(figure.frames, figure.joints, 6)
    table[:, 1:, :3] -= figure.skeleton.offsets[1:]
    text = "\n".join(" ".join(f"{x:.9f}" for x in row) for row in table.reshape(figure.frames, -1))
    (tmp_path / "relative.bvh").write_text(f"{head}Frame Time:{first}\n{text}\n")
    with pytest.warns(MareyWarning, match="counted from the OFFSETs"):
        relative = bvh.read(tmp_path / "relative.bvh", unit="m", up="y")
    absolute = bvh.read(tmp_path / "absolute.bvh", unit="m", up="y")
    assert np.abs(positions(relative) - positions(absolute)).max() < 1e-6


@pytest.mark.parametrize(
    ("printed", "rate"),
    [
        (".0083333", 120),
        ("0.00833333", 120),
        ("0.008333334", 120),
        ("0.00833333376795", 120),
        ("0.0333333", 30),
        ("0.033333", 30),
        ("0.033", 30),
        ("0.0333667", 30000 / 1001),
        ("0.041708", 24000 / 1001),
        ("0.0417", 24),
        ("0.0166667", 60),
        ("0.017", 60),
        ("0.01", 100),
        ("0.04", 25),
        ("1", 1),
        ("2", 0.5),
        ("1e-2", 100),
        ("0.010277492291", 1 / 0.010277492291),
        ("0.0112359551", 89),
    ],
)
def test_a_printed_frame_time_gives_the_rate_that_was_meant(printed, rate):
    assert np.isclose(snap_frame_rate(printed), rate, rtol=1e-13)


@given(st.floats(1e-3, 1e5) | st.integers(1, 2000).map(float))
def test_a_written_frame_time_gives_the_rate_back(rate):
    assert np.isclose(snap_frame_rate(printed_frame_time(rate)), rate, rtol=1e-7)
    if rate == round(rate):
        assert snap_frame_rate(printed_frame_time(rate)) == rate


# Writing


def wave(joints: int = 3, frames: int = 50, **options) -> Motion:
    rng = np.random.default_rng(3)
    skeleton = Skeleton(
        tuple(f"j{j}" for j in range(joints)),
        np.arange(joints) - 1,
        rng.normal(size=(joints, 3)),
        [joints - 1],
        [[1, 0, 0]],
    )
    path = np.cumsum(rng.normal(size=(frames, joints, 3)), axis=0)
    return Motion(skeleton, so3.continuous(so3.exp(path)), rng.normal(size=(frames, 3)), 30, **options)


def test_a_motion_from_elsewhere_gets_six_channels_at_the_root_and_three_elsewhere(tmp_path):
    again = there_and_back(wave(), tmp_path, unit="m")
    rotations = ("Zrotation", "Yrotation", "Xrotation")
    assert again.channels == ((*POSITIONS, *rotations), rotations, rotations)
    assert np.abs(positions(again) - positions(wave())).max() < 1e-7


def test_sliding_joints_get_six_channels(tmp_path):
    motion = wave()
    slid = np.random.default_rng(0).normal(size=(motion.frames, 3, 3))
    slid[:, 0] = motion.root
    motion = wave(translations=slid)
    again = there_and_back(motion, tmp_path, unit="m")
    assert {len(channels) for channels in again.channels} == {6}
    assert np.allclose(again.translations, slid, atol=1e-8)


def test_channels_that_cannot_hold_the_motion_grow(tmp_path):
    hinge = (("Xrotation",), ("Zrotation", "Xrotation"), ())
    motion = wave(channels=hinge)
    again = there_and_back(motion, tmp_path, unit="m")
    assert again.channels == (
        (*POSITIONS, "Xrotation", "Zrotation", "Yrotation"),
        ("Zrotation", "Xrotation", "Yrotation"),
        ("Zrotation", "Yrotation", "Xrotation"),
    )
    assert np.abs(positions(again) - positions(motion)).max() < 1e-7


@pytest.mark.parametrize("order", ["X", "Y", "Z", "XY", "YX", "ZX", "XZ", "ZY", "YZ"])
def test_channels_that_can_hold_the_motion_stay_few(tmp_path, save, order):
    rng = np.random.default_rng(0)
    channels = [[f"{letter}rotation" for letter in order], ["Zrotation"]]
    degrees = rng.uniform(-400, 400, (300, len(order) + 1))
    figure = Figure([-1, 0], [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], channels, degrees, [])
    motion = bvh.read(save(figure.text()), unit="m")
    again = there_and_back(motion, tmp_path, unit="m")
    assert again.channels == motion.channels
    assert np.abs(positions(again) - positions(motion)).max() < 1e-7


def test_written_angles_do_not_jump(tmp_path):
    turns = so3.continuous(so3.exp(np.linspace(0, 30, 500)[:, None, None] * np.array([[0.1, 0.05, 1.0]])))
    skeleton = Skeleton(("hips",), [-1], [[0, 0, 0]])
    _, tables = channel_table(Motion(skeleton, turns, np.zeros((500, 3)), 30), Convention())
    assert np.abs(np.diff(tables[0][:, 3:], axis=0)).max() < 5


def test_joints_in_another_order_are_written_depth_first(tmp_path):
    skeleton = Skeleton(("a", "b", "c", "d"), [-1, 0, 0, 1], np.arange(12.0).reshape(4, 3))
    motion = Motion(skeleton, so3.random((5, 4), rng=0), np.zeros((5, 3)), 30)
    again = there_and_back(motion, tmp_path, unit="m")
    assert again.skeleton.names == ("a", "b", "d", "c")
    order = motion.skeleton.indices(again.skeleton.names)
    assert np.abs(positions(again) - positions(motion)[:, order]).max() < 1e-7


def test_names_a_file_cannot_hold_are_changed(tmp_path):
    names = ("hips{1}", " \n", "", "hips_1_", "a" * 2000)
    skeleton = Skeleton(names, [-1, 0, 1, 2, 3], np.ones((5, 3)))
    motion = Motion(skeleton, so3.identity((1, 5)), np.zeros((1, 3)), 30)
    again = there_and_back(motion, tmp_path, unit="m")
    assert again.skeleton.names[:4] == ("hips_1_", "_", "joint", "hips_1__2")
    assert again.joints == 5


def test_units_and_up_axis_can_be_changed_on_the_way_out(tmp_path):
    bvh.write(wave(), tmp_path / "z.bvh", unit="cm", up="z")
    assert np.abs(positions(bvh.read(tmp_path / "z.bvh", unit="cm", up="z")) - positions(wave())).max() < 1e-7


def test_huge_lengths_are_written_in_full(tmp_path):
    skeleton = Skeleton(("far",), [-1], [[0, 0, 0]])
    motion = Motion(skeleton, so3.identity((1, 1)), [[1e15, -1e300, 1.5]], 30)
    assert np.allclose(there_and_back(motion, tmp_path, unit="m").root, motion.root, rtol=1e-15)


def test_lengths_beyond_all_numbers_are_refused(tmp_path):
    skeleton = Skeleton(("far",), [-1], [[0, 0, 0]])
    motion = Motion(skeleton, so3.identity((1, 1)), [[1e307, 0, 0]], 30)
    with pytest.raises(InputError, match="too large to be written in units of 0.01 m"):
        bvh.write(motion, tmp_path / "far.bvh", unit="cm")
    assert list(tmp_path.iterdir()) == []


def test_lengths_near_the_largest_number_are_read(save):
    text = ARM.replace("5 10 0", "1e308 -1e308 1e308").replace("CHANNELS 3 Zrotation", "CHANNELS 3 Xposition")
    motion = bvh.read(save(text))
    assert motion.root[1].tolist() == [1e306, -1e306, 1e306]


def test_a_still_figure_without_channels_can_be_read_back(tmp_path):
    skeleton = Skeleton(("a", "b"), [-1, 0], [[1, 2, 3], [0, 1, 0]])
    motion = Motion(skeleton, so3.identity((2, 2)), [[1, 2, 3]] * 2, 30, channels=((), ()))
    assert np.allclose(positions(there_and_back(motion, tmp_path, unit="m")), positions(motion))


def test_unknown_channels_are_refused(tmp_path):
    with pytest.raises(InputError, match="channels of joint 'j0': unknown 'Wrotation'"):
        bvh.write(wave(channels=(("Wrotation",), (), ())), tmp_path / "a.bvh")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["missing/a.bvh", "folder"])
def test_nothing_is_left_where_nothing_can_be_written(tmp_path, place):
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError):
        bvh.write(wave(), tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


# Damage


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "clip.bvh: the file is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "clip.bvh:1: expected 'HIERARCHY', found '\\x89PNG'"),
        (ARM.replace("HIERARCHY", "HIERARCH"), "clip.bvh:1: expected 'HIERARCHY', found 'HIERARCH'"),
        ("HIERARCHY\nMOTION", "clip.bvh:2: expected ROOT, found 'MOTION'"),
        (ARM[: ARM.index("MOTION")], "clip.bvh:16: the file ends before its MOTION section"),
        (
            ARM.replace("\t}\n}", "}\n"),
            "clip.bvh:16: MOTION begins inside joint 'shoulder', opened on line 2",
        ),
        (ARM[:60], "clip.bvh:5: joint 'shoulder' declares 6 channels; expected one of Xposition"),
        (ARM[:36], "clip.bvh:4: OFFSET of joint 'shoulder' needs a number, found the end of the file"),
        (ARM.replace("}\nMOTION", "}\n}\nMOTION"), "clip.bvh:16: expected ROOT or MOTION, found '}'"),
        (ARM.replace("JOINT elbow", "JOINT"), "clip.bvh:6: a joint has no name"),
        (ARM.replace("JOINT elbow", "JOINT " + "e" * 501), "clip.bvh:6: a joint's name has 501 bytes"),
        (ARM.replace("elbow\n\t{", "elbow\n\t"), "clip.bvh:8: expected '{', found 'OFFSET'"),
        (ARM.replace("OFFSET 3 0 0", "OFFSET 3 0"), "clip.bvh:9: OFFSET of joint 'elbow' needs a number"),
        (ARM.replace("OFFSET 3 0 0", "OFFSET 3 0 nan"), "clip.bvh:8: OFFSET of joint 'elbow' needs a number"),
        (
            ARM.replace("OFFSET 3 0 0", "OFFSET 3 0 1e999"),
            "clip.bvh:8: OFFSET of joint 'elbow' needs a number",
        ),
        (ARM.replace("\t\tOFFSET 3 0 0\n", ""), "clip.bvh:6: joint 'elbow' has no OFFSET"),
        (ARM.replace("\t\t\tOFFSET 2 0 0\n", ""), "clip.bvh:10: the End Site has no OFFSET"),
        (ARM.replace("CHANNELS 3", "CHANNELS 2"), "clip.bvh:9: expected OFFSET, CHANNELS, JOINT, End Site"),
        (ARM.replace("CHANNELS 3", "CHANNELS 4"), "clip.bvh:10: joint 'elbow' declares 4 channels"),
        (ARM.replace("CHANNELS 3", "CHANNELS 99999"), "clip.bvh:9: CHANNELS of joint 'elbow' needs a small"),
        (
            ARM.replace("Zposition", "Xposition"),
            "clip.bvh:5: joint 'shoulder' has the channel Xposition twice",
        ),
        (ARM.replace("OFFSET 2 0 0", "OFFSET 2 0 0 CHANNELS 1 Xrotation"), "clip.bvh:12: an End Site has no"),
        (
            ARM.replace("Frames: 2", "Frames: many"),
            "clip.bvh:17: 'Frames:' needs a whole number, found 'many'",
        ),
        (ARM.replace("Frames: 2\n", ""), "clip.bvh:17: expected 'Frames:' and a number, found 'Frame'"),
        (
            ARM.replace(".0083333", "0"),
            "clip.bvh:18: 'Frame Time:' needs a positive number of seconds, found '0'",
        ),
        (ARM.replace(".0083333", "0,0083"), "clip.bvh:18: 'Frame Time:' needs a positive number"),
        (ARM.replace(".0083333", "nan"), "clip.bvh:18: 'Frame Time:' needs a positive number"),
        (HEADER, "clip.bvh:18: no frame follows 'Frame Time:'"),
        (ARM.replace("90 0 0\n", "90 0\n"), "clip.bvh:20: expected 9 numbers, found 8"),
        (ARM.replace("90 0 0\n", "90 0 0 0\n"), "clip.bvh:20: expected 9 numbers, found 10"),
        (ARM.replace("0 10 0", "0 10", 1), "clip.bvh:19: expected 9 numbers, found 8"),
        (
            ARM.replace("0 10 0", "0 10", 1).replace("90\n", "90 0 0\n"),
            "clip.bvh:19: expected 9 numbers, found 8",
        ),
        (ARM.replace("5 10 0", "5 nan 0"), "clip.bvh:20: expected a number, found 'nan'"),
        (ARM.replace("5 10 0", "5 1,0 0"), "clip.bvh:20: expected a number, found '1,0'"),
        (ARM.replace("5 10 0", "5 1e999 0"), "clip.bvh:20: '1e999' is too large a number"),
        (ARM + "\x00\x01", "clip.bvh:21: expected a number, found '\\x00\\x01'"),
    ],
)
def test_damage_is_named_by_file_and_line(save, text, message):
    path = save(text)
    with pytest.raises(FormatError) as caught:
        bvh.read(path)
    assert str(caught.value).startswith(str(path.parent / message))


def test_a_file_with_too_many_joints_is_refused(save):
    with pytest.raises(FormatError, match=f"more than {LIMITS.joints} joints"):
        bvh.read(save(chain(LIMITS.joints + 1)))


def test_a_skeleton_without_channels_has_no_motion(save):
    text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n}\nMOTION\nFrames: 1000000\nFrame Time: 1\n"
    with pytest.raises(FormatError, match="no joint has a channel"):
        bvh.read(save(text))


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        bvh.read(tmp_path / "none.bvh")
    with pytest.raises(FormatError, match="is a folder"):
        bvh.read(tmp_path)


# Memory and real files


@pytest.mark.parametrize("channels", ["three", "six, standing", "six, sliding"])
def test_loading_needs_at_most_three_times_the_memory_of_its_result(tmp_path, channels):
    rng = np.random.default_rng(0)
    frames, joints = 6000, 31
    names = tuple(f"j{j}" for j in range(joints))
    offsets = rng.normal(size=(joints, 3)).round(2)
    rotations = so3.random((frames, joints), rng=0)
    translations = None
    if channels == "six, sliding":
        translations = rng.normal(size=(frames, joints, 3)).round(5)
    own = None if channels == "three" else ((*POSITIONS, *ROTATIONS),) * joints
    motion = Motion(
        Skeleton(names, np.arange(joints) - 1, offsets),
        rotations,
        rng.normal(size=(frames, 3)),
        120,
        translations=translations,
        channels=own,
    )
    bvh.write(motion, tmp_path / "large.bvh")
    bvh.read(tmp_path / "large.bvh", unit="m")
    tracemalloc.start()
    try:
        loaded = bvh.read(tmp_path / "large.bvh", unit="m")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    arrays = [loaded.rotations, loaded.root, *([] if translations is None else [loaded.translations])]
    assert (loaded.translations is None) == (translations is None)
    assert peak <= 3 * sum(array.nbytes for array in arrays)


REAL = {
    "cmu_bvh": (CMU_UNIT, (1.2, 2.0)),
    "cmu_corpus": (CMU_UNIT, (1.2, 2.0)),
    "bandai_bvh_NC": (0.01, (1.3, 1.6)),
    "misc_bvh": (0.01, (1.5, 1.9)),
    "manipnet_hand_NC": (0.01, (0.0, 0.2)),
}


@pytest.mark.parametrize("folder", REAL)
def test_real_files_load_stand_upright_and_come_back(data_dir, tmp_path, folder):
    unit, (low, high) = REAL[folder]
    paths = sorted((data_dir / "skeleton" / folder).glob("*.bvh"))
    assert paths
    for path in paths:
        motion = bvh.read(path)
        assert motion.convention == Convention(unit=unit, up="y"), path
        assert motion.frame_rate in (30.0, 120.0), path
        before = positions(motion)
        with_ends = np.concatenate([before, end_positions(motion)], axis=1)
        heights = np.ptp(with_ends[..., 1], axis=1)
        assert low <= np.percentile(heights, 95) <= high, path
        again = there_and_back(motion, tmp_path)
        assert again.channels == motion.channels
        assert again.convention == motion.convention
        assert np.abs(positions(again) - before).max() < 1e-6, path


def test_joints_that_cost_the_file_nothing_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.bvh"
    joints = "".join(f"JOINT j{i}\n{{ OFFSET 0 0 1 }}\n" for i in range(15_000))
    head = f"HIERARCHY\nROOT r\n{{ OFFSET 0 0 0 CHANNELS 1 Xrotation\n{joints}}}\n"
    path.write_text(head + "MOTION\nFrames: 100000\nFrame Time: 0.01\n" + "0\n" * 100_000)
    with pytest.raises(FormatError, match="15001 joints would take 48 GB"):
        bvh.read(path)


def test_a_file_that_would_be_misread_is_written_with_a_word_about_it(tmp_path):
    walk = marey.samples.walk(seconds=0.5, frame_rate=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for unit in ("m", "cm", "in"):
            bvh.write(walk, tmp_path / "clear.bvh", unit=unit, up="z")
            assert np.abs(positions(bvh.read(tmp_path / "clear.bvh")) - positions(walk)).max() < 1e-6
    with pytest.warns(MareyWarning, match="--from-unit 0.3048|--from-unit ft"):
        bvh.write(walk, tmp_path / "feet.bvh", unit="ft")
    bones = walk.skeleton
    along_x = Skeleton(bones.names, bones.parents, bones.offsets[:, [1, 0, 2]])
    with pytest.warns(MareyWarning, match="up='z' .--from-up z., not y"):
        bvh.write(Motion(along_x, walk.rotations, walk.root, 30), tmp_path / "along_x.bvh", up="z")


def test_a_cmu_skeleton_counts_in_cmu_units_also_by_its_names_in_asf(tmp_path):
    names = ("root", "lhipjoint", "rhipjoint", "lowerback")
    tall = Skeleton(names, [-1, 0, 0, 0], [[0, 0, 0], [0, -0.9, 0], [0, -0.9, 0], [0, 1.2, 0]])
    motion = Motion(tall, [[[1, 0, 0, 0]] * 4] * 2, [[0, 0.9, 0]] * 2, 120)
    bvh.write(motion, tmp_path / "asf.bvh", unit=CMU_UNIT)
    assert bvh.read(tmp_path / "asf.bvh").convention.unit == pytest.approx(CMU_UNIT)


def test_joints_that_carry_the_figure_do_not_say_what_is_up(tmp_path):
    """A root far along z from hips that stand along y."""
    path = tmp_path / "far.bvh"
    path.write_text(
        "HIERARCHY\nROOT root\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\nJOINT hips\n{\nOFFSET 0 0 300\n"
        "CHANNELS 1 Xrotation\n"
        "JOINT head\n{\nOFFSET 0 70 0\nCHANNELS 1 Xrotation\nEnd Site\n{\nOFFSET 0 20 0\n}\n}\n"
        "JOINT foot\n{\nOFFSET 0 -80 0\nCHANNELS 1 Xrotation\nEnd Site\n{\nOFFSET 0 0 10\n}\n}\n}\n}\n"
        "MOTION\nFrames: 1\nFrame Time: 0.04\n0 0 0 0\n"
    )
    assert bvh.read(path).convention.up == "y"
