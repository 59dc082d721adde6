"""USD in: what Pixar's library wrote, in any unit, axis and shape of face."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import marey
from marey.errors import FormatError, MareyError, MareyWarning
from marey.geometry.mesh import fans
from marey.io import usd
from marey.io.usd import read_meshes
from marey.surface import MeshSequence
from marey.surface.sequence import Texture
from tests.io.test_usd import skinned_leg

pytest.importorskip("pxr")
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade

ASKED = {"frame_rate": None, "unit": None, "up": None}
RNG = np.random.default_rng(0)
MESH = MeshSequence(
    RNG.normal(size=(3, 6, 3)).astype(np.float32),
    RNG.integers(0, 6, (7, 3)),
    25.0,
    uv=RNG.random((5, 2)),
    uv_faces=RNG.integers(0, 5, (7, 3)),
    colours=RNG.random((6, 3)),
    name="blob",
)


def quads(path: Path, *, up: str = "Z", metres: float = 0.01) -> Usd.Stage:
    """A square of one quad that rises 10 units a time code, below a prim that moves along x."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    stage.SetTimeCodesPerSecond(24)
    top = UsdGeom.Xform.Define(stage, "/top")
    top.AddTranslateOp().Set(Gf.Vec3d(100, 0, 0))
    mesh = UsdGeom.Mesh.Define(stage, "/top/square")
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    for code in range(4):
        mesh.GetPointsAttr().Set(
            [Gf.Vec3f(*map(float, p)) for p in square + np.array([0, 0, 10 * code])], code
        )
    mesh.GetFaceVertexCountsAttr().Set([4])
    mesh.GetFaceVertexIndicesAttr().Set([0, 1, 2, 3])
    return stage


def test_a_sequence_comes_back_whole(tmp_path: Path) -> None:
    for ending in (".usda", ".usdc"):
        marey.save(MESH, tmp_path / f"a{ending}")
        back = marey.load(tmp_path / f"a{ending}")
        np.testing.assert_array_equal(back.vertices, MESH.vertices)
        np.testing.assert_array_equal(back.faces, MESH.faces)
        np.testing.assert_allclose(back.uv[back.uv_faces], MESH.uv[MESH.uv_faces], atol=1e-6)
        np.testing.assert_allclose(back.colours, MESH.colours, atol=1e-5)
        assert (back.frame_rate, back.name) == (25.0, "blob")


def test_units_axes_quads_and_moving_prims_are_understood(tmp_path: Path) -> None:
    stage = quads(tmp_path / "a.usda")
    stage.GetRootLayer().Save()
    mesh = read_meshes(tmp_path / "a.usda", **ASKED)
    assert (mesh.frames, mesh.frame_rate, mesh.faces.tolist()) == (4, 24.0, [[0, 1, 2], [0, 2, 3]])
    np.testing.assert_allclose(mesh.vertices[3, 2], [1.01, 0.3, -0.01], atol=1e-6)
    mesh = read_meshes(tmp_path / "a.usda", frame_rate=48, unit="m", up="y")
    assert mesh.frames == 7
    np.testing.assert_allclose(mesh.vertices[1, 0], [100, 0, 5], atol=1e-5)


def test_left_handed_faces_are_turned_over(tmp_path: Path) -> None:
    stage = quads(tmp_path / "a.usda")
    UsdGeom.Mesh.Get(stage, "/top/square").GetOrientationAttr().Set(UsdGeom.Tokens.leftHanded)
    stage.GetRootLayer().Save()
    assert read_meshes(tmp_path / "a.usda", **ASKED).faces.tolist() == [[0, 2, 1], [0, 3, 2]]


def test_several_meshes_become_one(tmp_path: Path) -> None:
    stage = quads(tmp_path / "a.usda")
    Sdf.CopySpec(stage.GetRootLayer(), "/top/square", stage.GetRootLayer(), "/top/other")
    stage.GetRootLayer().Save()
    mesh = read_meshes(tmp_path / "a.usda", **ASKED)
    assert mesh.vertices.shape == (4, 8, 3)
    assert mesh.faces.max() == 7


def test_skinned_meshes_move_with_their_skeleton(tmp_path: Path) -> None:
    leg = skinned_leg()
    usd.write(leg, tmp_path / "leg.usdc")
    back = read_meshes(tmp_path / "leg.usdc", **ASKED)
    np.testing.assert_allclose(back.vertices, leg.pose().vertices, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.GetPointsAttr().Set([Gf.Vec3f(0)] * 3, 2), "has 3 points at time code 2 and 4 at first"),
        (lambda m: m.GetFaceVertexIndicesAttr().Set([0, 1, 2, 9]), "points that are not there"),
        (lambda m: m.GetFaceVertexCountsAttr().Set([3, 3]), "do not fit together"),
        (lambda m: [m.GetFaceVertexIndicesAttr().Set([0, 1, 2, i], i) for i in (2, 3)], "change over time"),
        (lambda m: m.GetPrim().SetActive(False), "holds no mesh"),
    ],
)
def test_stages_that_are_no_sequence_say_why(tmp_path: Path, change: object, message: str) -> None:
    stage = quads(tmp_path / "a.usda")
    change(UsdGeom.Mesh.Get(stage, "/top/square"))  # type: ignore[operator]
    stage.GetRootLayer().Save()
    with pytest.raises(FormatError, match=message):
        read_meshes(tmp_path / "a.usda", **ASKED)


def test_damaged_files_give_one_clear_line(tmp_path: Path) -> None:
    usd.write(MESH, tmp_path / "a.usdc")
    good = (tmp_path / "a.usdc").read_bytes()
    for number, data in enumerate((good[: len(good) // 2], b"PXR-USDC" + bytes(200), b"#usda 1.0\nnonsense")):
        file = tmp_path / f"bad{number}.usd"
        file.write_bytes(data)
        for read in (read_meshes, lambda path, **_: marey.load(path)) if number == 0 else (read_meshes,):
            with pytest.raises(MareyError) as caught:
                read(file, **ASKED)
            assert "\n" not in str(caught.value)
            assert str(caught.value).count(f"{file}") == 1


def test_polygons_are_cut_into_fans() -> None:
    assert fans(np.array([2, 5, 0, 3])).tolist() == [[2, 3, 4], [2, 4, 5], [2, 5, 6], [7, 8, 9]]


def test_a_clip_keeps_its_rate_and_length(tmp_path: Path) -> None:
    walk = marey.samples.walk()
    marey.save(walk, tmp_path / "walk.usda")
    back = marey.load(tmp_path / "walk.usda")
    assert (back.frames, back.frame_rate) == (walk.frames, walk.frame_rate)


def test_few_keys_are_interpolated(tmp_path: Path) -> None:
    stage = quads(tmp_path / "turn.usda", up="Y", metres=1.0)
    mesh = UsdGeom.Mesh.Get(stage, "/top/square")
    mesh.GetPointsAttr().Clear()
    mesh.GetPointsAttr().Set([Gf.Vec3f(1, 0, 0), Gf.Vec3f(0, 1, 0), Gf.Vec3f(0, 0, 1), Gf.Vec3f(0, 0, 0)])
    turn = UsdGeom.Xform.Get(stage, "/top").AddRotateYOp()
    turn.Set(0.0, 0)
    turn.Set(360.0, 96)
    stage.Save()
    sequence = read_meshes(tmp_path / "turn.usda", **ASKED)
    assert (sequence.frames, sequence.frame_rate) == (97, 24.0)
    np.testing.assert_allclose(sequence.vertices[24, 0], [100, 0, -1], atol=1e-4)


def test_what_is_hidden_or_mirrored_is_read_as_it_looks(tmp_path: Path) -> None:
    stage = quads(tmp_path / "a.usda", metres=float(np.float32(0.01)))
    UsdGeom.Xform.Get(stage, "/top").AddScaleOp().Set(Gf.Vec3f(-1, 1, 1))
    other = UsdGeom.Mesh.Define(stage, "/hidden")
    other.GetPointsAttr().Set([Gf.Vec3f(0, 0, 0)] * 3)
    other.GetVisibilityAttr().Set(UsdGeom.Tokens.invisible)
    stage.Save()
    sequence = read_meshes(tmp_path / "a.usda", **ASKED)
    assert sequence.convention.unit == 0.01
    assert sequence.vertices.shape[1] == 4
    assert sequence.faces.tolist() == [[0, 2, 1], [0, 3, 2]]


def test_a_stage_without_time_is_refused_by_name(tmp_path: Path) -> None:
    quads(tmp_path / "a.usda").Save()
    text = (tmp_path / "a.usda").read_text()
    (tmp_path / "a.usda").write_text(text.replace("timeCodesPerSecond = 24", "timeCodesPerSecond = 0"))
    with pytest.raises(FormatError, match="its timeCodesPerSecond is 0"):
        read_meshes(tmp_path / "a.usda", **ASKED)


def test_a_package_is_read_like_its_stage(tmp_path: Path) -> None:
    from pxr import UsdUtils

    marey.save(MESH, tmp_path / "a.usdc")
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "a.usdc"), str(tmp_path / "a.usdz"))
    np.testing.assert_array_equal(marey.load(tmp_path / "a.usdz").vertices, MESH.vertices)
    with zipfile.ZipFile(tmp_path / "b.usdz", "w") as package:
        package.writestr("note.txt", "no layer")
    with pytest.raises(FormatError, match="no USD layer at its beginning"):
        marey.load(tmp_path / "b.usdz")


def painted(folder: Path, colour: tuple[int, int, int]) -> Texture:
    """An image of one colour in a folder."""
    name = folder / f"{'_'.join(map(str, colour))}.png"
    Image.new("RGB", (4, 4), colour).save(name)
    return Texture(name)


def test_an_image_goes_beside_the_layer_and_into_its_package(tmp_path: Path) -> None:
    from pxr import UsdUtils

    red = painted(tmp_path, (255, 0, 0))
    home = tmp_path / "home"
    home.mkdir()
    marey.save(replace(MESH, textures=(red,)), home / "a.usdc")
    assert {"a.usdc", "a_texture.png"} <= {file.name for file in home.iterdir()}
    assert UsdUtils.CreateNewUsdzPackage(str(home / "a.usdc"), str(tmp_path / "a.usdz"))
    for file in (home / "a.usdc", tmp_path / "a.usdz"):
        back = marey.load(file)
        np.testing.assert_array_equal(back.texture(0).read(), red.read())
        np.testing.assert_allclose(back.uv[back.uv_faces], MESH.uv[MESH.uv_faces], atol=1e-6)
    with pytest.warns(MareyWarning, match="first frame"):
        marey.save(replace(MESH, textures=(red, painted(tmp_path, (0, 0, 9)), red)), home / "b.usda")
    (home / "b_texture.png").unlink()
    with pytest.warns(MareyWarning, match="is missing"):
        assert marey.load(home / "b.usda").textures == ()


def test_materials_of_parts_of_a_mesh_become_one_image(tmp_path: Path) -> None:
    stage = quads(tmp_path / "a.usda")
    mesh = UsdGeom.Mesh.Get(stage, "/top/square")
    mesh.GetFaceVertexCountsAttr().Set([3, 3])
    mesh.GetFaceVertexIndicesAttr().Set([0, 1, 2, 0, 2, 3])
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim())
    for face, colour in enumerate([(1.0, 0.0, 0.0), (0.0, 0.0, 1.0)]):
        material = UsdShade.Material.Define(stage, f"/top/material{face}")
        shader = UsdShade.Shader.Define(stage, f"/top/material{face}/surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(colour)
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        subset = UsdShade.MaterialBindingAPI(mesh).CreateMaterialBindSubset(f"part{face}", [face])
        UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(material)
    stage.GetRootLayer().Save()
    back = marey.load(tmp_path / "a.usda")
    image = back.texture(0).read()
    high, wide = image.shape[:2]
    at = back.uv[back.uv_faces].mean(axis=1)
    seen = [image[int((1 - v) * high), int(u * wide)].tolist() for u, v in at]
    assert seen == [[255, 0, 0], [0, 0, 255]]


def test_what_lies_outside_the_folder_of_a_stage_is_not_opened(tmp_path: Path) -> None:
    others = [quads(tmp_path / "square.usda")]
    home = tmp_path / "home"
    home.mkdir()
    others.append(quads(home / "own.usda"))
    for stage in others:
        stage.GetRootLayer().Save()
    for name, assets in (("both", ("own.usda", "../square.usda")), ("none", ("../square.usda",))):
        stage = Usd.Stage.CreateNew(str(home / f"{name}.usda"))
        for number, asset in enumerate(assets):
            stage.DefinePrim(f"/part{number}").GetReferences().AddReference(asset, "/top")
        stage.GetRootLayer().Save()
    with pytest.warns(MareyWarning, match=r"'\.\./square\.usda', outside its folder, which is not opened"):
        assert len(marey.load(home / "both.usda").faces) == 2
    with pytest.raises(FormatError, match=r"holds no mesh; refers to '\.\./square\.usda', outside"):
        marey.load(home / "none.usda")
    assert "../square.usda" in (home / "none.usda").read_text()


def test_shapes_that_are_no_meshes_are_named(tmp_path: Path) -> None:
    stage = Usd.Stage.CreateNew(str(tmp_path / "a.usda"))
    UsdGeom.Sphere.Define(stage, "/ball")
    stage.GetRootLayer().Save()
    with pytest.raises(FormatError, match="holds no mesh, but a Sphere, which is not read"):
        marey.load(tmp_path / "a.usda")
