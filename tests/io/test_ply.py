from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import trimesh

import marey
from marey.errors import FormatError, InputError, MareyWarning
from marey.io import ply
from marey.surface import MeshSequence, Texture

PNG = Texture.from_image(np.zeros((2, 2, 3), dtype=np.uint8))
HEAD = "ply\nformat ascii 1.0\n"
SQUARE = (
    HEAD + "element vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    "0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n"
)


def written(folder: Path, text: str | bytes, name: str = "mesh.ply") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def blob(frames: int = 1, dtype: type = np.float64, **fields: object) -> MeshSequence:
    rng = np.random.default_rng(7)
    faces = np.stack([np.arange(10), np.arange(10) + 1, np.arange(10) + 2], axis=1)
    return MeshSequence(rng.normal(size=(frames, 12, 3)).astype(dtype), faces, 24.0, **fields)


def test_a_text_file_of_polygons(tmp_path: Path) -> None:
    mesh = ply.read(written(tmp_path, SQUARE))
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert mesh.vertices.dtype == np.float32
    assert mesh.vertices[0, 2].tolist() == [1, 1, 0]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_blank_lines_do_not_matter(tmp_path: Path, end: str) -> None:
    text = SQUARE.replace("1 1 0\n", "\n  1\t1 0 \n").replace("\n", end)
    assert ply.read(written(tmp_path, text)).faces.tolist() == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize("order", ["<", ">"])
def test_binary_of_either_order_with_properties_in_any_order(tmp_path: Path, order: str) -> None:
    """Faces before vertices, lists of other types in between, an element nobody knows, y before x."""
    name = {"<": "binary_little_endian", ">": "binary_big_endian"}[order]
    header = (
        f"ply\nformat {name} 1.0\ncomment hello\nobj_info 1\nelement face 3\nproperty uchar flag\n"
        "property list ushort double extra\nproperty list int uint vertex_index\nproperty short last\n"
        "element strange 2\nproperty list uint8 int8 things\n"
        "element vertex 5\nproperty double y\nproperty uchar red\nproperty double x\nproperty uint8 green\n"
        "property uchar blue\nproperty float z\nend_header\n"
    )
    body = b""
    polygons = [[0, 1, 2], [0, 1, 2, 3], [4, 3, 2, 1, 0]]
    for i, corners in enumerate(polygons):
        body += struct.pack(f"{order}BH{i}d", i, i, *[0.5] * i)
        body += struct.pack(f"{order}i{len(corners)}Ih", len(corners), *corners, -1)
    body += struct.pack(f"{order}B3bB", 3, 1, 2, 3, 0)
    points = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    for x, y, z in points.tolist():
        body += struct.pack(f"{order}dBdBBf", y, 255, x, 51, 0, z)
    mesh = ply.read(written(tmp_path, header.encode() + body))
    np.testing.assert_array_equal(mesh.vertices[0], points)
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 1, 2], [0, 2, 3], [4, 3, 2], [4, 2, 1], [4, 1, 0]]
    np.testing.assert_allclose(mesh.colours, [[1, 0.2, 0]] * 5)


def test_lists_beside_coordinates_are_stepped_over(tmp_path: Path) -> None:
    text = (
        HEAD + "element vertex 3\nproperty list uchar int around\nproperty float x\nproperty float y\n"
        "property float z\nend_header\n0 1 2 3\n2 7 7 4 5 6\n1 9 7 8 9\n"
    )
    mesh = ply.read(written(tmp_path, text))
    assert mesh.vertices[0].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert len(mesh.faces) == 0


def test_colours_are_0_to_1_whatever_their_type(tmp_path: Path) -> None:
    for kind, value, expected in (("uchar", "51", 0.2), ("ushort", "13107", 0.2), ("float", "0.2", 0.2)):
        properties = "".join(f"property {kind} {c}\n" for c in ("red", "green", "blue"))
        text = (
            HEAD + "element vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
            f"{properties}property uchar alpha\nend_header\n0 0 0 {value} 0 {value} 255\n"
        )
        mesh = ply.read(written(tmp_path, text))
        np.testing.assert_allclose(mesh.colours, [[expected, 0, expected]], rtol=1e-6)


def test_empty_lists_and_elements_without_properties_do_no_harm(tmp_path: Path) -> None:
    binary = (
        b"ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
        b"property float z\nelement face 1\nproperty list uchar uchar vertex_indices\n"
        b"property list uchar float texcoord\nend_header\n" + struct.pack(">9f", *range(9)) + b"\3\0\1\2\0"
    )
    mesh = ply.read(written(tmp_path, binary))
    assert mesh.faces.tolist() == [[0, 1, 2]]
    assert mesh.uv is None
    with pytest.raises(FormatError, match="its faces have no list"):
        ply.read(written(tmp_path, SQUARE.replace("property list uchar int vertex_indices\n", "")[:-10]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_written_is_what_is_read(tmp_path: Path, dtype: type) -> None:
    colours = np.random.default_rng(3).integers(0, 256, (12, 3)) / 255
    sequence = blob(3, dtype, colours=colours)
    marey.save(sequence, tmp_path / "frames" / "blob_%03d.ply")
    back = marey.load(tmp_path / "frames")
    assert back.vertices.dtype == dtype
    np.testing.assert_array_equal(back.vertices, sequence.vertices)
    np.testing.assert_array_equal(back.faces, sequence.faces)
    np.testing.assert_allclose(back.colours, colours, atol=1e-12)
    assert (back.frame_rate, back.name) == (24.0, "frames")


def test_texture_coordinates_of_vertices_and_of_corners_survive(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for fields in (
        {"uv": rng.random((12, 2))},
        {"uv": rng.random((5, 2)), "uv_faces": rng.integers(0, 5, (10, 3))},
    ):
        sequence = blob(**fields)
        ply.write(sequence, tmp_path / "blob.ply")
        back = ply.read(tmp_path / "blob.ply")
        assert back.uv is not None
        assert sequence.uv is not None
        np.testing.assert_array_equal(back.uv[back.uv_faces], sequence.uv[sequence.uv_faces])


def test_units_and_up_axis_survive(tmp_path: Path) -> None:
    sequence = blob(dtype=np.float32).with_convention(unit="cm", up="z")
    ply.write(sequence, tmp_path / "blob.ply")
    raw = trimesh.load(tmp_path / "blob.ply", process=False).vertices
    x, y, z = sequence.vertices[0, 0] * 100
    np.testing.assert_allclose(raw[0], [x, -z, y], rtol=1e-6)
    back = ply.read(tmp_path / "blob.ply")
    assert back.convention == sequence.convention
    assert back.vertices.dtype == np.float32
    np.testing.assert_allclose(back.vertices, sequence.vertices, rtol=1e-6)
    np.testing.assert_array_equal(ply.read(tmp_path / "blob.ply", unit="m", up="y").vertices[0], raw)


def test_an_independent_reader_sees_the_same_mesh(tmp_path: Path) -> None:
    colours = np.random.default_rng(3).integers(0, 256, (12, 3)) / 255
    for dtype in (np.float64, np.float32):
        sequence = blob(dtype=dtype, colours=colours)
        ply.write(sequence, tmp_path / "blob.ply")
        theirs = trimesh.load(tmp_path / "blob.ply", process=False)
        np.testing.assert_array_equal(theirs.vertices, sequence.vertices[0])
        np.testing.assert_array_equal(theirs.faces, sequence.faces)
        np.testing.assert_array_equal(theirs.visual.vertex_colors[:, :3], np.rint(colours * 255))


@pytest.mark.parametrize("encoding", ["ascii", "binary_little_endian"])
def test_we_read_what_an_independent_writer_writes(tmp_path: Path, encoding: str) -> None:
    ball = trimesh.creation.icosphere(subdivisions=2)
    ball.visual.vertex_colors = np.random.default_rng(0).integers(0, 256, (len(ball.vertices), 4))
    data = trimesh.exchange.ply.export_ply(ball, encoding=encoding.removesuffix("_little_endian"))
    mesh = ply.read(written(tmp_path, data))
    theirs = trimesh.load(tmp_path / "mesh.ply", process=False)
    np.testing.assert_array_equal(mesh.vertices[0], theirs.vertices)
    np.testing.assert_array_equal(mesh.faces, ball.faces)
    np.testing.assert_allclose(mesh.colours, ball.visual.vertex_colors[:, :3] / 255)


def test_a_texture_travels_with_the_mesh(tmp_path: Path) -> None:
    uv = np.random.default_rng(0).random((12, 2))
    ply.write(blob(2, uv=uv, textures=(PNG,)), tmp_path / "walk_%02d.ply")
    back = ply.read(tmp_path)
    assert [t.encoded() for t in back.textures] == [PNG.encoded()]
    (tmp_path / "sub").mkdir()
    data = (tmp_path / "walk_00.ply").read_bytes().replace(b"walk_texture", b"../walk_texture")
    assert ply.read(written(tmp_path / "sub", data)).textures == ()


def test_a_frame_of_other_connectivity_is_named(tmp_path: Path) -> None:
    written(tmp_path, SQUARE, "f0.ply")
    written(tmp_path, SQUARE.replace("4 0 1 2 3", "4 0 1 3 2"), "f1.ply")
    with pytest.raises(FormatError, match=r"f1\.ply: its faces differ from those of f0\.ply"):
        ply.read(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("ply\n", "plY\n", 1, "first line is not 'ply'"),
        ("end_header", "end_heade", 1, "does not end"),
        ("format ascii 1.0\n", "", 2, "no format"),
        ("format ascii", "format latin", 2, "no header line we know"),
        ("element vertex 4", "element vertex four", 3, "no header line we know"),
        ("element vertex 4", "element vertex -4", 3, "no header line we know"),
        ("property float x", "property quux x", 4, "no header line we know"),
        ("property float x", "property float a", 3, "no x, y and z"),
        ("list uchar int vertex_indices", "list uchar int corners", 7, "no list 'vertex_indices'"),
        ("list uchar", "list float", 8, "cannot be counted"),
        ("element vertex 4", "element vertex 5", 14, "the line has 5 numbers, a 'vertex' row takes 3"),
        ("element vertex 4", "element vertex 3", 13, "the line has 3 numbers, a 'face' row takes 1"),
        ("element vertex 4", "element vertex 99999999", 14, "the line has 5 numbers"),
        ("element face 1", "element face 2", 7, "2 rows of 'face' are declared, 1 are there"),
        ("element face 1", "element face 99999999999999", 7, "1 are there"),
        ("1 1 0\n", "1 1\n", 12, "the line has 2 numbers, a 'vertex' row takes 3"),
        ("1 1 0\n", "1 nan 0\n", 12, "expected a number, found 'nan'"),
        ("1 1 0\n", "1 1,0 0\n", 12, "expected a number"),
        ("4 0 1 2 3", "5 0 1 2 3", 14, "the line has 5 numbers, a 'face' row takes 6"),
        ("4 0 1 2 3", "3 0 1 2 3", 14, "the line has 5 numbers, a 'face' row takes 4"),
        ("4 0 1 2 3", "-1 0 1 2 3", 14, "the line has 5 numbers, a 'face' row takes 1"),
        ("4 0 1 2 3", "2 0 1", None, "face 0 has 2 corners"),
        ("4 0 1 2 3", "4 0 1 2 4", None, "the corner 4, which is none of the 4 vertices"),
        ("4 0 1 2 3", "4 0 1 2 -1", None, "the corner -1"),
        ("4 0 1 2 3", "4 0 1 2 1.5", None, r"the corner 1\.5"),
    ],
)
def test_errors_in_text_say_what_and_where(
    tmp_path: Path, old: str, new: str, line: int | None, message: str
) -> None:
    assert old in SQUARE
    with pytest.raises(FormatError, match=message) as error:
        ply.read(written(tmp_path, SQUARE.replace(old, new, 1)))
    if line is not None:
        assert error.value.line == line


def test_a_binary_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    ply.write(blob(uv=np.random.default_rng(0).random((12, 2))), tmp_path / "blob.ply")
    data = (tmp_path / "blob.ply").read_bytes()
    for length in range(1, len(data)):
        with pytest.raises(FormatError):
            ply.parse(data[:length], tmp_path / "blob.ply")
    with pytest.warns(MareyWarning, match="more follows the rows"):
        surplus = ply.parse(data + b"surplus", tmp_path / "blob.ply")
    assert np.array_equal(surplus.vertices, ply.parse(data, tmp_path / "blob.ply").vertices)


def test_numbers_that_a_face_does_not_declare_are_left_out(tmp_path: Path) -> None:
    old, new = (
        "property list uchar int vertex_indices",
        "property list uchar int vertex_indices\nproperty int flag",
    )
    text = SQUARE.replace(old, new).replace("4 0 1 2 3", "4 0 1 2 3 7 9 1 1 1")
    with pytest.warns(MareyWarning, match="line 15: has more numbers than its row declares"):
        square = ply.read(written(tmp_path, text))
    assert square.faces.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_rows_that_the_header_does_not_declare_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_text(SQUARE + "3 0 1 2\n")
    with pytest.warns(MareyWarning, match="more follows the rows"):
        assert len(ply.read(tmp_path / "a.ply").faces) == 2


def test_declared_sizes_are_checked_before_memory_is_taken(tmp_path: Path) -> None:
    ply.write(blob(), tmp_path / "blob.ply")
    data = (tmp_path / "blob.ply").read_bytes()
    for rows in (b"element vertex 12", b"element face 10"):
        gigantic = data.replace(rows, rows.rsplit(b" ", 1)[0] + b" 90000000000000000")
        with pytest.raises(FormatError, match="are declared"):
            ply.parse(gigantic, tmp_path / "blob.ply")
    nothing = data.replace(b"element vertex", b"element void 90000000000000000\nelement vertex")
    assert len(ply.parse(nothing, tmp_path / "blob.ply").vertices) == 12


def test_values_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    sequence = blob(dtype=np.float32)
    ply.write(sequence, tmp_path / "blob.ply")
    data = (tmp_path / "blob.ply").read_bytes()
    third = sequence.vertices[0, 3].astype("<f4").tobytes()
    with pytest.raises(FormatError, match="vertex 3 are not finite"):
        ply.read(written(tmp_path, data.replace(third, struct.pack("<3f", 0, np.nan, 0))))


def test_several_frames_need_a_numbered_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"blob_%04d\.ply"):
        ply.write(blob(2), tmp_path / "blob.ply")
    assert list(tmp_path.iterdir()) == []


def test_a_real_human_survives(tmp_path: Path, data_dir: Path) -> None:
    human = marey.load(data_dir / "mesh4d" / "mpfb2_human_CC0" / "base.obj", unit="dm")
    marey.save(human, tmp_path / "human.ply")
    back = marey.load(tmp_path / "human.ply")
    np.testing.assert_allclose(back.vertices, human.vertices, atol=1e-15)
    np.testing.assert_array_equal(back.faces, human.faces)
    np.testing.assert_array_equal(back.uv[back.uv_faces], human.uv[human.uv_faces])
