// What stands still: walls, areas on the ground.

import { BufferAttribute, BufferGeometry, Mesh, MeshStandardMaterial } from "three";
import { array, floats } from "./arrays.js";

/** spec: {vertices, faces, colour, opacity}; faces are flat. */
export async function solidLayer(spec) {
  const [vertices, faces] = await Promise.all([floats(spec.vertices), array(spec.faces)]);
  const shared = new BufferGeometry();
  shared.setIndex(new BufferAttribute(faces, 1));
  shared.setAttribute("position", new BufferAttribute(vertices, 3));
  const geometry = shared.toNonIndexed();
  geometry.computeVertexNormals();
  const clear = (spec.opacity ?? 1) < 1;
  const material = new MeshStandardMaterial({
    color: spec.colour, roughness: 1, metalness: 0, transparent: clear, opacity: spec.opacity ?? 1,
    depthWrite: !clear, polygonOffset: clear, polygonOffsetFactor: -1,
  });
  const mesh = new Mesh(geometry, material);
  mesh.castShadow = !clear;
  mesh.receiveShadow = true;
  return { object: mesh, options: [], update() {} };
}
