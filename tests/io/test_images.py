"""Picture folders and series as footage."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

import marey
from marey.crowd.fields import Footage
from marey.errors import FormatError, InputError
from marey.io import images

cv2 = pytest.importorskip("cv2")


def film(frames=12, rows=16, columns=24, seed=0) -> tuple[Footage, np.ndarray]:
    pictures = np.random.default_rng(seed).integers(0, 256, (frames, rows, columns, 3), dtype=np.uint8)
    return Footage(frames, rows, columns, 25, lambda a, b, s: iter(pictures[a:b:s])), pictures


def test_a_png_series_comes_back_bit_for_bit(tmp_path):
    footage, pictures = film()
    pattern = tmp_path / "out" / "frame_%d.png"
    marey.save(footage, pattern)
    assert len(list(pattern.parent.glob("*.png"))) == 12
    for path in (pattern, pattern.parent):
        back = marey.load(path, frame_rate=10)
        assert (back.frames, back.rows, back.columns, back.frame_rate) == (12, 16, 24, 10)
        assert np.array_equal(np.stack(list(back)), pictures)
        assert np.array_equal(np.stack(list(back[1::4])), pictures[1::4])


def test_opencv_sees_the_same_colours(tmp_path):
    footage, pictures = film(1)
    images.write(footage, tmp_path / "one.png")
    assert np.array_equal(cv2.imread(str(tmp_path / "one.png"))[..., ::-1], pictures[0])


def test_jpeg_is_close(tmp_path):
    smooth = np.linspace(0, 255, 32 * 48 * 3).reshape(32, 48, 3).astype(np.uint8)
    images.write(Footage(1, 32, 48, 25, lambda a, b, s: iter([smooth])), tmp_path / "one.jpg")
    back = images.read(tmp_path / "one.jpg")
    assert (back.frames, back.rows, back.columns) == (1, 32, 48)
    assert np.abs(back.read(0).astype(int) - smooth).mean() < 3


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (33, 7), (100, 200)])
@pytest.mark.parametrize("ending", [".png", ".jpg"])
@pytest.mark.parametrize("grey", [False, True])
def test_sizes_are_read_from_headers(tmp_path, shape, ending, grey):
    picture = np.zeros(shape if grey else (*shape, 3), np.uint8)
    options = [cv2.IMWRITE_JPEG_PROGRESSIVE, 1] if ending == ".jpg" and not grey else []
    cv2.imwrite(str(tmp_path / f"a{ending}"), picture, options)
    assert images.image_size(tmp_path / f"a{ending}") == shape
    assert images.read_image(tmp_path / f"a{ending}").shape == (*shape, 3)


def test_a_picture_of_another_size_is_named(tmp_path):
    for name, rows in (("a1.png", 4), ("a2.png", 4), ("a10.png", 5)):
        cv2.imwrite(str(tmp_path / name), np.zeros((rows, 6, 3), np.uint8))
    with pytest.raises(FormatError, match=r"a10\.png: is 6 × 5 pixels, a1\.png is 6 × 4"):
        images.read(tmp_path)


def png(rows: int, columns: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n", "neither"),
        (b"not a picture at all, just text", "neither"),
        (b"\xff\xd8\xff\xe0", "declares 0"),
        (b"\xff\xd8" + b"\xff\xe0\x00\x00" * 5, "declares 0"),
        (png(2**31 - 1, 2**31 - 1), "declares 2147483647"),
        (png(0, 5), "declares 5 × 0"),
        (png(10_000, 10_000), "declares 10000 × 10000 pixels in 65 bytes"),
    ],
)
def test_bad_pictures_are_refused(tmp_path, data, message):
    (tmp_path / "bad.png").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        images.read(tmp_path / "bad.png")


@pytest.mark.parametrize("ending", [".png", ".jpg"])
def test_a_cut_off_picture_never_gives_anything_but_our_errors(tmp_path, ending):
    footage, _ = film(1, 32, 32)
    images.write(footage, tmp_path / f"whole{ending}")
    data = (tmp_path / f"whole{ending}").read_bytes()
    for length in range(1, len(data), max(1, len(data) // 40)):
        (tmp_path / f"cut{ending}").write_bytes(data[:length])
        try:
            picture = images.read(tmp_path / f"cut{ending}").read(0)
        except FormatError:
            continue
        assert picture.shape == (32, 32, 3)


def test_a_declared_size_that_lies_is_found_when_decoding(tmp_path):
    (tmp_path / "lies.png").write_bytes(png(100, 100))
    try:
        assert images.read(tmp_path / "lies.png").read(0).shape == (100, 100, 3)
    except FormatError as error:
        assert "decoded" in str(error)


def test_folders_without_pictures_and_missing_series_are_named(tmp_path):
    with pytest.raises(FormatError, match=r"no such files \(\.png"):
        images.read(tmp_path)
    with pytest.raises(FormatError, match="no such files"):
        images.read(tmp_path / "frame_%04d.png")
    with pytest.raises(FormatError, match="no such file"):
        images.read(tmp_path / "none.png")


def test_several_frames_need_a_numbered_name_and_nothing_is_left_behind(tmp_path):
    footage, pictures = film()
    with pytest.raises(InputError, match="one_%04d.png"):
        images.write(footage, tmp_path / "one.png")

    def breaks(start, stop, step):
        yield from pictures[:3]
        raise FormatError("frame 3 cannot be decoded", path="film.mp4")

    with pytest.raises(FormatError, match="frame 3"):
        images.write(Footage(12, 16, 24, 25, breaks), tmp_path / "a_%d.png")
    assert list(tmp_path.iterdir()) == []


def test_the_pilgrims_are_24_pictures(data_dir):
    footage = images.read(data_dir / "crowd/ali_shah_IM03")
    assert (footage.frames, footage.rows, footage.columns) == (24, 480, 720)
    theirs = cv2.imread(str(data_dir / "crowd/ali_shah_IM03/image_0010.jpg"))[..., ::-1]
    assert np.array_equal(footage.read(9), theirs)
