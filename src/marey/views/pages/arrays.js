// Numbers and files kept in the page: base64 of deflated bytes, little-endian, quantised where that is unseen.

const TYPES = {
  f4: Float32Array, i2: Int16Array, i1: Int8Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
};
const MISSING = { i2: -32768, i1: -128 };
const opened = new Map();

/** The bytes of blob `index`, as an ArrayBuffer. */
export function bytes(index) {
  if (!opened.has(index)) opened.set(index, unpacked(document.getElementById(`blob-${index}`)));
  return opened.get(index);
}

/** What was stored, as a typed array; `ref` names the blob and its type. */
export async function array(ref) {
  return new TYPES[ref.dtype](await bytes(ref.blob));
}

/** Values as numbers of their unit, NaN where there are none. The scale may differ along the last axis. */
export async function floats(ref) {
  const stored = await array(ref);
  if (ref.dtype === "f4") return stored;
  const values = new Float32Array(stored.length);
  const { scale, offset } = ref;
  const missing = MISSING[ref.dtype];
  for (let i = 0, k = 0; i < stored.length; i++) {
    values[i] = stored[i] === missing ? NaN : stored[i] * scale[k] + offset[k];
    if (++k === scale.length) k = 0;
  }
  return values;
}

/** Frames either side of a moment and the share of the later one. */
export function around(frame, frames) {
  const below = Math.min(Math.max(Math.floor(frame), 0), frames - 1);
  const above = Math.min(below + 1, frames - 1);
  return [below, above, Math.min(Math.max(frame - below, 0), 1)];
}

async function unpacked(element) {
  const text = atob(element.textContent);
  element.remove();
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
