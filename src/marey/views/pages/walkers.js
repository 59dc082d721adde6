// Many whole bodies that walk: one skinned mesh, fine and coarse, each drawn once for everyone, bones from a texture.

import {
  BufferAttribute, Color, DataTexture, DynamicDrawUsage, FloatType, Group, InstancedBufferAttribute,
  InstancedBufferGeometry, Matrix4, Mesh, MeshLambertMaterial, NearestFilter, RGBAFormat,
} from "three";
import { around, array, floats } from "./arrays.js";
import { blobs } from "./people.js";
import { Chain } from "./walkers_chain.js";

// Metres about a person within which all of him is.
const ROUND = 1.3;

/**
 * spec: {levels, stature, parents, offsets, bind, sizes, outfits, outfit, present, tracks, roots, root_unit}.
 * levels: meshes, the finest first, each {vertices, normals, faces, part, joints, weights, pulls, tall}, drawn for
 * those who are at least `tall` pixels on the screen, with the `pulls` strongest joints of each vertex.
 * tracks, roots, bind: see Chain.
 */
export async function walkersLayer(spec, { clock, stage }) {
  const chain = await Chain.of(spec);
  const { people, frames } = chain;
  const texture = new DataTexture(chain.bones, 2 * chain.joints, people, RGBAFormat, FloatType);
  const dresses = wardrobe(spec.outfits);
  const levels = await Promise.all(spec.levels.map((level) => bodies(level, people, texture, dresses)));
  const shadows = blobs(people);
  const [present, sizes] = await Promise.all([array(spec.present), floats(spec.sizes)]);
  const group = new Group();
  group.add(...levels.map((level) => level.mesh), shadows);
  // Everyone has a shadow of his own: none is cast.
  stage.sun.castShadow = stage.catcher.visible = false;

  const seen = new Matrix4();
  const discs = shadows.instanceMatrix.array;

  /** Poses everyone whom the camera sees, in a mesh as fine as he is tall on the screen. */
  function pose(frame, camera, height) {
    const m = seen.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse).elements;
    const [across, upright] = [camera.projectionMatrix.elements[0], camera.projectionMatrix.elements[5]];
    const pixels = 0.5 * height * upright * spec.stature;
    const shown = people * Math.min(Math.round(frame), frames - 1);
    for (const level of levels) level.count = 0;
    let count = 0;
    chain.goTo(frame);
    for (let person = 0; person < people; person++) {
      if (!present[shown + person]) continue;
      const size = sizes[person];
      const x = chain.root(person, 0), y = chain.root(person, 1), z = chain.root(person, 2);
      const away = m[3] * x + m[7] * y + m[11] * z + m[15];
      if (away < -ROUND) continue;
      if (Math.abs(m[0] * x + m[4] * y + m[8] * z + m[12]) > away + across * ROUND + ROUND) continue;
      if (Math.abs(m[1] * x + m[5] * y + m[9] * z + m[13]) > away + upright * ROUND + ROUND) continue;
      const tall = pixels * size;
      let n = 0;
      while (n < levels.length - 1 && tall < levels[n].tall * away) n++;
      const level = levels[n];
      level.who[2 * level.count] = person;
      level.who[2 * level.count + 1] = spec.outfit[person];
      level.count++;
      disc(discs, 16 * count, size, x, z);
      count++;
      chain.pose(person, size);
    }
    for (const level of levels) level.tell();
    shadows.count = count;
    shadows.instanceMatrix.needsUpdate = true;
    texture.needsUpdate = true;
  }

  let next = clock.frame;
  stage.scene.onBeforeRender = (renderer, scene, camera) => {
    pose(next, camera, renderer.domElement.height);
  };
  return { object: group, update: (frame) => { next = frame; }, options: [] };
}

function disc(matrices, at, size, x, z) {
  matrices[at] = matrices[at + 5] = matrices[at + 10] = size;
  matrices[at + 12] = x;
  matrices[at + 14] = z;
  matrices[at + 15] = 1;
}

/** A mesh, and for whom it is drawn. */
async function bodies(level, people, texture, dresses) {
  const [vertices, normals, faces, part, joints, weights] = await Promise.all([
    floats(level.vertices), floats(level.normals), array(level.faces), array(level.part), array(level.joints),
    floats(level.weights),
  ]);
  const geometry = new InstancedBufferGeometry();
  geometry.setIndex(new BufferAttribute(faces, 1));
  geometry.setAttribute("position", new BufferAttribute(vertices, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  geometry.setAttribute("part", new BufferAttribute(Float32Array.from(part), 1));
  geometry.setAttribute("bone", new BufferAttribute(Float32Array.from(joints), 4));
  geometry.setAttribute("pull", new BufferAttribute(weights, 4));
  const who = new InstancedBufferAttribute(new Float32Array(2 * people), 2).setUsage(DynamicDrawUsage);
  geometry.setAttribute("who", who);
  geometry.instanceCount = 0;
  const material = new MeshLambertMaterial();
  material.defines = { PULLS: level.pulls };
  material.onBeforeCompile = (shader) => {
    shader.uniforms.bones = { value: texture };
    shader.uniforms.outfits = { value: dresses };
    dressed(shader);
  };
  const mesh = new Mesh(geometry, material);
  mesh.frustumCulled = false;
  return {
    mesh,
    who: who.array,
    tall: level.tall,
    count: 0,
    tell() {
      geometry.instanceCount = this.count;
      mesh.visible = this.count > 0;
      who.needsUpdate = true;
    },
  };
}

/** Colours as a texture: a row an outfit, a column a part of it. */
function wardrobe(outfits) {
  const parts = outfits[0].length;
  const values = new Float32Array(4 * parts * outfits.length);
  outfits.forEach((outfit, row) => outfit.forEach((colour, column) => {
    new Color(colour).toArray(values, 4 * (parts * row + column));
  }));
  const texture = new DataTexture(values, parts, outfits.length, RGBAFormat, FloatType);
  texture.minFilter = texture.magFilter = NearestFilter;
  texture.needsUpdate = true;
  return texture;
}

function dressed(shader) {
  shader.vertexShader = shader.vertexShader
    .replace("#include <common>", `#include <common>
      attribute vec4 bone, pull; attribute vec2 who; attribute float part; varying vec3 dress;
      uniform highp sampler2D bones, outfits;
      vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
      vec4 posed[PULLS]; vec4 placed[PULLS];
      void look() {
        for (int n = 0; n < PULLS; n++) {
          ivec2 at = ivec2(2 * int(bone[n]), int(who.x));
          posed[n] = texelFetch(bones, at, 0); placed[n] = texelFetch(bones, at + ivec2(1, 0), 0);
        } }`)
    .replace("#include <beginnormal_vertex>", `look(); vec3 objectNormal = vec3(0.0);
      for (int n = 0; n < PULLS; n++) objectNormal += pull[n] * turned(posed[n], normal);
      dress = texelFetch(outfits, ivec2(int(part), int(who.y)), 0).rgb;`)
    .replace("#include <begin_vertex>", `vec3 transformed = vec3(0.0);
      for (int n = 0; n < PULLS; n++)
        transformed += pull[n] * (turned(posed[n], placed[n].w * position) + placed[n].xyz);`);
  shader.fragmentShader = shader.fragmentShader
    .replace("#include <common>", "#include <common>\nvarying vec3 dress;")
    .replace("#include <color_fragment>", "diffuseColor.rgb = dress;");
}
