// Points over time as small balls: markers, clouds.

import { Color, IcosahedronGeometry, InstancedMesh, Matrix4, MeshStandardMaterial } from "three";
import { around, floats } from "./arrays.js";

/** spec: {positions, radius, colour}: positions (frames, points, 3), NaN while unseen. */
export async function pointsLayer(spec) {
  const positions = await floats(spec.positions);
  const [frames, count] = spec.positions.shape;
  const shape = new IcosahedronGeometry(spec.radius, count > 2000 ? 0 : 2);
  const material = new MeshStandardMaterial({ color: new Color(spec.colour), roughness: 0.7, metalness: 0 });
  const mesh = new InstancedMesh(shape, material, count);
  mesh.castShadow = true;
  mesh.frustumCulled = false;
  const matrix = new Matrix4();
  return {
    object: mesh,
    options: [],
    update(frame) {
      const [a, b, t] = around(frame, frames);
      for (let n = 0; n < count; n++) {
        const i = 3 * (count * a + n);
        const j = 3 * (count * b + n);
        // Beside a gap: where it is seen.
        const share = Number.isNaN(positions[j]) ? 0 : Number.isNaN(positions[i]) && t > 0.5 ? 1 : t;
        const at = (k) => (share ? share * positions[j + k] : 0) + (share < 1 ? (1 - share) * positions[i + k] : 0);
        const seen = !Number.isNaN(at(0));
        matrix.makeScale(seen ? 1 : 0, seen ? 1 : 0, seen ? 1 : 0);
        if (seen) matrix.setPosition(at(0), at(1), at(2));
        mesh.setMatrixAt(n, matrix);
      }
      mesh.instanceMatrix.needsUpdate = true;
    },
  };
}
