// A figure whose parts are carried by frames that move: every vertex follows one of them.

import {
  Bone, BufferAttribute, BufferGeometry, Group, LineBasicMaterial, LineSegments, Matrix4, MeshStandardMaterial,
  Points, PointsMaterial, Skeleton, SkinnedMesh, Uint16BufferAttribute,
} from "three";
import { around, array, floats } from "./arrays.js";

const BONES = "#c8553d";

/**
 * spec: {vertices, normals, faces, colours, carrier, base, origins, axes, points, links}. A vertex is fixed in its
 * carrier; of those `origins` is (frames, carriers, 3), seen from `base` (frames, 3), and `axes` (frames, carriers,
 * 9), the three axes in turn; `points` are joints, seen from there too.
 */
export async function figureLayer(spec, { stage }) {
  const geometry = await shape(spec);
  const [base, origins, axes, points] = await Promise.all(
    [spec.base, spec.origins, spec.axes, spec.points].map(floats),
  );
  const [frames, carriers] = spec.origins.shape;
  const material = new MeshStandardMaterial({ vertexColors: true, roughness: 0.85, metalness: 0 });

  function body(paint) {
    const skeleton = carried(carriers);
    const mesh = new SkinnedMesh(geometry, paint);
    mesh.bindMode = "detached";
    mesh.bind(skeleton, new Matrix4());
    mesh.frustumCulled = false;
    return {
      object: mesh,
      update(frame) {
        pose(skeleton, origins, axes, frames, carriers, frame);
        moveTo(mesh, base, frame);
      },
    };
  }

  const main = body(material);
  main.object.castShadow = true;
  main.object.receiveShadow = true;
  const bones = lines(spec, points);
  bones.object.visible = false;
  const group = new Group();
  group.add(main.object, bones.object);
  return {
    object: group,
    options: [{ label: "Skeleton", key: "k", on: false, set: (on) => {
      bones.object.visible = on;
      Object.assign(material, { transparent: on, opacity: on ? 0.35 : 1, depthWrite: !on });
      stage.invalidate();
    } }],
    update(frame) {
      main.update(frame);
      bones.update(frame);
      moveTo(bones.object, base, frame);
    },
    ghost: () => body(material.clone()),
  };
}

async function shape(spec) {
  const [vertices, normals, faces, colours, carrier] = await Promise.all([
    floats(spec.vertices), floats(spec.normals), array(spec.faces), floats(spec.colours), array(spec.carrier),
  ]);
  const count = carrier.length;
  const index = new Uint16Array(4 * count);
  const weight = new Float32Array(4 * count);
  for (let v = 0; v < count; v++) {
    index[4 * v] = carrier[v];
    weight[4 * v] = 1;
  }
  const geometry = new BufferGeometry();
  geometry.setIndex(new BufferAttribute(faces, 1));
  geometry.setAttribute("position", new BufferAttribute(vertices, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  geometry.setAttribute("color", new BufferAttribute(colours, 3));
  geometry.setAttribute("skinIndex", new Uint16BufferAttribute(index, 4));
  geometry.setAttribute("skinWeight", new BufferAttribute(weight, 4));
  return geometry;
}

/** A skeleton whose matrices are set from outside. */
function carried(count) {
  const bones = Array.from({ length: count }, () => new Bone());
  const skeleton = new Skeleton(bones, bones.map(() => new Matrix4()));
  skeleton.update = () => {};
  return skeleton;
}

function pose(skeleton, origins, axes, frames, carriers, frame) {
  const [a, b, t] = around(frame, frames);
  const out = skeleton.boneMatrices;
  for (let c = 0; c < carriers; c++) {
    for (let axis = 0; axis < 3; axis++) {
      for (let k = 0; k < 3; k++) {
        const n = 9 * c + 3 * axis + k;
        out[16 * c + 4 * axis + k] = (1 - t) * axes[9 * carriers * a + n] + t * axes[9 * carriers * b + n];
      }
      const n = 3 * c + axis;
      out[16 * c + 12 + axis] = (1 - t) * origins[3 * carriers * a + n] + t * origins[3 * carriers * b + n];
    }
    out[16 * c + 15] = 1;
  }
  if (skeleton.boneTexture) skeleton.boneTexture.needsUpdate = true;
}

function moveTo(object, base, frame) {
  const [a, b, t] = around(frame, base.length / 3);
  const mix = (k) => (1 - t) * base[3 * a + k] + t * base[3 * b + k];
  object.position.set(mix(0), mix(1), mix(2));
}

function lines(spec, points) {
  const count = spec.points.shape[1];
  const places = new BufferAttribute(new Float32Array(3 * count), 3);
  const joints = new BufferGeometry().setAttribute("position", places);
  const links = new BufferGeometry().setAttribute("position", places).setIndex(spec.links.flat());
  const over = { color: BONES, depthTest: false, transparent: true };
  const dots = new Points(joints, new PointsMaterial({ ...over, size: 5, sizeAttenuation: false }));
  const strokes = new LineSegments(links, new LineBasicMaterial(over));
  const object = new Group();
  for (const part of [strokes, dots]) {
    part.frustumCulled = false;
    part.renderOrder = 2;
    object.add(part);
  }
  return {
    object,
    update(frame) {
      const [a, b, t] = around(frame, spec.points.shape[0]);
      for (let n = 0; n < 3 * count; n++) {
        places.array[n] = (1 - t) * points[3 * count * a + n] + t * points[3 * count * b + n];
      }
      places.needsUpdate = true;
    },
  };
}
