// Many whole bodies that walk: one skinned mesh, drawn once for everyone, bones from a texture.

import {
  BufferAttribute, BufferGeometry, Color, DataTexture, DoubleSide, FloatType, Group, InstancedBufferAttribute,
  InstancedMesh, Matrix4, MeshStandardMaterial, NearestFilter, RGBAFormat,
} from "three";
import { around, array, floats } from "./arrays.js";
import { blobs } from "./people.js";

/**
 * spec: {vertices, normals, faces, part, joints, weights, parents, offsets, bind, sizes, outfits, outfit, present,
 * tracks, roots, root_unit}. tracks: joints whose rotations are kept at one spacing, `{joints, spacing, turns}`;
 * turns (keys, people, joints, 4) are differences in time of quaternions x, y, z, w times any number; roots
 * (frames, people, 3) likewise, in units of `root_unit` metres. bind: (joints, 7), rotation x, y, z, w and place of
 * each joint at rest.
 */
export async function walkersLayer(spec, { clock }) {
  const people = spec.sizes.shape[0];
  const joints = spec.parents.length;
  const [sizes, offsets, bind, present, roots, ...turns] = await Promise.all([
    floats(spec.sizes), floats(spec.offsets), floats(spec.bind), array(spec.present),
    summed(spec.roots, Int32Array), ...spec.tracks.map((track) => summed(track.turns, Int16Array)),
  ]);
  const frames = spec.roots.shape[0];
  const bones = new Float32Array(people * joints * 8);
  const texture = new DataTexture(bones, 2 * joints, people, RGBAFormat, FloatType);
  const crowd = await bodies(spec, people, texture);
  const shadows = blobs(people);
  const group = new Group();
  group.add(crowd, shadows);

  const local = new Float32Array(4 * joints);
  const world = new Float32Array(7 * joints);
  const matrix = new Matrix4();

  /** Rotations of one person at a moment, x, y, z, w for each joint, into `local`. */
  function turn(person, frame) {
    spec.tracks.forEach((track, n) => {
      const [keys, , count] = track.turns.shape;
      const [a, b, t] = between(frame, track.spacing, keys, frames);
      const first = 4 * count * (people * a + person);
      const second = 4 * count * (people * b + person);
      for (let j = 0; j < count; j++) blend(turns[n], first + 4 * j, second + 4 * j, t, local, 4 * track.joints[j]);
    });
  }

  function update(frame) {
    const [a, b, t] = around(frame, frames);
    const shown = Math.min(Math.round(frame), frames - 1);
    for (let person = 0; person < people; person++) {
      const size = present[people * shown + person] ? sizes[person] : 0;
      const i = 3 * (people * a + person);
      const j = 3 * (people * b + person);
      const mix = (k) => spec.root_unit * ((1 - t) * roots[i + k] + t * roots[j + k]);
      matrix.makeScale(size, size, size).setPosition(mix(0), 0, mix(2));
      shadows.setMatrixAt(person, matrix);
      if (size === 0) {
        bones.fill(0, 8 * joints * person, 8 * joints * (person + 1));
        continue;
      }
      turn(person, frame);
      for (let joint = 0; joint < joints; joint++) {
        const parent = spec.parents[joint];
        if (parent < 0) {
          for (let k = 0; k < 4; k++) world[k] = local[k];
          for (let k = 0; k < 3; k++) world[4 + k] = mix(k);
        } else carry(world, 7 * parent, local, 4 * joint, offsets, 3 * joint, size, world, 7 * joint);
        unbind(world, 7 * joint, bind, 7 * joint, size, bones, 8 * (joints * person + joint));
      }
    }
    texture.needsUpdate = true;
    shadows.instanceMatrix.needsUpdate = true;
  }

  update(clock.frame);
  return { object: group, update, options: [] };
}

/** Sums along the first axis of differences. */
async function summed(ref, Kind) {
  const values = Kind.from(await array(ref));
  const row = values.length / ref.shape[0];
  for (let i = row; i < values.length; i++) values[i] += values[i - row];
  return values;
}

/** Keys either side of a moment when every `spacing`th frame is one, and the last. */
function between(frame, spacing, keys, frames) {
  const a = Math.min(Math.floor(frame / spacing), keys - 1);
  const b = Math.min(a + 1, keys - 1);
  const end = Math.min(b * spacing, frames - 1);
  return [a, b, end > a * spacing ? Math.min((frame - a * spacing) / (end - a * spacing), 1) : 0];
}

/** Between two quaternions, which are never half a turn apart. */
function blend(turns, a, b, t, out, at) {
  let size = 0;
  for (let k = 0; k < 4; k++) {
    const value = (1 - t) * turns[a + k] + t * turns[b + k];
    out[at + k] = value;
    size += value * value;
  }
  size = 1 / Math.sqrt(size);
  for (let k = 0; k < 4; k++) out[at + k] *= size;
}

/** A joint's frame in the world (x, y, z, w, place) from its parent's; `out` may be the same array. */
function carry(parent, p, local, l, offsets, o, size, out, at) {
  const ax = parent[p], ay = parent[p + 1], az = parent[p + 2], aw = parent[p + 3];
  const bx = local[l], by = local[l + 1], bz = local[l + 2], bw = local[l + 3];
  out[at] = aw * bx + ax * bw + ay * bz - az * by;
  out[at + 1] = aw * by - ax * bz + ay * bw + az * bx;
  out[at + 2] = aw * bz + ax * by - ay * bx + az * bw;
  out[at + 3] = aw * bw - ax * bx - ay * by - az * bz;
  const vx = size * offsets[o], vy = size * offsets[o + 1], vz = size * offsets[o + 2];
  const tx = 2 * (ay * vz - az * vy), ty = 2 * (az * vx - ax * vz), tz = 2 * (ax * vy - ay * vx);
  out[at + 4] = parent[p + 4] + vx + aw * tx + ay * tz - az * ty;
  out[at + 5] = parent[p + 5] + vy + aw * ty + az * tx - ax * tz;
  out[at + 6] = parent[p + 6] + vz + aw * tz + ax * ty - ay * tx;
}

/** What a joint does to the mesh at rest: rotation, then place and size. */
function unbind(world, w, bind, b, size, out, at) {
  const ax = world[w], ay = world[w + 1], az = world[w + 2], aw = world[w + 3];
  const bx = -bind[b], by = -bind[b + 1], bz = -bind[b + 2], bw = bind[b + 3];
  const x = aw * bx + ax * bw + ay * bz - az * by;
  const y = aw * by - ax * bz + ay * bw + az * bx;
  const z = aw * bz + ax * by - ay * bx + az * bw;
  const q = aw * bw - ax * bx - ay * by - az * bz;
  const vx = size * bind[b + 4], vy = size * bind[b + 5], vz = size * bind[b + 6];
  const tx = 2 * (y * vz - z * vy), ty = 2 * (z * vx - x * vz), tz = 2 * (x * vy - y * vx);
  out[at] = x;
  out[at + 1] = y;
  out[at + 2] = z;
  out[at + 3] = q;
  out[at + 4] = world[w + 4] - (vx + q * tx + y * tz - z * ty);
  out[at + 5] = world[w + 5] - (vy + q * ty + z * tx - x * tz);
  out[at + 6] = world[w + 6] - (vz + q * tz + x * ty - y * tx);
  out[at + 7] = size;
}

async function bodies(spec, people, texture) {
  const [vertices, normals, faces, part, joints, weights] = await Promise.all([
    floats(spec.vertices), floats(spec.normals), array(spec.faces), array(spec.part), array(spec.joints),
    floats(spec.weights),
  ]);
  const geometry = new BufferGeometry();
  geometry.setIndex(new BufferAttribute(faces, 1));
  geometry.setAttribute("position", new BufferAttribute(vertices, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  geometry.setAttribute("part", new BufferAttribute(Float32Array.from(part), 1));
  geometry.setAttribute("bone", new BufferAttribute(Float32Array.from(joints), 4));
  geometry.setAttribute("pull", new BufferAttribute(weights, 4));
  geometry.setAttribute("person", new InstancedBufferAttribute(Float32Array.from({ length: people }, (_, n) => n), 1));
  geometry.setAttribute("outfit", new InstancedBufferAttribute(Float32Array.from(spec.outfit), 1));
  const material = new MeshStandardMaterial({ roughness: 0.9, metalness: 0, side: DoubleSide });
  material.onBeforeCompile = (shader) => {
    shader.uniforms.bones = { value: texture };
    shader.uniforms.outfits = { value: wardrobe(spec.outfits) };
    dressed(shader);
  };
  const mesh = new InstancedMesh(geometry, material, people);
  const identity = new Matrix4();
  for (let n = 0; n < people; n++) mesh.setMatrixAt(n, identity);
  mesh.frustumCulled = false;
  return mesh;
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
      attribute vec4 bone, pull; attribute float part, person, outfit; varying vec3 dress;
      uniform highp sampler2D bones, outfits;
      vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
      vec4 posed[4]; vec4 placed[4];
      void look() {
        for (int n = 0; n < 4; n++) {
          ivec2 at = ivec2(2 * int(bone[n]), int(person));
          posed[n] = texelFetch(bones, at, 0); placed[n] = texelFetch(bones, at + ivec2(1, 0), 0);
        } }`)
    .replace("#include <beginnormal_vertex>", `look(); vec3 objectNormal = vec3(0.0);
      for (int n = 0; n < 4; n++) objectNormal += pull[n] * turned(posed[n], normal);
      dress = texelFetch(outfits, ivec2(int(part), int(outfit)), 0).rgb;`)
    .replace("#include <begin_vertex>", `vec3 transformed = vec3(0.0);
      for (int n = 0; n < 4; n++)
        transformed += pull[n] * (turned(posed[n], placed[n].w * position) + placed[n].xyz);`);
  shader.fragmentShader = shader.fragmentShader
    .replace("#include <common>", "#include <common>\nvarying vec3 dress;")
    .replace("#include <color_fragment>", "diffuseColor.rgb = dress;");
}
