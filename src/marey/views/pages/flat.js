// What is flat: a film, a picture, and a matrix one can point into.

import { array, bytes } from "./arrays.js";

/** A film whose time is that of the page. */
export async function showFilm(page, clock, element) {
  const film = element("video", "The film");
  film.muted = true;
  film.playsInline = true;
  film.src = URL.createObjectURL(new Blob([await bytes(page.film.mp4)], { type: "video/mp4" }));
  await new Promise((resolve, reject) => {
    film.addEventListener("loadeddata", resolve, { once: true });
    film.addEventListener("error", () => reject(new Error("this browser cannot play the film (H.264)")), { once: true });
  });
  clock.onChange(() => {
    // Half a frame on, so that rounding never shows the frame before.
    const time = (clock.frame + 0.5) / clock.rate;
    if (!clock.playing) {
      film.pause();
      film.currentTime = time;
      return;
    }
    film.playbackRate = clock.speed;
    if (Math.abs(film.currentTime - time) > 0.2) film.currentTime = time;
    if (film.paused) film.play().catch(() => clock.stop());
  });
  return [];
}

export async function showPicture(page, clock, element) {
  const picture = element("img", page.picture.said);
  picture.alt = page.picture.said;
  picture.src = URL.createObjectURL(new Blob([await bytes(page.picture.png)], { type: "image/png" }));
  await picture.decode();
  return [];
}

/** Pose distances: the cell pointed at, or chosen with the arrow keys, is read out. */
export async function showMatrix(page, clock, element) {
  const { values, largest, step, starts, names, unit, colours } = page.matrix;
  const size = values.shape[0];
  const cells = await array(values);
  const ramp = ramped(colours);
  const image = new ImageData(size, size);
  for (let n = 0; n < cells.length; n++) {
    const at = 3 * Math.round((255 * cells[n]) / 65535);
    for (let k = 0; k < 3; k++) image.data[4 * n + k] = ramp[at + k];
    image.data[4 * n + 3] = 255;
  }
  const canvas = element("canvas", "Distances between all poses, dark where they are alike");
  canvas.className = "matrix";
  const small = new OffscreenCanvas(size, size);
  small.getContext("2d").putImageData(image, 0, 0);
  const label = document.createElement("output");
  label.className = "read";
  document.getElementById("view").append(label);
  let [row, column] = [0, 0];
  let [left, top, scale] = [0, 0, 1];

  function draw() {
    const { clientWidth: wide, clientHeight: tall } = canvas.parentElement;
    const ratio = Math.min(devicePixelRatio, 2);
    canvas.width = wide * ratio;
    canvas.height = tall * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    scale = Math.min(wide - 40, tall - 60) / size;
    [left, top] = [(wide - scale * size) / 2, 8];
    pen.imageSmoothingEnabled = scale < 1;
    pen.drawImage(small, left, top, scale * size, scale * size);
    pen.strokeStyle = "#ffffffaa";
    pen.beginPath();
    for (const start of starts.slice(1, -1)) {
      const at = (scale * start) / step;
      pen.moveTo(left + at, top);
      pen.lineTo(left + at, top + scale * size);
      pen.moveTo(left, top + at);
      pen.lineTo(left + scale * size, top + at);
    }
    pen.stroke();
    pen.strokeStyle = "#c8553d";
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(left, top + (row + 0.5) * scale);
    pen.lineTo(left + scale * size, top + (row + 0.5) * scale);
    pen.moveTo(left + (column + 0.5) * scale, top);
    pen.lineTo(left + (column + 0.5) * scale, top + scale * size);
    pen.stroke();
  }

  function named(frame) {
    const sequence = starts.findLastIndex((start) => start <= frame);
    return `${names[sequence]} ${frame - starts[sequence]}`;
  }

  function choose(r, c) {
    [row, column] = [r, c].map((n) => Math.min(Math.max(n, 0), size - 1));
    const value = (cells[row * size + column] / 65535) * largest;
    label.textContent = `${named(row * step)} — ${named(column * step)}: ${value.toPrecision(3)} (${unit})`;
    draw();
  }

  const pointed = (event) => {
    const box = canvas.getBoundingClientRect();
    choose(Math.floor((event.clientY - box.top - top) / scale), Math.floor((event.clientX - box.left - left) / scale));
  };
  canvas.addEventListener("pointermove", pointed);
  canvas.addEventListener("pointerdown", pointed);
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!(event.key in moves)) return;
    choose(row + moves[event.key][0], column + moves[event.key][1]);
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(canvas.parentElement);
  choose(0, Math.floor(size / 3));
  return [];
}

function ramped(colours) {
  const stops = colours.map((hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16)));
  const ramp = new Uint8Array(3 * 256);
  for (let n = 0; n < 256; n++) {
    const at = (n / 255) * (stops.length - 1);
    const below = Math.min(Math.floor(at), stops.length - 2);
    for (let k = 0; k < 3; k++) ramp[3 * n + k] = stops[below][k] + (at - below) * (stops[below + 1][k] - stops[below][k]);
  }
  return ramp;
}
