// Joints of many bodies at a moment, from keys of their rotations: plain loops over typed arrays, nothing allocated.

import { around, array, floats } from "./arrays.js";

export class Chain {
  /**
   * spec: {parents, offsets, bind, sizes, tracks, roots, root_unit}. tracks: joints whose rotations are kept at one
   * spacing, `{joints, spacing, turns}`; turns (keys, people, joints, 4) are differences in time of quaternions
   * x, y, z, w times any number; roots (frames, people, 3) likewise, in units of `root_unit` metres. bind:
   * (joints, 7), rotation x, y, z, w and place of each joint at rest.
   */
  static async of(spec) {
    const [offsets, bind, roots, ...turns] = await Promise.all([
      floats(spec.offsets), floats(spec.bind), summed(spec.roots, Int32Array),
      ...spec.tracks.map((track) => summed(track.turns, Int16Array)),
    ]);
    return new Chain(spec, offsets, bind, roots, turns);
  }

  constructor(spec, offsets, bind, roots, turns) {
    this.people = spec.sizes.shape[0];
    this.joints = spec.parents.length;
    this.frames = spec.roots.shape[0];
    /** What each joint does to the mesh at rest, two texels each: rotation; place and size. */
    this.bones = new Float32Array(8 * this.joints * this.people);
    this.parents = Int32Array.from(spec.parents);
    this.offsets = Float64Array.from(offsets);
    this.bind = Float64Array.from(bind);
    this.roots = roots;
    this.unit = spec.root_unit;
    this.tracks = spec.tracks.map((track, n) => ({
      turns: turns[n], spacing: track.spacing, keys: track.turns.shape[0],
      joints: Int32Array.from(track.joints), first: 0, second: 0, share: 0,
    }));
    this.local = new Float64Array(4 * this.joints);
    this.world = new Float64Array(7 * this.joints);
  }

  /** The moment at which people are posed from now on. */
  goTo(frame) {
    const [a, b, t] = around(frame, this.frames);
    this.first = 3 * this.people * a;
    this.second = 3 * this.people * b;
    this.share = t;
    for (const track of this.tracks) {
      // Every spacing-th frame is a key, and the last.
      const low = Math.min(Math.floor(frame / track.spacing), track.keys - 1);
      const high = Math.min(low + 1, track.keys - 1);
      const from = low * track.spacing;
      const to = Math.min(high * track.spacing, this.frames - 1);
      track.first = 4 * track.joints.length * this.people * low;
      track.second = 4 * track.joints.length * this.people * high;
      track.share = to > from ? Math.min((frame - from) / (to - from), 1) : 0;
    }
  }

  /** A coordinate of somebody's root, metres. */
  root(person, axis) {
    const at = 3 * person + axis;
    const before = this.roots[this.first + at];
    return this.unit * (before + this.share * (this.roots[this.second + at] - before));
  }

  /** Bones of one person. */
  pose(person, size) {
    const { local, world } = this;
    for (let n = 0; n < this.tracks.length; n++) blend(this.tracks[n], person, local);
    for (let k = 0; k < 4; k++) world[k] = local[k];
    for (let k = 0; k < 3; k++) world[4 + k] = this.root(person, k);
    carry(this.parents, local, this.offsets, size, world);
    unbind(world, this.bind, size, this.joints, this.bones, 8 * this.joints * person);
  }
}

/** Sums along the first axis of differences. */
async function summed(ref, Kind) {
  const values = Kind.from(await array(ref));
  const row = values.length / ref.shape[0];
  for (let i = row; i < values.length; i++) values[i] += values[i - row];
  return values;
}

/** Somebody's rotations between two keys, which are never half a turn apart. */
function blend(track, person, out) {
  const { turns, joints, share } = track;
  const count = joints.length;
  let a = track.first + 4 * count * person, b = track.second + 4 * count * person;
  for (let j = 0; j < count; j++, a += 4, b += 4) {
    const x = turns[a] + share * (turns[b] - turns[a]);
    const y = turns[a + 1] + share * (turns[b + 1] - turns[a + 1]);
    const z = turns[a + 2] + share * (turns[b + 2] - turns[a + 2]);
    const w = turns[a + 3] + share * (turns[b + 3] - turns[a + 3]);
    const scale = 1 / Math.sqrt(x * x + y * y + z * z + w * w);
    const at = 4 * joints[j];
    out[at] = scale * x;
    out[at + 1] = scale * y;
    out[at + 2] = scale * z;
    out[at + 3] = scale * w;
  }
}

/** Frames of all joints but the first in the world (x, y, z, w, place), parents before children. */
function carry(parents, local, offsets, size, world) {
  for (let joint = 1; joint < parents.length; joint++) {
    const p = 7 * parents[joint], l = 4 * joint, o = 3 * joint, at = 7 * joint;
    const ax = world[p], ay = world[p + 1], az = world[p + 2], aw = world[p + 3];
    const bx = local[l], by = local[l + 1], bz = local[l + 2], bw = local[l + 3];
    world[at] = aw * bx + ax * bw + ay * bz - az * by;
    world[at + 1] = aw * by - ax * bz + ay * bw + az * bx;
    world[at + 2] = aw * bz + ax * by - ay * bx + az * bw;
    world[at + 3] = aw * bw - ax * bx - ay * by - az * bz;
    const vx = size * offsets[o], vy = size * offsets[o + 1], vz = size * offsets[o + 2];
    const tx = 2 * (ay * vz - az * vy), ty = 2 * (az * vx - ax * vz), tz = 2 * (ax * vy - ay * vx);
    world[at + 4] = world[p + 4] + vx + aw * tx + ay * tz - az * ty;
    world[at + 5] = world[p + 5] + vy + aw * ty + az * tx - ax * tz;
    world[at + 6] = world[p + 6] + vz + aw * tz + ax * ty - ay * tx;
  }
}

/** What all joints do to the mesh at rest: rotation, then place and size. */
function unbind(world, bind, size, joints, out, first) {
  for (let joint = 0; joint < joints; joint++) {
    const w = 7 * joint, at = first + 8 * joint;
    const ax = world[w], ay = world[w + 1], az = world[w + 2], aw = world[w + 3];
    const bx = -bind[w], by = -bind[w + 1], bz = -bind[w + 2], bw = bind[w + 3];
    const x = aw * bx + ax * bw + ay * bz - az * by;
    const y = aw * by - ax * bz + ay * bw + az * bx;
    const z = aw * bz + ax * by - ay * bx + az * bw;
    const q = aw * bw - ax * bx - ay * by - az * bz;
    const vx = size * bind[w + 4], vy = size * bind[w + 5], vz = size * bind[w + 6];
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
}
