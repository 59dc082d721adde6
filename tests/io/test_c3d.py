"""C3D markers: units, absences, axes, byte orders, files that contradict themselves, and damage."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.markers import Markers
from marey.errors import FormatError, MareyError, MareyWarning
from marey.geometry.convention import Convention
from marey.io import c3d

ezc3d = pytest.importorskip("ezc3d")


def write(
    path: Path,
    points: np.ndarray,
    *,
    unit: str | float = "mm",
    y_screen: str | None = None,
    rate: float = 100,
) -> Path:
    content = ezc3d.c3d()
    parameters = content["parameters"]["POINT"]
    if isinstance(unit, str):
        parameters["UNITS"]["value"] = [unit]
    else:
        content.add_parameter("POINT", "UNITS", [unit])
    parameters["RATE"]["value"] = [rate]
    parameters["LABELS"]["value"] = ["head", "toe", "toe"][: points.shape[1]]
    content["data"]["points"] = np.concatenate([points.T, np.ones((1, *points.T.shape[1:]))])
    if y_screen is not None:
        content.add_parameter("POINT", "Y_SCREEN", [y_screen])
    content.write(str(path))
    return path


def standing(frames: int = 4) -> np.ndarray:
    """`(frames, 3, 3)` millimetres, z up."""
    points = np.zeros((frames, 3, 3))
    points[:, 0] = [100, 200, 1700]
    points[:, 1] = [50, 220, 0]
    points[:, 2, 0] = np.arange(frames)
    return points


def test_markers_come_in_metres_and_y_up(tmp_path: Path) -> None:
    markers = marey.load(write(tmp_path / "a.c3d", standing()))
    assert markers.names == ("head", "toe", "toe_2")
    assert markers.frame_rate == 100
    np.testing.assert_allclose(markers.positions[0, 0], [0.1, 1.7, -0.2], atol=1e-6)


def test_the_file_or_the_user_says_which_axis_is_up(tmp_path: Path) -> None:
    path = write(tmp_path / "a.c3d", standing(), unit="m", y_screen="+Y")
    np.testing.assert_allclose(marey.load(path).positions[0, 0], [100, 200, 1700], rtol=1e-6)
    np.testing.assert_allclose(
        marey.load(path, up="z", unit="mm").positions[0, 0], [0.1, 1.7, -0.2], rtol=1e-6
    )


def test_numbers_where_words_should_be_are_no_reason_to_fail(tmp_path: Path) -> None:
    markers = marey.load(write(tmp_path / "a.c3d", standing(), unit=7.0))
    np.testing.assert_allclose(markers.positions[0, 0], [0.1, 1.7, -0.2], atol=1e-6)


def test_a_file_without_a_rate_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.c3d", standing(), rate=123)
    rate = np.float32(123).tobytes()
    assert rate in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(rate, bytes(4)))
    with pytest.raises(FormatError, match=r"a\.c3d: states no positive number of frames per second"):
        marey.load(path)


def test_an_unseen_marker_is_nan(tmp_path: Path) -> None:
    points = standing()
    points[2, 1] = np.nan
    present = marey.load(write(tmp_path / "a.c3d", points)).present
    assert not present[2, 1]
    assert present.sum() == present.size - 1


def reordered(path: Path, order: int, *, as_integers: bool = False) -> Path:
    """A file of ours as a machine with another byte order, or with scaled integers, would have written it."""
    data, big = path.read_bytes(), order == c3d.SGI

    def words(raw: bytes) -> bytes:
        return np.frombuffer(raw, "<i2").astype(">i2" if big else "<i2").tobytes()

    def floats(raw: bytes) -> bytes:
        if order == c3d.DEC:
            return (np.frombuffer(raw, "<f4") * 4).view("<u2").reshape(-1, 2)[:, ::-1].tobytes()
        return np.frombuffer(raw, "<f4").astype(">f4" if big else "<f4").tobytes()

    start = (int.from_bytes(data[16:18], "little") - 1) * 512
    out, at = bytearray(data[:start]), 516
    scale = np.float32(0.1).tobytes() if as_integers else data[12:16]
    out[2:12], out[16:20] = words(data[2:12]), words(data[16:20])
    out[12:16], out[20:24], out[515] = floats(scale), floats(data[20:24]), order
    while data[at]:
        here = at + 2 + data[at]
        step = int.from_bytes(data[here : here + 2], "little")
        out[here : here + 2] = words(data[here : here + 2])
        if data[at + 1] < 128:
            size, body = data[here + 2], slice(here + 5, here + step - 1)
            raw = scale if b"SCALE" in data[at:here] else data[body]
            if size in (2, 4):
                out[body] = words(raw) if size == 2 else floats(raw)
        at = here + step
    body = np.frombuffer(data[start:], "<f4")
    if as_integers:
        points = body.reshape(-1, 4) / [0.1, 0.1, 0.1, 1]
        return replaced(path, bytes(out) + words(np.rint(points).astype("<i2").tobytes()))
    return replaced(path, bytes(out) + floats(data[start:]))


def replaced(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("order", [c3d.INTEL, c3d.DEC, c3d.SGI])
@pytest.mark.parametrize("as_integers", [False, True])
def test_all_byte_orders_and_number_formats_hold_the_same(
    tmp_path: Path, order: int, as_integers: bool
) -> None:
    markers = Markers(("head", "toe"), standing()[:, :2] / 1000, 100)
    marey.save(markers, tmp_path / "a.c3d", unit="mm")
    read = marey.load(reordered(tmp_path / "a.c3d", order, as_integers=as_integers))
    np.testing.assert_allclose(read.positions, markers.positions, atol=1e-4 if as_integers else 1e-7)
    assert (read.names, read.frame_rate) == (("head", "toe"), 100)


def test_markers_survive_the_way_through_our_files_and_another_reader(tmp_path: Path) -> None:
    positions = standing(5) / 1000
    positions[2, 1] = np.nan
    markers = Markers(("head", "toe", "heel"), positions, 59.94, convention=Convention(0.001, "z"))
    marey.save(markers, tmp_path / "a.c3d")
    read = marey.load(tmp_path / "a.c3d")
    np.testing.assert_allclose(read.positions, positions, atol=1e-7)
    assert (read.names, read.convention) == (markers.names, markers.convention)
    assert read.frame_rate == pytest.approx(59.94)
    content = ezc3d.c3d(str(tmp_path / "a.c3d"))
    theirs = content["data"]["points"][:3].T
    np.testing.assert_allclose(theirs, markers.convention.from_marey(positions), atol=1e-3, equal_nan=True)
    assert content["parameters"]["POINT"]["LABELS"]["value"] == ["head", "toe", "heel"]


def test_many_markers_and_frames_are_written_and_read(tmp_path: Path) -> None:
    names = tuple(f"m{i}" for i in range(300))
    marey.save(Markers(names, np.ones((3, 300, 3)), 100), tmp_path / "a.c3d")
    assert marey.load(tmp_path / "a.c3d").names == names
    marey.save(Markers(("m",), np.ones((70_000, 1, 3)), 100), tmp_path / "b.c3d")
    assert marey.load(tmp_path / "b.c3d").frames == 70_000


def test_where_header_and_parameters_disagree_the_size_of_the_file_decides(tmp_path: Path) -> None:
    markers = Markers(("a", "b"), np.arange(1200.0).reshape(200, 2, 3), 100)
    marey.save(markers, tmp_path / "a.c3d", unit="m", up="y")
    data = bytearray((tmp_path / "a.c3d").read_bytes())
    # A parameter that points at the wrong block, and no DATA_START.
    data = data.replace(b"DATA_START", b"DATA_STOPS")
    data[2:4] = (3).to_bytes(2, "little")
    (tmp_path / "b.c3d").write_bytes(data)
    np.testing.assert_allclose(marey.load(tmp_path / "b.c3d").positions, markers.positions)


def test_a_damaged_parameter_section_leaves_what_the_header_says(tmp_path: Path) -> None:
    marey.save(Markers(("a",), np.ones((4, 1, 3)), 100), tmp_path / "a.c3d", unit="m", up="y")
    data = bytearray((tmp_path / "a.c3d").read_bytes())
    data[520:900] = b"\xff" * 380
    (tmp_path / "a.c3d").write_bytes(data)
    markers = marey.load(tmp_path / "a.c3d", unit="m", up="y")
    assert (markers.names, markers.frame_rate, markers.frames) == (("marker 1",), 100, 4)


def test_a_file_that_was_cut_off_gives_the_frames_that_are_there(tmp_path: Path) -> None:
    marey.save(Markers(("a",), np.ones((100, 1, 3)), 100), tmp_path / "a.c3d")
    data = (tmp_path / "a.c3d").read_bytes()
    (tmp_path / "a.c3d").write_bytes(data[:-1024])
    with pytest.warns(MareyWarning, match="declares 100 frames and has"):
        assert 32 <= marey.load(tmp_path / "a.c3d").frames < 100


def test_damage_is_one_readable_line_or_other_markers(tmp_path: Path) -> None:
    good = np.frombuffer(write(tmp_path / "a.c3d", standing()).read_bytes(), np.uint8)
    bad = tmp_path / "bad.c3d"
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mutant = good.copy()
        mutant[rng.integers(2, 30 if seed % 2 else 700, size=6)] = rng.integers(256, size=6)
        bad.write_bytes(mutant.tobytes())
        try:
            assert isinstance(marey.load(bad), Markers)
        except MareyError as error:
            assert "bad.c3d" in str(error)
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("at", "content", "message"),
    [
        (2, b"\0\0", "holds no markers"),
        (2, b"\xff\x7f", "do not fit together"),
        (20, bytes(4), "no positive number of frames per second"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(
    tmp_path: Path, at: int, content: bytes, message: str
) -> None:
    marey.save(Markers(("a",), np.ones((4, 1, 3)), 100), tmp_path / "a.c3d")
    data = bytearray((tmp_path / "a.c3d").read_bytes())[: 2 * 512 + 60]
    data[512:1024] = bytes(512)  # no parameters
    data[at : at + len(content)] = content
    (tmp_path / "a.c3d").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        marey.load(tmp_path / "a.c3d")


def test_what_is_no_c3d_is_refused_at_once(tmp_path: Path) -> None:
    for content in (b"hello world", b"\x02\x50"):
        (tmp_path / "a.c3d").write_bytes(content)
        with pytest.raises(FormatError, match=r"a\.c3d"):
            marey.load(tmp_path / "a.c3d")
    with contextlib.suppress(FileNotFoundError):
        (tmp_path / "a.c3d").unlink()
    with pytest.raises(FormatError, match="no such file"):
        marey.load(tmp_path / "a.c3d")
