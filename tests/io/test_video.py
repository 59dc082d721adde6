"""Video: frame-accurate reading whatever the container says, and files other players open."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import marey
from marey.crowd.fields import Footage
from marey.errors import FormatError, InputError
from marey.io import video

av = pytest.importorskip("av")
cv2 = pytest.importorskip("cv2")

ROWS, COLUMNS = 48, 64


def picture(number: int, rows=ROWS, columns=COLUMNS) -> np.ndarray:
    """The number as eight black or white stripes, which no codec confuses, on a drifting ramp."""
    image = np.zeros((rows, columns, 3), np.uint8)
    image[..., 0] = (np.arange(columns) * 2 + number) % 200
    image[..., 1] = np.arange(rows)[:, None] * 3
    width = columns // 8
    for bit in range(8):
        image[: rows // 2, bit * width : (bit + 1) * width] = 255 * (number >> bit & 1)
    return image


def number_of(image: np.ndarray) -> int:
    width = image.shape[1] // 8
    return sum(int(image[ROWS // 4, bit * width + width // 2].mean() > 127) << bit for bit in range(8))


def numbers(images) -> list[int]:
    return [number_of(image) for image in images]


def encoded(path, codec: str, frames=50, **options: str) -> None:
    """A film made with PyAV itself: groups of 12 pictures, pictures that refer both ways."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options={"g": "12", **options})
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = COLUMNS, ROWS, "yuv420p", 2_000_000
        for number in range(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture(number), format="rgb24")))
        container.mux(stream.encode(None))


@pytest.mark.parametrize("ending", [".mp4", ".mov", ".mkv", ".webm", ".avi", ".gif"])
def test_every_frame_comes_back_in_its_place(tmp_path, ending):
    path = tmp_path / f"film{ending}"
    video.write_frames((picture(n) for n in range(30)), path, frame_rate=25)
    footage = video.read(path)
    assert (footage.frames, footage.rows, footage.columns) == (30, ROWS, COLUMNS)
    assert footage.frame_rate == pytest.approx(25)
    assert numbers(footage) == list(range(30))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_opencv_plays_our_mp4(tmp_path):
    path = tmp_path / "film.mp4"
    video.write_frames([picture(n) for n in range(40)], path, frame_rate=29.97)
    capture = cv2.VideoCapture(str(path))
    assert capture.get(cv2.CAP_PROP_FPS) == pytest.approx(29.97, abs=1e-3)
    theirs = [image for _, image in itertools.takewhile(lambda got: got[0], iter(capture.read, 0))]
    capture.release()
    assert numbers(theirs) == list(range(40))
    ours = np.stack(list(video.read(path))).astype(int)
    assert np.abs(ours - np.stack(theirs)[..., ::-1]).max() <= 2


def test_our_mp4_is_what_players_and_browsers_want(tmp_path):
    path = tmp_path / "film.mp4"
    video.write_frames([picture(n) for n in range(5)], path, frame_rate=25)
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    with av.open(str(path)) as container:
        context = container.streams.video[0].codec_context
        assert (context.name, context.pix_fmt, context.colorspace) == ("h264", "yuv420p", 1)


@pytest.mark.parametrize("ending", [".mp4", ".webm", ".gif"])
def test_flat_colours_survive(tmp_path, ending):
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [200, 120, 40], [128, 128, 128]])
    image = np.repeat(np.repeat(colours[None].astype(np.uint8), 32, axis=0), 32, axis=1)
    video.write_frames([image] * 4, tmp_path / f"flat{ending}", frame_rate=25)
    back = video.read(tmp_path / f"flat{ending}").read(2)
    assert np.abs(back[16, 16::32].astype(int) - colours).max() <= 3


def test_a_gif_has_one_palette_for_smooth_shading(tmp_path):
    ramp = np.linspace(20, 235, 128).astype(np.uint8)
    image = np.stack(np.broadcast_arrays(ramp[None], ramp[:, None] // 2, np.uint8(60)), axis=-1)
    video.write_frames([image] * 3, tmp_path / "ramp.gif", frame_rate=10)
    back = video.read(tmp_path / "ramp.gif")
    assert np.abs(back.read(1).astype(int) - image).mean() < 4
    assert back.frame_rate == pytest.approx(10)


def test_a_gif_too_fast_for_players_drops_frames_and_keeps_time(tmp_path):
    video.write_frames([picture(n) for n in range(60)], tmp_path / "fast.gif", frame_rate=120)
    back = video.read(tmp_path / "fast.gif")
    assert numbers(back) == list(range(0, 60, 3))
    assert back.frame_rate == pytest.approx(40, rel=0.02)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5), (47, 63)])
def test_odd_sizes_are_padded_not_scaled(tmp_path, rows, columns):
    image = np.random.default_rng(0).integers(0, 256, (rows, columns, 3), dtype=np.uint8)
    video.write_frames([image] * 2, tmp_path / "odd.gif", frame_rate=25)
    assert video.read(tmp_path / "odd.gif").read(0).shape == (rows, columns, 3)
    smooth = np.full((rows, columns, 3), 90, np.uint8)
    smooth[:, -1] = 200
    for ending in (".mp4", ".avi", ".webm"):
        video.write_frames([smooth] * 2, tmp_path / f"odd{ending}", frame_rate=25)
        back = video.read(tmp_path / f"odd{ending}").read(0)
        assert back.shape == (rows + 1, columns + 1, 3)
        assert np.abs(back[0, -2:].astype(int) - 200).max() < 12


@pytest.mark.parametrize(
    ("name", "codec", "options"),
    [
        ("both_ways.avi", "mpeg4", {"bf": "2"}),
        ("no_time_stamps.avi", "libx264", {"bf": "3"}),
        ("open_groups.mp4", "libx264", {"bf": "3", "x264-params": "open-gop=1"}),
        ("no_count.ts", "libx264", {"bf": "3"}),
        ("rough_seek.mpg", "mpeg2video", {"bf": "2"}),
        ("clusters.mkv", "mpeg4", {"bf": "2"}),
    ],
)
def test_any_part_of_any_film_is_what_playing_it_shows(tmp_path, name, codec, options):
    encoded(tmp_path / name, codec, **options)
    footage = video.read(tmp_path / name)
    assert footage.frames == 50
    played = list(footage)
    assert numbers(played) == list(range(50))
    for start, stop, step in ((0, 50, 7), (11, 14, 1), (12, 13, 1), (23, 37, 3), (49, 50, 1)):
        part = list(footage.open(start, stop, step))
        assert all(np.array_equal(a, b) for a, b in zip(part, played[start:stop:step], strict=True))


def test_a_part_is_reached_without_decoding_what_lies_before(tmp_path):
    encoded(tmp_path / "film.mp4", "libx264", frames=120)
    index = video._index(tmp_path / "film.mp4")
    key = index.key_before(index.times[100])
    assert index.times[88] <= key[0] <= index.times[100]
    assert index.times[64] <= video._time(next(video._decoded(index, key))) <= key[0]


def test_footage_from_a_file_is_written_again(tmp_path):
    marey.save(
        Footage(9, ROWS, COLUMNS, 10, lambda a, b, s: map(picture, range(a, b, s))), tmp_path / "a.mp4"
    )
    again = marey.load(tmp_path / "a.mp4")[2:8].resample(20)
    seen = []
    video.write(again, tmp_path / "b.mp4", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (again.frames, again.frames)
    back = marey.load(tmp_path / "b.mp4")
    assert back.frame_rate == 20
    assert numbers(back) == numbers(again)


def test_frames_are_encoded_as_they_come(tmp_path):
    asked: list[int] = []
    done: list[tuple[int, int, int]] = []

    def frames():
        for number in range(20):
            asked.append(number)
            yield picture(number)

    def progress(count: int, total: int) -> None:
        done.append((count, total, len(asked)))

    video.write_frames(frames(), tmp_path / "a.mp4", frame_rate=25, progress=progress, total=20)
    assert done == [(n, 20, n) for n in range(1, 21)]


@pytest.mark.parametrize("ending", [".mp4", ".gif", ".avi"])
@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([], "no frame"),
        ([picture(0), picture(1, rows=50)], "frame 1 is"),
        ([picture(0), picture(1).astype(float)], "frame 1: expected"),
        ([picture(0)[..., 0]], "frame 0: expected"),
        ([np.zeros((0, 4, 3), np.uint8)], "frame 0 is"),
    ],
)
def test_frames_that_make_no_film_leave_nothing_behind(tmp_path, ending, frames, message):
    with pytest.raises(InputError, match=message):
        video.write_frames(frames, tmp_path / f"film{ending}", frame_rate=25)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_source_leaves_the_old_film_in_place(tmp_path):
    path = tmp_path / "film.mp4"
    video.write_frames([picture(7)] * 2, path, frame_rate=25)
    before = path.read_bytes()
    failing = itertools.chain([picture(0)], (1 // 0 for _ in range(1)))
    with pytest.raises(ZeroDivisionError):
        video.write_frames(failing, path, frame_rate=25)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        video.write_frames([picture(0)], tmp_path / "missing" / "a.mp4", frame_rate=25)
    with pytest.raises(InputError, match="videos are written as"):
        video.write_frames([picture(0)], tmp_path / "a.wav", frame_rate=25)
    with pytest.raises(InputError, match="frame rate"):
        video.write_frames([picture(0)], tmp_path / "a.mp4", frame_rate=0)
    with pytest.raises(InputError, match="cannot be encoded"):
        video.write_frames([np.zeros((2, 70_000, 3), np.uint8)], tmp_path / "a.mp4", frame_rate=25)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [b"text, not a film\n" * 30, bytes(5000), b"\x00\x00\x00\x18ftypmp42" + bytes(100), b"GIF89a\x02\x00"],
)
def test_what_is_no_film_is_refused(tmp_path, data):
    (tmp_path / "film.mp4").write_bytes(data)
    with pytest.raises(FormatError, match="not a video|no frame|no video|declares|cannot be"):
        video.read(tmp_path / "film.mp4")


def test_a_film_that_is_a_playlist_opens_nothing_else(tmp_path):
    encoded(tmp_path / "secret.mp4", "libx264", frames=5)
    for text in (
        "ffconcat version 1.0\nfile secret.mp4\n",
        "#EXTM3U\n#EXTINF:10,\nsecret.mp4\n#EXT-X-ENDLIST\n",
    ):
        (tmp_path / "film.mp4").write_text(text)
        with pytest.raises(FormatError):
            video.read(tmp_path / "film.mp4")


def test_a_film_cut_off_gives_what_is_there_or_our_error(tmp_path):
    video.write_frames([picture(n) for n in range(40)], tmp_path / "whole.mp4", frame_rate=25)
    data = (tmp_path / "whole.mp4").read_bytes()
    for share in (0.05, 0.2, 0.5, 0.8, 0.95):
        (tmp_path / "cut.mp4").write_bytes(data[: int(len(data) * share)])
        try:
            footage = video.read(tmp_path / "cut.mp4")
            shown = sum(1 for _ in footage)
        except FormatError:
            continue
        assert shown == footage.frames <= 40


def test_missing_files_say_so(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        video.read(tmp_path / "none.mp4")
    (tmp_path / "empty.mp4").touch()
    with pytest.raises(FormatError, match="empty"):
        video.read(tmp_path / "empty.mp4")


def test_pets_is_read_as_opencv_reads_it(data_dir):
    path = data_dir / "crowd/pets2009_s2l1/vtest.avi"
    footage = video.read(path)
    assert (footage.frames, footage.rows, footage.columns, footage.frame_rate) == (795, 576, 768, 10)
    capture = cv2.VideoCapture(str(path))
    theirs = [capture.read()[1] for _ in range(35)]
    capture.release()
    for frame, image in zip((0, 17, 34), footage.open(0, 35, 17), strict=True):
        assert np.abs(image.astype(int) - theirs[frame][..., ::-1]).max() <= 2
    assert footage[790:].read(4).shape == (576, 768, 3)
