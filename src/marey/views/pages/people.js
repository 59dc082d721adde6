// Many people as small walking figures: one template, its limbs swung in the shader with the way gone.

import {
  BufferAttribute, BufferGeometry, CircleGeometry, Color, Group, InstancedBufferAttribute, InstancedMesh,
  LineBasicMaterial, LineSegments, Matrix4, MeshBasicMaterial, MeshStandardMaterial,
} from "three";
import { around, array, floats } from "./arrays.js";
import { scheme } from "./stage.js";

const TRAIL = 12;
const TRAIL_SECONDS = 2.5;

/**
 * spec: {vertices, normals, faces, part, paint, hip, shoulder, places, heading, phase, swing, colours}.
 * places: (frames, people, 2), x and z in metres, NaN while absent; heading, phase, swing: (frames, people)
 */
export async function peopleLayer(spec, { clock, stage }) {
  const [places, heading, phase, swing] = await Promise.all(
    [spec.places, spec.heading, spec.phase, spec.swing].map(floats),
  );
  const [frames, count] = spec.places.shape;
  const clothes = spec.colours.map((colour) => new Color(colour));
  const crowd = await figures(spec, count, clothes);
  const shadows = blobs(count);
  const trails = ways(count, clothes);
  trails.object.visible = Boolean(spec.trails);
  const group = new Group();
  group.add(crowd, shadows, trails.object);
  group.position.y = spec.ground ?? 0;
  const matrix = new Matrix4();
  const state = crowd.geometry.getAttribute("gait");

  function update(frame) {
    const [a, b, t] = around(frame, frames);
    for (let n = 0; n < count; n++) {
      const i = count * a + n;
      let j = count * b + n;
      if (Number.isNaN(places[2 * j])) j = i;
      const mix = (values, k, width) => (1 - t) * values[width * i + k] + t * values[width * j + k];
      const x = mix(places, 0, 2);
      if (Number.isNaN(x)) {
        matrix.makeScale(0, 0, 0);
      } else {
        let turn = heading[j] - heading[i];
        turn -= 2 * Math.PI * Math.round(turn / (2 * Math.PI));
        matrix.makeRotationY(heading[i] + t * turn).setPosition(x, 0, mix(places, 1, 2));
        state.setXY(n, mix(phase, 0, 1), mix(swing, 0, 1));
      }
      crowd.setMatrixAt(n, matrix);
      shadows.setMatrixAt(n, matrix);
    }
    state.needsUpdate = true;
    crowd.instanceMatrix.needsUpdate = true;
    shadows.instanceMatrix.needsUpdate = true;
    if (trails.object.visible) trails.update(frame, places, frames, clock.rate);
  }

  return {
    object: group,
    update,
    options: [{ label: "Trails", key: "t", on: trails.object.visible, set: (on) => {
      trails.object.visible = on;
      update(clock.frame);
      stage.invalidate();
    } }],
  };
}

async function figures(spec, count, clothes) {
  const [vertices, normals, faces, part, paint] = await Promise.all([
    floats(spec.vertices), floats(spec.normals), array(spec.faces), array(spec.part), floats(spec.paint),
  ]);
  const geometry = new BufferGeometry();
  geometry.setIndex(new BufferAttribute(faces, 1));
  geometry.setAttribute("position", new BufferAttribute(vertices, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  geometry.setAttribute("part", new BufferAttribute(Float32Array.from(part), 1));
  geometry.setAttribute("paint", new BufferAttribute(paint, 4));
  geometry.setAttribute("gait", new InstancedBufferAttribute(new Float32Array(2 * count), 2));
  const material = new MeshStandardMaterial({ roughness: 0.9, metalness: 0 });
  material.onBeforeCompile = (shader) => walking(shader, spec);
  const mesh = new InstancedMesh(geometry, material, count);
  mesh.frustumCulled = false;
  for (let n = 0; n < count; n++) mesh.setColorAt(n, clothes[n % clothes.length]);
  return mesh;
}

/** The same swing as in the pictures: legs and arms turn about hips and shoulders, the body dips. */
function walking(shader, { hip, shoulder }) {
  shader.vertexShader = shader.vertexShader
    .replace("#include <common>", `#include <common>
      attribute float part; attribute vec4 paint; attribute vec2 gait; varying vec4 dress;
      vec2 swung() {
        float turn = gait.y * sin(gait.x) * ((part == 1.0 || part == 4.0) ? 1.0 : -1.0);
        turn *= part < 0.5 ? 0.0 : part > 2.5 ? 0.7 : 1.0;
        return vec2(cos(turn), sin(turn)); }`)
    .replace("#include <beginnormal_vertex>", `#include <beginnormal_vertex>
      vec2 turn = swung(); dress = paint;
      objectNormal.yz = vec2(turn.x * normal.y + turn.y * normal.z, turn.x * normal.z - turn.y * normal.y);`)
    .replace("#include <begin_vertex>", `vec3 transformed = position;
      float pivot = part > 2.5 ? ${shoulder.toFixed(4)} : ${hip.toFixed(4)};
      transformed.yz = vec2(pivot + turn.x * (position.y - pivot) + turn.y * position.z,
        turn.x * position.z - turn.y * (position.y - pivot));
      transformed.y += 0.12 * gait.y * gait.y * (cos(2.0 * gait.x) - 1.0) * min(transformed.y, 1.0);`);
  shader.fragmentShader = shader.fragmentShader
    .replace("#include <common>", "#include <common>\nvarying vec4 dress;")
    .replace("#include <color_fragment>", `#include <color_fragment>
      diffuseColor.rgb = mix(diffuseColor.rgb, dress.rgb, dress.a);`);
}

/** A soft round shadow below everyone. */
export function blobs(count) {
  const disc = new CircleGeometry(0.42, 20).rotateX(-Math.PI / 2).translate(0, 0.006, 0);
  const material = new MeshBasicMaterial({ color: 0x000000, transparent: true, depthWrite: false, opacity: 0.4 });
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec2 blob;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nblob = position.xz / 0.42;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying vec2 blob;")
      .replace("#include <color_fragment>", "#include <color_fragment>\ndiffuseColor.a *= pow(max(1.0 - dot(blob, blob), 0.0), 1.5);");
  };
  const mesh = new InstancedMesh(disc, material, count);
  mesh.frustumCulled = false;
  return mesh;
}

/** Lines along the last seconds of everyone's way, fading. */
function ways(count, clothes) {
  const places = new BufferAttribute(new Float32Array(6 * TRAIL * count), 3);
  const colours = new BufferAttribute(new Float32Array(6 * TRAIL * count), 3);
  const geometry = new BufferGeometry().setAttribute("position", places).setAttribute("color", colours);
  const object = new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true }));
  object.frustumCulled = false;
  const paper = new Color(scheme().paper);
  for (let n = 0; n < count; n++) {
    for (let k = 0; k < 2 * TRAIL; k++) {
      const age = Math.ceil(k / 2) / TRAIL;
      const shade = clothes[n % clothes.length].clone().lerp(paper, 0.15 + 0.85 * age);
      shade.toArray(colours.array, 3 * (2 * TRAIL * n + k));
    }
  }
  function update(frame, positions, frames, rate) {
    const back = Math.min(TRAIL_SECONDS * rate, frames) / TRAIL;
    for (let n = 0; n < count; n++) {
      for (let k = 0; k < 2 * TRAIL; k++) {
        const [a, b, t] = around(Math.max(frame - Math.ceil(k / 2) * back, 0), frames);
        const i = 2 * (count * a + n);
        const j = Number.isNaN(positions[2 * (count * b + n)]) ? i : 2 * (count * b + n);
        const x = (1 - t) * positions[i] + t * positions[j];
        const z = (1 - t) * positions[i + 1] + t * positions[j + 1];
        places.setXYZ(2 * TRAIL * n + k, x, 0.012, z);
      }
      // A line from nowhere is none: both its ends become one point.
      for (let k = 0; k < TRAIL; k++) {
        const i = 2 * TRAIL * n + 2 * k;
        if (Number.isNaN(places.getX(i)) || Number.isNaN(places.getX(i + 1))) {
          places.setXYZ(i, 0, -1e3, 0);
          places.setXYZ(i + 1, 0, -1e3, 0);
        }
      }
    }
    places.needsUpdate = true;
  }
  return { object, update };
}
