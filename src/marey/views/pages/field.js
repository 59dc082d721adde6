// A velocity field over time, drawn flat: colours or streaks of the flow, how it spreads, how it turns.

import { around, array, floats } from "./arrays.js";

const KINDS = ["Flow", "Streaks", "Divergence", "Vorticity"];
const ARROWS = 34;
const STREAKS = 1400;
const STREAK_SECONDS = 1.6;
const SPREAD = ["#2b6a8f", "#c8553d"].map(linear);

export async function showField(page, clock, element) {
  const spec = page.field;
  const velocities = await floats(spec.velocities);
  const inside = await array(spec.inside);
  const canvas = element("canvas", "The field from above");
  const field = new Field(canvas, spec, velocities, inside, clock);
  new ResizeObserver(() => field.draw()).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => field.draw());
  clock.onChange(() => field.draw());
  field.draw();
  return [{ label: "What is drawn", choices: KINDS, set: (n) => {
    field.kind = KINDS[n];
    field.draw();
  } }];
}

class Field {
  constructor(canvas, spec, velocities, inside, clock) {
    Object.assign(this, { canvas, spec, velocities, inside, clock, kind: KINDS[0] });
    [this.frames, this.rows, this.columns] = spec.velocities.shape;
    this.now = new Float32Array(2 * this.rows * this.columns);
    this.small = new OffscreenCanvas(this.columns, this.rows);
    this.wheel = spec.wheel.map(linear);
    this.places = scattered(STREAKS, this);
    this.scales = new Map();
  }

  draw() {
    const { clientWidth: wide, clientHeight: tall } = this.canvas.parentElement;
    const ratio = Math.min(devicePixelRatio, 2);
    this.canvas.width = wide * ratio;
    this.canvas.height = tall * ratio;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.body);
    this.colours = { ink: style.getPropertyValue("--ink"), soft: style.getPropertyValue("--soft"),
      paper: style.getPropertyValue("--paper"), line: style.getPropertyValue("--line") };
    const margin = 20;
    const key = wide > 640 ? 130 : 0;
    const scale = Math.min((wide - 2 * margin - key) / this.columns, (tall - 2 * margin) / this.rows);
    const left = (wide - key - scale * this.columns) / 2;
    const top = (tall - scale * this.rows) / 2;
    this.between();
    this.paint();
    pen.save();
    pen.translate(left, top);
    pen.scale(scale, scale);
    pen.imageSmoothingEnabled = true;
    pen.imageSmoothingQuality = "high";
    pen.drawImage(this.small, 0, 0);
    pen.beginPath();
    pen.rect(0, 0, this.columns, this.rows);
    pen.clip();
    if (this.kind === "Flow") this.arrows(pen, scale);
    if (this.kind === "Streaks") this.streaks(pen, scale);
    pen.restore();
    pen.strokeStyle = this.colours.line;
    pen.strokeRect(left, top, scale * this.columns, scale * this.rows);
    if (key) this.key(pen, left + scale * this.columns + 24, top);
  }

  /** The field at this moment. */
  between() {
    const [a, b, t] = around(this.clock.frame, this.frames);
    const size = this.now.length;
    for (let n = 0; n < size; n++) {
      this.now[n] = (1 - t) * this.velocities[size * a + n] + t * this.velocities[size * b + n];
    }
  }

  paint() {
    const image = new ImageData(this.columns, this.rows);
    const turning = this.kind === "Divergence" || this.kind === "Vorticity";
    const largest = turning ? this.scaleOf(this.kind) : this.spec.largest;
    const paper = linear(this.colours.paper.trim());
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        const n = row * this.columns + column;
        let light = paper;
        if (this.inside[n]) {
          if (turning) light = this.spread(this.derivative(this.kind, row, column, this.now, 0) / largest, paper);
          else if (this.kind === "Flow") light = this.flow(this.now[2 * n], this.now[2 * n + 1], largest, paper);
        }
        for (let k = 0; k < 3; k++) image.data[4 * n + k] = shown(light[k]);
        image.data[4 * n + 3] = this.inside[n] ? 255 : 0;
      }
    }
    this.small.getContext("2d").putImageData(image, 0, 0);
  }

  flow(u, v, largest, paper) {
    const turn = ((Math.atan2(v, u) / (2 * Math.PI) + 1) % 1) * this.wheel.length;
    const below = Math.floor(turn) % this.wheel.length;
    const share = turn - Math.floor(turn);
    const next = this.wheel[(below + 1) % this.wheel.length];
    // Less than proportional, so that slow motion shows.
    const strength = Math.min(Math.hypot(u, v) / largest, 1) ** 0.7;
    return paper.map((p, k) => p + strength * ((1 - share) * this.wheel[below][k] + share * next[k] - p));
  }

  spread(value, paper) {
    const colour = SPREAD[value > 0 ? 1 : 0];
    const strength = Math.min(Math.abs(value), 1) ** 0.8;
    return paper.map((p, k) => p + strength * (colour[k] - p));
  }

  /** Divergence or vorticity per second, by central differences between cells inside. */
  derivative(kind, row, column, values, from) {
    const along = (k, dr, dc) => {
      const ahead = this.cell(row + dr, column + dc);
      const behind = this.cell(row - dr, column - dc);
      const here = this.cell(row, column);
      const first = behind ?? here;
      const last = ahead ?? here;
      const apart = (ahead === null ? 0 : 1) + (behind === null ? 0 : 1);
      return apart ? (values[from + 2 * last + k] - values[from + 2 * first + k]) / apart : 0;
    };
    const change = kind === "Divergence" ? along(0, 0, 1) + along(1, 1, 0) : along(1, 0, 1) - along(0, 1, 0);
    return (change / this.spec.cell) * this.clock.rate;
  }

  cell(row, column) {
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return null;
    const n = row * this.columns + column;
    return this.inside[n] ? n : null;
  }

  /** The value of the fullest colour; what is all but absent beside its companion stays pale. */
  scaleOf(kind) {
    const other = kind === "Divergence" ? "Vorticity" : "Divergence";
    return Math.max(this.usual(kind), 0.1 * this.usual(other)) || 1;
  }

  /** A value few cells of some frames exceed. */
  usual(kind) {
    if (!this.scales.has(kind)) {
      const sizes = [];
      const every = Math.max(Math.floor(this.frames / 8), 1);
      for (let frame = 0; frame < this.frames; frame += every) {
        for (let n = 0; n < this.inside.length; n += 3) {
          if (!this.inside[n]) continue;
          const row = Math.floor(n / this.columns);
          const from = frame * this.now.length;
          sizes.push(Math.abs(this.derivative(kind, row, n % this.columns, this.velocities, from)));
        }
      }
      sizes.sort((a, b) => a - b);
      this.scales.set(kind, sizes[Math.floor(0.98 * (sizes.length - 1))] || 0);
    }
    return this.scales.get(kind);
  }

  arrows(pen, scale) {
    const step = Math.max(Math.ceil(this.columns / ARROWS), 1);
    pen.strokeStyle = this.colours.ink;
    pen.globalAlpha = 0.75;
    pen.lineWidth = 1.1 / scale;
    pen.beginPath();
    for (let row = step >> 1; row < this.rows; row += step) {
      for (let column = step >> 1; column < this.columns; column += step) {
        const n = row * this.columns + column;
        const [u, v] = [this.now[2 * n], this.now[2 * n + 1]];
        const size = Math.min(Math.hypot(u, v) / this.spec.largest, 1) * 0.95 * step;
        if (!this.inside[n] || size < 0.08 * step) continue;
        const turn = Math.atan2(v, u);
        const [x, y] = [column + 0.5, row + 0.5];
        const [tipX, tipY] = [x + size * Math.cos(turn), y + size * Math.sin(turn)];
        pen.moveTo(x, y);
        pen.lineTo(tipX, tipY);
        for (const side of [2.6, -2.6]) {
          pen.moveTo(tipX, tipY);
          pen.lineTo(tipX + 0.3 * size * Math.cos(turn + side), tipY + 0.3 * size * Math.sin(turn + side));
        }
      }
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  /** Ways of drops carried by the flow of the last moments, thicker where they are now. */
  streaks(pen, scale) {
    const back = Math.min(STREAK_SECONDS * this.clock.rate, 60);
    const pieces = 10;
    pen.lineCap = "round";
    for (const [n, place] of this.places.entries()) {
      let [x, y] = place;
      // A drop lives for one streak, then begins again where it was put.
      const age = (((this.clock.frame / back + n * 0.618034) % 1) * back);
      const born = this.clock.frame - age;
      const points = [[x, y]];
      for (let k = 0; k < pieces; k++) {
        const [u, v] = this.at(x, y, born + (age * k) / pieces);
        x += (u * age) / pieces / this.spec.cell;
        y += (v * age) / pieces / this.spec.cell;
        points.push([x, y]);
      }
      const moved = Math.hypot(x - place[0], y - place[1]);
      if (moved < 0.2) continue;
      const turn = Math.atan2(y - place[1], x - place[0]);
      pen.strokeStyle = this.hue(turn);
      pen.globalAlpha = Math.min(1, 4 * Math.min(age, back - age) / back + 0.1);
      pen.lineWidth = 1.6 / scale;
      pen.beginPath();
      pen.moveTo(...points[0]);
      for (const point of points) pen.lineTo(...point);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  at(x, y, frame) {
    const cell = this.cell(Math.floor(y), Math.floor(x));
    if (cell === null) return [0, 0];
    const [a, b, t] = around(Math.max(frame, 0), this.frames);
    const size = this.now.length;
    const mix = (k) => (1 - t) * this.velocities[size * a + 2 * cell + k] + t * this.velocities[size * b + 2 * cell + k];
    return [mix(0), mix(1)];
  }

  hue(turn) {
    const light = this.flow(Math.cos(turn), Math.sin(turn), 1, [0, 0, 0]);
    return `rgb(${light.map(shown).join(" ")})`;
  }

  key(pen, x, y) {
    pen.fillStyle = this.colours.soft;
    pen.font = "12px system-ui, sans-serif";
    const turning = this.kind === "Divergence" || this.kind === "Vorticity";
    if (turning) {
      const largest = this.scaleOf(this.kind);
      const tall = 140;
      const paper = linear(this.colours.paper.trim());
      for (let k = 0; k < tall; k++) {
        pen.fillStyle = `rgb(${this.spread(1 - (2 * k) / tall, paper).map(shown).join(" ")})`;
        pen.fillRect(x, y + k, 12, 1);
      }
      pen.fillStyle = this.colours.soft;
      const words = this.kind === "Divergence" ? ["spreads", "gathers"] : ["clockwise", "counter-"];
      pen.fillText(`${words[0]} ${largest.toPrecision(2)}/s`, x + 18, y + 10);
      pen.fillText("0", x + 18, y + tall / 2 + 4);
      pen.fillText(words[1], x + 18, y + tall - 2);
      if (this.kind === "Vorticity") pen.fillText("clockwise", x + 18, y + tall + 12);
      return;
    }
    const radius = 38;
    pen.drawImage(this.disc(radius), x, y, 2 * radius, 2 * radius);
    pen.fillStyle = this.colours.soft;
    pen.fillText(`up to ${this.spec.largest.toPrecision(3)}`, x, y + 2 * radius + 18);
    pen.fillText("pixels a frame", x, y + 2 * radius + 34);
  }

  /** The key to the colours: every direction at every speed up to the largest. */
  disc(radius) {
    const paper = this.colours.paper.trim();
    if (this.discs?.paper === paper) return this.discs.drawn;
    const size = 4 * radius;
    const image = new ImageData(size, size);
    for (let n = 0; n < size * size; n++) {
      const [dx, dy] = [(n % size) - 2 * radius + 0.5, Math.floor(n / size) - 2 * radius + 0.5];
      const light = this.flow(dx, dy, 2 * radius, linear(paper));
      for (let k = 0; k < 3; k++) image.data[4 * n + k] = shown(light[k]);
      image.data[4 * n + 3] = 255 * Math.min(Math.max(2 * radius - Math.hypot(dx, dy), 0), 1);
    }
    const drawn = new OffscreenCanvas(size, size);
    drawn.getContext("2d").putImageData(image, 0, 0);
    this.discs = { paper, drawn };
    return drawn;
  }
}

/** Places inside, evenly strewn and the same each time. */
function scattered(count, { rows, columns, inside }) {
  const places = [];
  for (let n = 0; n < 4 * count && places.length < count; n++) {
    // Additive recurrence of the plastic number: points that keep their distance.
    const x = ((n * 0.7548776662466927) % 1) * columns;
    const y = ((n * 0.5698402909980532) % 1) * rows;
    if (inside[Math.floor(y) * columns + Math.floor(x)]) places.push([x, y]);
  }
  return places;
}

function linear(hex) {
  return [1, 3, 5].map((k) => {
    const value = parseInt(hex.slice(k, k + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

const SHOWN = Uint8ClampedArray.from({ length: 4097 }, (_, n) => {
  const value = n / 4096;
  return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
});

function shown(light) {
  return SHOWN[Math.min(Math.max(Math.round(4096 * light), 0), 4096)];
}
