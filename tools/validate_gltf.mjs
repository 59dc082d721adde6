// Runs the Khronos glTF validator on files and prints, as JSON, how many errors and warnings each has.
//   node tools/validate_gltf.mjs FILE...
// The validator is the npm package gltf-validator, installed in .node beside this folder:
//   npm install --prefix .node gltf-validator
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const home = fileURLToPath(new URL("../.node/", import.meta.url));
const validator = createRequire(home)("gltf-validator");

const results = {};
let errors = 0;
for (const file of process.argv.slice(2)) {
  const report = await validator.validateBytes(new Uint8Array(await readFile(file)), {
    uri: file,
    maxIssues: 100,
    externalResourceFunction: () => Promise.reject(new Error("not read")),
  });
  const { numErrors, numWarnings, numInfos, messages } = report.issues;
  results[file] = { errors: numErrors, warnings: numWarnings, infos: numInfos, messages };
  errors += numErrors;
}
console.log(JSON.stringify(results, null, 2));
process.exitCode = errors ? 1 : 0;
