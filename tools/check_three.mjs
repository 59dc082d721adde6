// Does three.js show a mesh animation where marey has it?
//
//     node tools/check_three.mjs FILE.glb EXPECTED.json
//
// Loads the file with GLTFLoader, steps an AnimationMixer to each time of EXPECTED.json ({"times": [...],
// "positions": [[x, y, z, ...], ...]}, metres, y up) and compares every morphed vertex. Prints the largest
// difference in metres; three is looked for in ./node_modules: npm install three.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [file, expectedFile] = process.argv.slice(2);
const root = `${process.cwd()}/node_modules/three`;
const THREE = await import(new URL("build/three.module.js", pathToFileURL(`${root}/`)).href);
const { GLTFLoader } = await import(
  new URL("examples/jsm/loaders/GLTFLoader.js", pathToFileURL(`${root}/`)).href
);
// The loader asks the browser for its name and for pictures; textures are not looked at here.
globalThis.self = globalThis;
const bytes = readFileSync(file);
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
const loaded = await new GLTFLoader().parseAsync(buffer, "");
const expected = JSON.parse(readFileSync(expectedFile, "utf-8"));

let mesh = null;
loaded.scene.traverse((object) => {
  if (object.isMesh && mesh === null) mesh = object;
});
const mixer = new THREE.AnimationMixer(loaded.scene);
const action = mixer.clipAction(loaded.animations[0]);
action.setLoop(THREE.LoopOnce);
action.clampWhenFinished = true;
action.play();

let worst = 0;
const point = new THREE.Vector3();
expected.times.forEach((time, row) => {
  mixer.setTime(time);
  loaded.scene.updateMatrixWorld(true);
  const numbers = mesh.geometry.attributes._marey_vertex;
  const positions = expected.positions[row];
  for (let vertex = 0; vertex < mesh.geometry.attributes.position.count; vertex++) {
    mesh.getVertexPosition(vertex, point).applyMatrix4(mesh.matrixWorld);
    const at = 3 * (numbers ? numbers.getX(vertex) : vertex);
    const off = Math.max(
      Math.abs(point.x - positions[at]),
      Math.abs(point.y - positions[at + 1]),
      Math.abs(point.z - positions[at + 2]),
    );
    worst = Math.max(worst, Number.isNaN(off) ? Infinity : off);
  }
});
console.log(worst);
