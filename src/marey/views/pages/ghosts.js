// Where the body was a moment ago, paler the longer ago: what Marey's photographs on one plate show.

import { Color, Group, MeshBasicMaterial } from "three";
import { scheme } from "./stage.js";

const COUNT = 7;
const SECONDS = 0.18;

/** An option that shows the poses before the one shown; `make` gives a copy {object, update(frame)} of the body. */
export function ghostOption(make, { clock, stage }) {
  const group = new Group();
  let ghosts = null;
  group.visible = false;
  stage.add(group);

  function pale(age) {
    const paper = new Color(scheme().paper);
    return new Color("#2b6a8f").lerp(paper, 0.35 + (0.55 * age) / COUNT);
  }

  function prepared() {
    return Array.from({ length: COUNT }, (_, n) => {
      const ghost = make();
      ghost.object.traverse((node) => {
        node.castShadow = false;
        if (!node.isMesh) return;
        // Pushed back, so that what has not moved is the body's own.
        node.material = new MeshBasicMaterial({
          color: pale(n + 1), polygonOffset: true, polygonOffsetFactor: n + 1, polygonOffsetUnits: 4 * (n + 1),
          transparent: true, opacity: 0.85,
        });
      });
      group.add(ghost.object);
      return ghost;
    });
  }

  function update(frame) {
    if (!group.visible) return;
    ghosts.forEach((ghost, n) => {
      const past = frame - (n + 1) * SECONDS * clock.rate;
      ghost.object.visible = past >= 0;
      if (past >= 0) ghost.update(past);
    });
  }

  return {
    update,
    option: { label: "Ghosts", key: "g", on: false, set: (on) => {
      ghosts ??= prepared();
      group.visible = on;
      update(clock.frame);
      stage.invalidate();
    } },
  };
}
