"""Whatever stands in a BVH file: reading it gives a motion or one of our errors, soon, in little memory."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.errors import MareyError
from marey.io import bvh

WALK = b"""HIERARCHY
ROOT Hips
{
\tOFFSET 0.00 0.00 0.00
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
\tJOINT Chest
\t{
\t\tOFFSET 0.00 5.21 0.00
\t\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0.00 3.87 0.00
\t\t}
\t}
\tJOINT LeftKnee
\t{
\t\tOFFSET 0.00 -15.31 0.00
\t\tCHANNELS 1 Xrotation
\t}
}
MOTION
Frames: 3
Frame Time: 0.033333
8.03 35.01 88.36 -3.41 14.78 -164.35 0.00 5.21 0.00 13.09 40.30 -24.60 7.88
7.81 35.10 86.47 -3.78 12.94 -166.97 0.00 5.21 0.00 12.64 42.57 -22.34 7.67
8.95 35.86 86.60 -4.34 10.12 -16.9e1 0.00 5.21 0.00 13.64 43.57 -20.34 6.67
"""

SPLINTERS = [
    *(
        b"nan",
        b"inf",
        b"-",
        b".",
        b"1e",
        b"1e999",
        b"-1e308",
        b"9" * 400,
        b"0x1F",
        b"1,5",
        b"\x00",
        b"\xff\xfe",
    ),
    *(
        b"{",
        b"}",
        b"ROOT",
        b"JOINT j\n{",
        b"End Site\n{",
        b"OFFSET",
        b"CHANNELS 99",
        b"CHANNELS 6",
        b"MOTION",
    ),
    *(
        b"Frames: 99999999999999",
        b"Frame Time: 1e-320",
        b"Frame Time: 0",
        b"\r",
        b"\n",
        b"\r\n",
        b"\t",
        b"\x1a",
    ),
    *(
        b"Xrotation",
        b"Yposition",
        b"HIERARCHY",
        b"\xef\xbb\xbf",
        b"JOINT " + b"x" * 600,
        b"{" * 100,
        b"}" * 100,
    ),
]


def read_or_refuse(path, data: bytes) -> bool:
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            motion = bvh.read(path)
        except MareyError as error:
            assert str(path) in str(error)
            assert "\n" not in str(error)
            return False
    assert np.isfinite(motion.rotations).all()
    assert np.isfinite(motion.root).all()
    return True


def test_every_cut_is_read_or_refused(tmp_path):
    whole = [read_or_refuse(tmp_path / "walk.bvh", WALK[:length]) for length in range(len(WALK) + 1)]
    first_number = WALK.index(b"8.03")
    assert not any(whole[:first_number])
    assert whole[-1]


WORDS = [word + end for word in [*SPLINTERS, *WALK.split()] for end in (b" ", b"\n")]


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(WORDS), max_size=60).map(b"".join)
    | st.lists(st.sampled_from(WORDS), max_size=30).map(lambda words: WALK[:560] + b"".join(words))
    | st.text().map(lambda text: b"HIERARCHY ROOT a\n{" + text.encode())
    | st.binary(max_size=300)
)
def test_any_words_are_read_or_refused(tmp_path_factory, data):
    read_or_refuse(tmp_path_factory.getbasetemp() / "words.bvh", data)


@pytest.mark.parametrize(
    "data",
    [
        b"HIERARCHY\n" + b"ROOT a\n{\n" * 300_000,
        b"HIERARCHY\nROOT a\n{\n" + b"JOINT a\n{\n" * 300_000,
        b"HIERARCHY\nROOT a\n{\n" + b"End Site\n{\nOFFSET 0 0 0\n}\n" * 200_000,
        b"HIERARCHY\nROOT " + b"a" * 3_000_000,
        b"HIERARCHY" + b"a" * 3_000_000,
        b" " * 3_000_000,
        b"{" * 3_000_000,
        WALK.replace(b"8.03", b"8" * 3_000_000),
        WALK.replace(b"8.03", b"0." + b"3" * 3_000_000),
        WALK.replace(b"8.03", b"x" * 3_000_000),
        WALK + b"7" * 3_000_000,
        WALK + b"\n" * 3_000_000 + b"7 7",
        WALK + b"\r" * 3_000_000 + b"7 7",
        WALK + b"7 " * 1_500_000,
        WALK.replace(b"Frames: 3", b"Frames: 3000000000000000"),
    ],
)
def test_gigantic_headers_and_rows_cost_no_more_than_their_size(tmp_path, data):
    tracemalloc.start()
    try:
        read_or_refuse(tmp_path / "large.bvh", data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30 * len(data) + 5e6
