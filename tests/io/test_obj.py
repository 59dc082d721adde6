from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import trimesh

import marey
from marey.errors import FormatError, InputError, MareyWarning
from marey.io import obj
from marey.surface import MeshSequence, Texture

SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
PNG = Texture.from_image(np.zeros((2, 2, 3), dtype=np.uint8))


def written(folder: Path, text: str | bytes, name: str = "mesh.obj") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def blob(frames: int = 3, dtype: type = np.float64, **fields: object) -> MeshSequence:
    """A noisy tetrahedral strip whose vertices move at random."""
    rng = np.random.default_rng(7)
    faces = np.stack([np.arange(10), np.arange(10) + 1, np.arange(10) + 2], axis=1)
    return MeshSequence(rng.normal(size=(frames, 12, 3)).astype(dtype), faces, 24.0, **fields)


@pytest.mark.parametrize(
    "corners",
    [
        "1 2 3 4",
        "1/1 2/2 3/3 4/4",
        "1//9 2//9 3//9 4//9",
        "1/1/9 2/2/9 3/3/9 4/4/9",
        "-4 -3 -2 -1",
        "-4/-4 -3/-3 -2/-2 -1/-1",
        "1/ 2/ 3/ 4/",
        "1 2 3 \\\n 4",
        "1 2 3\\\r\n4",
        "1 2 3 4 # a square",
        "\t1  2\t3 4  ",
    ],
)
def test_every_way_to_write_a_square(tmp_path: Path, corners: str) -> None:
    text = SQUARE + "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\n" + f"f {corners}\n"
    mesh = obj.read(written(tmp_path, text))
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    if "/1" in corners or "/-" in corners:
        assert mesh.uv is not None
        assert mesh.uv_faces is not None
        assert mesh.uv.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]
        assert mesh.uv_faces.tolist() == mesh.faces.tolist()
    else:
        assert mesh.uv is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_comments_and_other_statements_do_not_matter(tmp_path: Path, end: str) -> None:
    lines = ["# made by hand", "o thing", "g a b", "s off", "", "vp 0 1", "usemtl x", "l 1 2", "vn 0 0 1"]
    text = end.join([*lines, *SQUARE.splitlines(), "f 1 2 3", *lines, "f 1 3 4"])
    mesh = obj.read(written(tmp_path, text))
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert mesh.vertices[0, 2].tolist() == [1, 1, 0]


def test_negative_corners_count_back_from_where_they_stand(tmp_path: Path) -> None:
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 5 0 0\nv 6 0 0\nv 5 1 0\nf -3 -2 -1\n"
    assert obj.read(written(tmp_path, text)).faces.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_polygons_become_fans(tmp_path: Path) -> None:
    circle = "".join(f"v {np.cos(a):.6f} {np.sin(a):.6f} 0\n" for a in range(7))
    mesh = obj.read(written(tmp_path, circle + "f 1 2 3 4 5 6 7\nf 1 2 3\n"))
    assert mesh.faces.tolist() == [[0, i, i + 1] for i in range(1, 6)] + [[0, 1, 2]]


def test_numbers_are_those_of_python_bit_by_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.normal(size=500) * 10.0 ** rng.integers(-300, 300, 500), [5e-324, 1e308, 0.1, -0.0]]
    )
    texts = [repr(float(v)) for v in values] + ["1", "+1.", ".5", "1E-3", "0." + "1234567890" * 5]
    texts += ["0"] * (-len(texts) % 3)
    lines = [f"v {a} {b} {c}" for a, b, c in zip(texts[::3], texts[1::3], texts[2::3], strict=True)]
    mesh = obj.read(written(tmp_path, "\n".join(lines)))
    np.testing.assert_array_equal(mesh.vertices.ravel(), [float(t) for t in texts])


def test_colours_of_vertices_are_kept_in_0_to_1(tmp_path: Path) -> None:
    text = "v 0 0 0 1 0.5 0\nv 1 0 0 0 0 1\nv 0 1 0\nf 1 2 3\n"
    colours = obj.read(written(tmp_path, text)).colours
    assert colours is not None
    assert colours.tolist() == [[1, 0.5, 0], [0, 0, 1], [1, 1, 1]]
    bytes_ = obj.read(written(tmp_path, "v 0 0 0 255 51 0\n")).colours
    assert bytes_ is not None
    assert bytes_.tolist() == [[1, 0.2, 0]]
    assert obj.read(written(tmp_path, "v 0 0 0 1\n")).colours is None  # that is a weight


def test_corners_without_texture_coordinates_get_one_of_their_own(tmp_path: Path) -> None:
    text = SQUARE + "vt 0.25 0.5\nf 1/1 2/1 3/1\nf 1 3 4\n"
    mesh = obj.read(written(tmp_path, text))
    assert mesh.uv is not None
    assert mesh.uv_faces is not None
    assert mesh.uv_faces.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert mesh.uv.tolist() == [[0.25, 0.5], [0, 0]]


def test_units_and_up_axis_are_converted_and_remembered(tmp_path: Path) -> None:
    mesh = obj.read(written(tmp_path, "v 10 20 30\n"), unit="cm", up="z")
    np.testing.assert_allclose(mesh.vertices[0, 0], [0.1, 0.3, -0.2])
    obj.write(mesh, tmp_path / "again.obj")
    again = obj.read(tmp_path / "again.obj")
    assert again.convention == mesh.convention
    np.testing.assert_allclose(again.vertices, mesh.vertices, atol=1e-15)
    np.testing.assert_allclose(trimesh.load(tmp_path / "again.obj").vertices[0], [10, 20, 30])
    obj.write(mesh, tmp_path / "plain.obj", unit="m", up="y")
    np.testing.assert_allclose(trimesh.load(tmp_path / "plain.obj").vertices[0], [0.1, 0.3, -0.2])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_written_is_what_is_read(tmp_path: Path, dtype: type) -> None:
    uv = np.random.default_rng(1).random((5, 2))
    uv_faces = np.random.default_rng(2).integers(0, 5, (10, 3))
    colours = np.round(np.random.default_rng(3).random((12, 3)), 4)
    sequence = blob(4, dtype, uv=uv, uv_faces=uv_faces, colours=colours)
    marey.save(sequence, tmp_path / "frames" / "blob_%03d.obj")
    names = sorted(f.name for f in (tmp_path / "frames").glob("*.obj"))
    assert names == [f"blob_{i:03d}.obj" for i in range(4)]
    for place in (tmp_path / "frames", tmp_path / "frames" / "blob_%03d.obj"):
        back = marey.load(place)
        np.testing.assert_array_equal(back.vertices.astype(dtype), sequence.vertices)
        np.testing.assert_array_equal(back.faces, sequence.faces)
        np.testing.assert_array_equal(back.uv, uv)
        np.testing.assert_array_equal(back.uv_faces, uv_faces)
        np.testing.assert_allclose(back.colours, colours, atol=1e-6)
        assert back.frame_rate == 24.0
    assert marey.load(tmp_path / "frames", frame_rate=60).frame_rate == 60


def test_an_independent_reader_sees_the_same_mesh(tmp_path: Path) -> None:
    for sequence in (blob(1), blob(1, uv=np.random.default_rng(0).random((12, 2)))):
        obj.write(sequence, tmp_path / "blob.obj")
        theirs = trimesh.load(tmp_path / "blob.obj", process=False, maintain_order=True)
        np.testing.assert_array_equal(theirs.vertices, sequence.vertices[0])
        np.testing.assert_array_equal(theirs.faces, sequence.faces)


def test_we_read_what_an_independent_writer_writes(tmp_path: Path) -> None:
    ball = trimesh.creation.icosphere(subdivisions=2)
    (tmp_path / "ball.obj").write_text(trimesh.exchange.obj.export_obj(ball, include_normals=True, digits=17))
    mesh = obj.read(tmp_path / "ball.obj")
    np.testing.assert_array_equal(mesh.vertices[0], ball.vertices)
    np.testing.assert_array_equal(mesh.faces, ball.faces)


def test_a_texture_travels_with_the_mesh(tmp_path: Path) -> None:
    uv = np.random.default_rng(0).random((12, 2))
    obj.write(blob(2, uv=uv, textures=(PNG,)), tmp_path / "a" / "walk_%02d.obj")
    names = sorted(f.name for f in (tmp_path / "a").glob("[!.]*"))
    assert names == ["walk.mtl", "walk_00.obj", "walk_01.obj", "walk_texture.png"]
    back = obj.read(tmp_path / "a")
    assert len(back.textures) == 1
    assert back.textures[0].encoded() == PNG.encoded()
    assert trimesh.load(tmp_path / "a" / "walk_00.obj").visual.material.image.size == (2, 2)

    second = Texture.from_image(np.full((2, 2, 3), 255, dtype=np.uint8))
    obj.write(blob(2, uv=uv, textures=(PNG, second)), tmp_path / "b" / "walk_%02d.obj")
    back = obj.read(tmp_path / "b")
    assert [t.encoded() for t in back.textures] == [PNG.encoded(), second.encoded()]


def test_textures_are_found_beside_the_mesh_and_nowhere_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "maps").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(PNG.encoded())
    (home / "maps" / "skin 1.png").write_bytes(PNG.encoded())
    file = written(home, "mtllib my skin.mtl\n" + SQUARE + "f 1 2 3\n")

    def texture_for(line: str) -> Path | None:
        written(home, f"newmtl a\nKd 1 1 1\n{line}\n", "my skin.mtl")
        textures = obj.read(file).textures
        return textures[0].path if textures else None

    inside = (home / "maps" / "skin 1.png").resolve()
    assert texture_for("map_Kd maps/skin 1.png") == inside
    assert texture_for("map_Kd maps\\skin 1.png") == inside
    assert texture_for("map_Kd ../secret.png") is None
    assert texture_for(f"map_Kd {tmp_path / 'secret.png'}") is None
    assert texture_for("map_Kd nowhere.png") is None
    (home / "secret.png").symlink_to(tmp_path / "secret.png")
    assert texture_for("map_Kd secret.png") is None
    shutil.copy(inside, home / "skin.png")
    assert texture_for("map_Kd -s 1 1 1 skin.png") == (home / "skin.png").resolve()
    assert texture_for(r"map_Kd C:\Users\me\skin.png") == (home / "skin.png").resolve()
    written(home, "mtllib ../other.mtl\n" + SQUARE)
    (tmp_path / "other.mtl").write_text("map_Kd skin.png\n")
    assert obj.read(file).textures == ()


@pytest.mark.parametrize("short", ["f 1 2", "f", "f 1// 2//"])
def test_faces_of_fewer_than_three_corners_are_left_out_with_a_note(tmp_path: Path, short: str) -> None:
    with pytest.warns(MareyWarning, match="line 5: a face needs three corners"):
        square = obj.read(written(tmp_path, SQUARE + f"{short}\nf 1 2 3\nf 1 3 4\n"))
    assert square.faces.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_frames_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 100):
        written(tmp_path, f"v {number} 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", f"f{number}.obj")
    assert obj.read(tmp_path).vertices[:, 0, 0].tolist() == [9, 10, 100]
    seen: list[tuple[int, int]] = []
    obj.read(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


TRIANGLES = SQUARE + "f 1 2 3\nf 1 3 4\n"


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n", "it has 3 vertices, 4 are in f0.obj"),
        (SQUARE + "v 2 2 2\nf 1 2 3\nf 1 3 4\n", "it has 5 vertices, 4 are in f0.obj"),
        (SQUARE + "f 1 2 3\nf 1 2 4\n", "its faces differ from those of f0.obj"),
        (SQUARE + "f 1 2 3\n", "its faces differ from those of f0.obj"),
        (SQUARE + "f 2 3 4\nf 1 2 3\nf 1 3 4\n", "its faces differ from those of f0.obj"),
        (SQUARE + "vt 0 0\nf 1/1 2/1 3/1\nf 1/1 3/1 4/1\n", "its texture faces differ"),
    ],
)
def test_a_frame_of_other_connectivity_is_named(tmp_path: Path, second: str, message: str) -> None:
    written(tmp_path, TRIANGLES, "f0.obj")
    written(tmp_path, TRIANGLES.replace("v 1 1 0", "v 1 1 1"), "f1.obj")
    written(tmp_path, second, "f2.obj")
    written(tmp_path, "v 1 2 3", "f3.obj")
    with pytest.raises(FormatError, match=message) as error:
        obj.read(tmp_path)
    assert error.value.path == str(tmp_path / "f2.obj")


def test_a_frame_of_other_texture_coordinates_is_named(tmp_path: Path) -> None:
    faces = "f 1/1 2/1 3/1\n"
    written(tmp_path, SQUARE + "vt 0 0\n" + faces, "f0.obj")
    written(tmp_path, SQUARE + "vt 0 0.5\n" + faces, "f1.obj")
    with pytest.raises(FormatError, match="its texture coordinates differ"):
        obj.read(tmp_path)


def test_the_same_faces_in_other_words_are_the_same_faces(tmp_path: Path) -> None:
    written(tmp_path, TRIANGLES, "f0.obj")
    written(tmp_path, SQUARE + "f -4 -3 -2\nf 1//1 3//1 4//1\n", "f1.obj")
    written(tmp_path, "# comment\n" + SQUARE + "f 1 2 3 4", "f2.obj")
    written(tmp_path, TRIANGLES.replace("v 1 1 0", "v 1 1 0 # corner\nvn 0 0 1"), "f3.obj")
    assert obj.read(tmp_path).frames == 4


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (SQUARE + "f 1 2 5\n", 5, "the corner '5' is none of the 4 vertices"),
        (SQUARE + "f 1 2 -5\n", 5, "the corner '-5' is none"),
        (SQUARE + "f 1 2 99999999999999999999\n", 5, "none of the 4 vertices"),
        (SQUARE + "vt 0 0\n\nf 1/1 2/2 3/1\n", 7, "none of the 1 texture coordinates"),
        (SQUARE + "f 1 2 0\n", 5, "expected a corner"),
        (SQUARE + "f 1 2 3x\n", 5, "expected a corner"),
        (SQUARE + "f 1 2 3/1/1/1\n", 5, "none of the 0 texture|expected a corner"),
        ("v 1 2\n", 1, "too few numbers"),
        ("v\n", 1, "too few numbers"),
        (SQUARE + "v 1 2 nan\n", 5, "expected a number, found 'nan'"),
        (SQUARE + "v 1 2 inf\n", 5, "expected a number, found 'inf'"),
        (SQUARE + "v 1 2 1e999\n", 5, "'1e999' is too large"),
        (SQUARE + "v 1,5 2 3\n", 5, "expected a number, found '1,5'"),
        (SQUARE + "f 1 \\\n 2 \\\r\n x\n", 7, "expected a corner"),
        ("v 0 0 0\r\nv 1 0 0\rv 1 1\r\n", 3, "too few numbers"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as error:
        obj.read(written(tmp_path, text))
    assert error.value.line == line


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\n\n# nothing\n", "no vertex"),
        (b"\x89PNG\r\n\x00\x00", "is binary"),
        (b"solid ascii stl", "no vertex"),
    ],
)
def test_files_that_are_no_obj_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        obj.read(written(tmp_path, data))


def test_missing_files_folders_and_patterns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        obj.read(tmp_path / "none.obj")
    with pytest.raises(FormatError, match="no such files"):
        obj.read(tmp_path / "none_%04d.obj")
    with pytest.raises(FormatError, match="no such files"):
        obj.read(tmp_path)


def test_several_frames_need_a_numbered_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"blob_%04d\.obj"):
        marey.save(blob(), tmp_path / "blob.obj")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        obj.write(blob(1), tmp_path / "missing" / "blob.obj")
    (tmp_path / "blob.obj").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        obj.write(blob(1), tmp_path / "blob.obj")
    broken = Texture(data=b"GIF89a")
    with pytest.raises(InputError, match="neither PNG nor JPEG"):
        obj.write(blob(2, textures=(broken,)), tmp_path / "x" / "blob_%d.obj")
    assert [f.name for f in tmp_path.iterdir()] == ["blob.obj"]


def test_a_captured_dancer_reads_as_her_archive_does(data_dir: Path) -> None:
    folder = data_dir / "mesh4d" / "vlasic_samba"
    frame = obj.read(folder / "mesh_0000.obj")
    archive = marey.load(folder / "samba_000_099_q16.npz")
    assert archive.vertices.shape == (100, 9971, 3)
    np.testing.assert_array_equal(frame.faces, archive.faces)
    assert np.abs(frame.vertices[0] - archive.vertices[0]).max() < 2e-5
    theirs = trimesh.load(folder / "mesh_0000.obj", process=False, maintain_order=True)
    np.testing.assert_array_equal(frame.vertices[0], theirs.vertices)
    np.testing.assert_array_equal(frame.faces, theirs.faces)


def test_a_human_of_quads_and_groups_reads_whole(data_dir: Path) -> None:
    human = obj.read(data_dir / "mesh4d" / "mpfb2_human_CC0" / "base.obj", unit="dm")
    assert human.vertices.shape == (1, 19158, 3)
    assert human.faces.shape == (2 * 18486, 3)
    assert human.uv is not None
    assert human.uv.shape == (21334, 2)
    low, high = human.bounds
    assert 1.6 < high[1] - low[1] < 1.8


def test_indices_of_texture_coordinates_that_are_nowhere_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(SQUARE + "f 1/1/1 2/2/1 3/3/1\n")
    mesh = obj.read(tmp_path / "a.obj")
    assert mesh.faces.tolist() == [[0, 1, 2]] and mesh.uv is None


def test_colours_that_are_not_numbers_are_white(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 0 0 0 1 0 0\nv 1 0 0 nan nan nan\nv 0 1 0 0 1 0\nf 1 2 3\n")
    assert obj.read(tmp_path / "a.obj").colours.tolist() == [[1, 0, 0], [1, 1, 1], [0, 1, 0]]


MATERIALS = "newmtl red\nKd 1 0 0\nnewmtl skin\nKd 0 0 0\nmap_Kd skin.png\nnewmtl sky\nmap_Kd sky.png\n"
COATED = "mtllib a.mtl b.mtl\nmtllib a.mtl\n" + SQUARE + "vt 0.25 0.25\nvt 0.75 0.25\nvt 0.25 0.75\n"


def coated(folder: Path, faces: str, name: str = "a.obj") -> Path:
    written(folder, MATERIALS, "a.mtl")
    for image, colour in (("skin", [0, 255, 0]), ("sky", [0, 0, 255])):
        texture = Texture.from_image(np.full((8, 8, 3), colour, np.uint8))
        (folder / f"{image}.png").write_bytes(texture.encoded())
    return written(folder, COATED + faces, name)


def middles(mesh: MeshSequence) -> list[list[int]]:
    """Of every face, the pixel of the texture in its middle."""
    assert mesh.uv is not None and mesh.uv_faces is not None
    image = mesh.textures[0].read()
    u, v = mesh.uv[mesh.uv_faces].mean(axis=1).T
    return image[((1 - v) * len(image)).astype(int), (u * image.shape[1]).astype(int)].tolist()


def test_several_materials_become_one_image(tmp_path: Path) -> None:
    faces = "usemtl red\nf 1 2 3\nusemtl skin\nf 1/1 2/2 3/3\nusemtl sky\nf 1/1 2/2 3/3 4/3\n"
    faces += "usemtl skin\nf 1 2 3\n"
    mesh = obj.read(coated(tmp_path, faces))
    green, blue = [0, 255, 0], [0, 0, 255]
    # A face without texture coordinates has the plain colour of its material.
    assert middles(mesh) == [[255, 0, 0], green, blue, blue, [255, 255, 255]]


def test_frames_with_several_materials_share_their_image(tmp_path: Path) -> None:
    faces = "usemtl skin\nf 1/1 2/2 3/3\nusemtl sky\nf 1/1 2/2 3/3\n"
    for number in range(3):
        coated(tmp_path, faces, f"f{number}.obj")
    mesh = obj.read(tmp_path)
    assert (mesh.frames, len(mesh.textures)) == (3, 1)
    assert middles(mesh) == [[0, 255, 0], [0, 0, 255]]


def test_one_material_with_an_image_stays_that_image(tmp_path: Path) -> None:
    mesh = obj.read(coated(tmp_path, "usemtl sky\nf 1/1 2/2 3/3\n"))
    assert mesh.textures[0].path == (tmp_path / "sky.png").resolve()
    assert mesh.uv is not None and len(mesh.uv) == 3


def test_plain_materials_are_colours_of_the_vertices_that_have_one(tmp_path: Path) -> None:
    written(tmp_path, "newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n", "a.mtl")
    points = "mtllib a.mtl\n" + "v 0 0 0\nv 1 0 0\nv 0 1 0\n" * 2
    file = written(tmp_path, points + "usemtl red\nf 1 2 3\nusemtl blue\nf 4 5 6\n")
    assert obj.read(file).colours.round(9).tolist() == [[1, 0, 0]] * 3 + [[0, 0, 1]] * 3
    file = written(tmp_path, points + "usemtl red\nf 1 2 3\nusemtl blue\nf 1 2 6\n")
    assert middles(obj.read(file)) == [[255, 0, 0], [0, 0, 255]]
