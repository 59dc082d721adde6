// A captured surface over time: every frame a weighted sum of shapes, set down where it is on the ground.

import {
  BufferAttribute, BufferGeometry, Color, DoubleSide, Mesh, MeshStandardMaterial, SRGBColorSpace, Texture,
} from "three";
import { around, array, bytes, floats } from "./arrays.js";

/**
 * spec: {faces, source, welded, uv, colours, base, targets, weights, places, textures, texture_of, tints, tint_of}.
 * A drawn vertex is vertex `source` of the surface; vertices with the same `welded` share their normal. `targets`
 * is (shapes, vertices, 3), `weights` (frames, shapes), `places` (frames, 3): turn about y, shift along x and z.
 * Without weights the targets are the frames themselves.
 */
export async function surfaceLayer(spec, { stage }) {
  const [faces, source, welded] = await Promise.all([spec.faces, spec.source, spec.welded].map(array));
  const targets = await floats(spec.targets);
  const motion = {
    targets,
    base: spec.base && (await floats(spec.base)),
    weights: spec.weights && (await floats(spec.weights)),
    places: spec.places && (await floats(spec.places)),
    shapes: spec.targets.shape[0],
    values: 3 * spec.targets.shape[1],
  };
  const still = new BufferGeometry();
  still.setIndex(new BufferAttribute(faces, 1));
  if (spec.uv) still.setAttribute("uv", new BufferAttribute(await floats(spec.uv), 2));
  if (spec.colours) still.setAttribute("color", new BufferAttribute(await floats(spec.colours), 3));
  const images = await Promise.all((spec.textures ?? []).map(texture));
  const material = new MeshStandardMaterial({
    vertexColors: Boolean(spec.colours), map: images[0] ?? null, roughness: 0.85, metalness: 0, side: DoubleSide,
  });
  const tints = (spec.tints ?? []).map((colour) => new Color(colour));

  function body(paint, shaded) {
    const geometry = still.clone();
    const places = new BufferAttribute(new Float32Array(3 * source.length), 3);
    geometry.setAttribute("position", places);
    if (shaded) geometry.setAttribute("normal", new BufferAttribute(new Float32Array(3 * source.length), 3));
    const mesh = new Mesh(geometry, paint);
    mesh.frustumCulled = false;
    const own = new Float32Array(motion.values);
    return {
      object: mesh,
      update(frame) {
        pose(motion, frame, own, mesh);
        for (let n = 0; n < source.length; n++) {
          for (let k = 0; k < 3; k++) places.array[3 * n + k] = own[3 * source[n] + k];
        }
        places.needsUpdate = true;
        if (shaded) shade(own, faces, source, welded, geometry.getAttribute("normal"));
      },
    };
  }

  const main = body(material, true);
  main.object.castShadow = true;
  main.object.receiveShadow = true;
  return {
    object: main.object,
    options: [{ label: "Wireframe", key: "w", on: false, set: (on) => {
      material.wireframe = on;
      stage.invalidate();
    } }],
    update(frame) {
      main.update(frame);
      if (images.length > 1) material.map = images[spec.texture_of[Math.round(frame)]];
      if (tints.length) material.color.copy(tints[spec.tint_of[Math.round(frame)]]);
    },
    ghost: () => body(material, false),
  };
}

function pose({ base, targets, weights, places, shapes, values }, frame, out, mesh) {
  const frames = weights ? weights.length / shapes : shapes;
  const [a, b, t] = around(frame, frames);
  if (weights) {
    out.set(base);
    for (let s = 0; s < shapes; s++) {
      add(out, targets, values * s, (1 - t) * weights[shapes * a + s] + t * weights[shapes * b + s]);
    }
  } else {
    out.fill(0);
    add(out, targets, values * a, 1 - t);
    add(out, targets, values * b, t);
  }
  if (places) {
    const mix = (k) => (1 - t) * places[3 * a + k] + t * places[3 * b + k];
    mesh.rotation.y = mix(0);
    mesh.position.set(mix(1), 0, mix(2));
  }
}

function add(out, values, from, weight) {
  if (weight === 0) return;
  for (let n = 0; n < out.length; n++) out[n] += weight * values[from + n];
}

/** Normals by the faces around each place, larger faces counting more. */
function shade(own, faces, source, welded, normals) {
  const sums = new Float32Array(own.length);
  for (let f = 0; f < faces.length; f += 3) {
    const [i, j, k] = [3 * source[faces[f]], 3 * source[faces[f + 1]], 3 * source[faces[f + 2]]];
    const ax = own[j] - own[i], ay = own[j + 1] - own[i + 1], az = own[j + 2] - own[i + 2];
    const bx = own[k] - own[i], by = own[k + 1] - own[i + 1], bz = own[k + 2] - own[i + 2];
    const nx = ay * bz - az * by, ny = az * bx - ax * bz, nz = ax * by - ay * bx;
    for (let c = 0; c < 3; c++) {
      const at = 3 * welded[source[faces[f + c]]];
      sums[at] += nx;
      sums[at + 1] += ny;
      sums[at + 2] += nz;
    }
  }
  for (let n = 0; n < source.length; n++) {
    const at = 3 * welded[source[n]];
    const size = Math.hypot(sums[at], sums[at + 1], sums[at + 2]) || 1;
    normals.setXYZ(n, sums[at] / size, sums[at + 1] / size, sums[at + 2] / size);
  }
  normals.needsUpdate = true;
}

async function texture(blob) {
  const image = await createImageBitmap(new Blob([await bytes(blob)]), { imageOrientation: "flipY" });
  const made = new Texture(image);
  made.flipY = false;
  made.colorSpace = SRGBColorSpace;
  made.anisotropy = 4;
  made.needsUpdate = true;
  return made;
}
