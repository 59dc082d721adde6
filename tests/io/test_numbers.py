"""Bulk text-to-number parsing: every value is Python's own, every error names its line."""

from __future__ import annotations

import math
import random
import re
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marey.errors import FormatError
from marey.io import _number_kernels, _numbers
from marey.io._numbers import NumberText, parse_numbers, parse_table

NUMBER = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e4, 1e4).map(lambda x: f"{x:.6f}"),
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)

PLAIN = rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def bits(values: np.ndarray) -> list[int]:
    return np.asarray(values, dtype=np.float64).reshape(-1).view(np.int64).tolist()


@settings(max_examples=300)
@given(st.lists(NUMBER, max_size=30))
@example(["9007199254740993", "9007199254740993.0", "9007199254740991e1", "90071992547409930e-1"])
@example(["18446744073709551615", "18446744073709551616", "9999999999999999999e-64", "1e-22", "1e23"])
@example(["5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "0e99999999999", "1e-99999999999"])
@example(["-0", "-0.0", "+1.5", ".5", "5.", "1E5", "0" * 400 + "1", "0." + "0" * 300 + "1"])
def test_every_value_equals_pythons_float_bit_for_bit(tokens):
    wanted = [float(token) for token in tokens]
    assert bits(parse_numbers(" ".join(tokens).encode(), path="n")) == bits(wanted)


def test_values_near_ties_equal_pythons_float():
    rng = random.Random(0)
    tokens = []
    for _ in range(20_000):
        odd = (rng.getrandbits(53) | 1 << 52) * 2 + 1
        power = rng.randrange(0, 5)
        tokens += [f"{odd * 10**power}e-{power}", str(odd), f"{rng.getrandbits(64)}e{rng.randrange(-70, 70)}"]
    wanted = [float(token) for token in tokens]
    assert bits(parse_numbers("\n".join(tokens).encode(), path="n")) == bits(wanted)


@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(NUMBER, min_size=n, max_size=n), min_size=1)),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n", " \t\n"]),
    st.sampled_from([" ", "\t", "  ", " \t "]),
)
def test_a_table_survives_any_spacing_and_line_end(rows, line_end, gap):
    text = line_end.join(gap.join(row) for row in rows).encode()
    table = parse_table(text, len(rows[0]), path="n")
    assert table.shape == (len(rows), len(rows[0]))
    assert bits(table) == bits([[float(token) for token in row] for row in rows])


def test_blocks_join_to_the_whole_table():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(101, 7))
    # Twenty-five digits each: all of them go through Python's float, in several batches.
    data = "\n".join(" ".join(f"{x:.25f}" for x in row) for row in np.repeat(values, 20, axis=0)).encode()
    text, block, blocks = NumberText(data, path="n"), np.empty(7 * 13), []
    while count := text.fill(block, 7):
        blocks.append(block[:count].copy())
    assert bits(np.concatenate(blocks)) == bits(parse_table(data, 7, path="n"))
    assert np.allclose(np.concatenate(blocks).reshape(-1, 7)[::20], values, atol=1e-15)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bad_line", [1, 2, 63, 400])
def test_the_line_of_an_error_is_right_far_into_a_file(line_end, bad_line):
    rows = [f"{i}.25 -{i} {i}e-3" for i in range(1, 401)]
    rows[bad_line - 1] = "1 x 3"
    with pytest.raises(FormatError) as caught:
        parse_table(line_end.join(rows).encode(), 3, path="n")
    assert caught.value.line == bad_line
    rows[bad_line - 1] = "1 2"
    with pytest.raises(FormatError) as caught:
        parse_table((line_end.join(rows) + line_end).encode(), 3, path="n")
    assert str(caught.value) == f"n:{bad_line}: expected 3 numbers, found 2"


@given(st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b"a" * 61])))
def test_lines_are_counted_whatever_ends_them(pieces):
    from marey.io._number_kernels import count_lines

    data = b"".join(pieces)
    assert count_lines(np.frombuffer(data, np.uint8)) == 1 + len(re.findall(b"\r\n|\r|\n", data))


@settings(max_examples=300)
@given(NUMBER, st.sampled_from(["", " ", "/2/3 ", "\n", "e", ",", "x" * 60, "/" + "7" * 60]))
def test_one_number_is_read_up_to_where_it_ends(token, after):
    from marey.io._number_kernels import BAD, EXACT, SLOW, number_at

    data = np.frombuffer(f"1 {token}{after}".encode(), np.uint8)
    value, stop, how = number_at(data.ctypes.data, 2, data.size)
    if after == "e" and "e" not in token.lower():
        assert how == BAD
        return
    assert stop == 2 + len(token)
    assert how == EXACT or (how == SLOW and value == 0)
    if how == EXACT:
        assert bits(value) == bits(float(token))


def test_comments_and_other_separators_are_skipped_when_asked_for():
    data = b"# frame, id\n1, 2.5 # note 7\n#\n3,4\n"
    table = parse_table(data, 2, path="n", comment=b"#", separators=b", \t")
    assert table.tolist() == [[1, 2.5], [3, 4]]


def test_text_without_numbers_is_an_empty_table():
    assert parse_table(b"", 3, path="n").shape == (0, 3)
    assert parse_table(b" \r\n\t\n", 3, path="n").shape == (0, 3)
    assert parse_numbers(memoryview(bytearray(b"")), path="n").shape == (0,)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1 2\n3 nan", "walk.bvh:11: expected a number, found 'nan'"),
        (b"1 2\n3 inf", "walk.bvh:11: expected a number, found 'inf'"),
        (b"1 2\r\n\r\n3,5 4", "walk.bvh:12: expected a number, found '3,5'"),
        (b"1 2\r\r3 0x4", "walk.bvh:12: expected a number, found '0x4'"),
        (b"1 2\n3 1_0", "walk.bvh:11: expected a number, found '1_0'"),
        (b"1 2\n3 1.2.3", "walk.bvh:11: expected a number, found '1.2.3'"),
        (b"1 2\n3 1e", "walk.bvh:11: expected a number, found '1e'"),
        (b"1 2\n3 -", "walk.bvh:11: expected a number, found '-'"),
        (b"1 2\n3 .", "walk.bvh:11: expected a number, found '.'"),
        (b"\x00\xff", "walk.bvh:10: expected a number, found '\\x00ÿ'"),
        (b"1 2\n" + b"x" * 1000, "walk.bvh:11: expected a number, found '" + "x" * 40 + "…'"),
        (b"1 2\n1e999 4\n5 6", "walk.bvh:11: '1e999' is too large a number"),
        (b"1 2\n3\n", "walk.bvh:11: expected 2 numbers, found 1"),
        (b"1 2\n3", "walk.bvh:11: expected 2 numbers, found 1"),
        (b"1 2\n3 4 5 6 \n7 8", "walk.bvh:11: expected 2 numbers, found 4"),
        (b"1", "walk.bvh:10: expected 2 numbers, found 1"),
    ],
)
def test_errors_name_file_line_and_token(data, message):
    with pytest.raises(FormatError) as caught:
        parse_table(data, 2, path="walk.bvh", first_line=10)
    assert str(caught.value) == message


@settings(max_examples=500)
@given(st.binary(max_size=200) | st.text("0123456789.eE+- \t\r\n", max_size=200).map(str.encode))
def test_any_bytes_give_what_python_reads_or_an_error(data):
    words = re.split(rb"[ \t\r\n]+", data.strip(b" \t\r\n"))
    words = [] if words == [b""] else words
    plain = all(re.fullmatch(PLAIN, word) and math.isfinite(float(word)) for word in words)
    if plain:
        assert bits(parse_numbers(data, path="n")) == bits([float(word) for word in words])
    else:
        with pytest.raises(FormatError):
            parse_numbers(data, path="n")


def test_small_tables_are_read_without_the_compiled_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits, and nothing where the compiled parser must say what is wrong."""
    values = np.random.default_rng(0).normal(size=(40, 3)) * 10.0 ** np.arange(-9, 4).repeat(4)[:40, None]
    lines = [", ".join(map(repr, row)) + " # a row" for row in values.tolist()]
    monkeypatch.setattr(_numbers._small, "bytes_read", 0)
    options = {"comment": b"#", "separators": b", \t"}
    assert _number_kernels is sys.modules["marey.io._number_kernels"]
    compiled = parse_table("\r\n".join(lines).encode(), 3, path="n", **options)
    monkeypatch.delitem(sys.modules, "marey.io._number_kernels", raising=False)
    small = _numbers.parse_small_table("\r\n".join(lines).encode(), 3, **options)
    assert small is not None and bits(small.ravel()) == bits(compiled.ravel())
    for wrong in (b"1 2", b"1 2 nan", b"1 2 1e999", b"1 2 x", b"1 2 3\x0c4 5 6", b""):
        assert _numbers.parse_small_table(wrong, 3) is None
