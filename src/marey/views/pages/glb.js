// A glTF binary on the stage: skinned characters, morphing surfaces, whatever other programs wrote.

import { AnimationMixer, SkeletonHelper } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { clone } from "three/addons/utils/SkeletonUtils.js";
import { bytes } from "./arrays.js";

const PLAIN = "#a9b9ca";

/** spec: {glb}, a blob. */
export async function glbLayer(spec, { clock, stage }) {
  const file = await new GLTFLoader().parseAsync(await bytes(spec.glb), "");
  const materials = dress(file.scene);
  const body = posed(file.scene, file.animations, clock);
  const options = [{ label: "Wireframe", key: "w", on: false, set: (on) => {
    for (const material of materials) material.wireframe = on;
    stage.invalidate();
  } }];
  const bones = new SkeletonHelper(file.scene);
  if (bones.bones.length) {
    bones.visible = false;
    bones.material.linewidth = 2;
    bones.material.color.set("#c8553d");
    stage.add(bones);
    options.push({ label: "Skeleton", key: "k", on: false, set: (on) => {
      bones.visible = on;
      stage.invalidate();
    } });
  }
  if (file.animations.length > 1) {
    options.unshift({ label: "Clip", choices: file.animations.map((clip, n) => clip.name || `clip ${n}`),
      set: (n) => {
        body.choose(n);
        body.update(clock.frame);
        stage.invalidate();
      } });
  }
  return {
    object: file.scene,
    options,
    update: (frame) => body.update(frame),
    ghost() {
      const copy = clone(file.scene);
      const pose = posed(copy, file.animations, clock);
      return { object: copy, update: (frame) => pose.update(frame) };
    },
  };
}

function posed(scene, animations, clock) {
  const mixer = new AnimationMixer(scene);
  let action = null;
  const choose = (n) => {
    mixer.stopAllAction();
    action = animations.length ? mixer.clipAction(animations[n]).play() : null;
  };
  choose(0);
  return {
    choose,
    update(frame) {
      if (!action) return;
      // The very end of a clip counts as its beginning.
      action.time = Math.min(frame / clock.rate, action.getClip().duration * (1 - 1e-6));
      mixer.update(0);
    },
  };
}

function dress(scene) {
  const materials = new Set();
  scene.traverse((node) => {
    if (!node.isMesh) return;
    node.castShadow = true;
    node.receiveShadow = true;
    node.frustumCulled = false;
    for (const material of [node.material].flat()) {
      // Nothing is there to be mirrored.
      if ("metalness" in material) Object.assign(material, { metalness: 0, roughness: 0.85 });
      const white = material.color?.getHex() === 0xffffff;
      if (white && !material.map && !node.geometry.attributes.color) material.color.set(PLAIN);
      materials.add(material);
    }
  });
  return materials;
}
