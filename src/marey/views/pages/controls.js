// The bar below the picture: play, step, scrub, speed, loop, and what the picture offers to switch.

const byId = (id) => document.getElementById(id);

/** Connects the bar with the clock; `options` are switches {label, key, on, set} or choices {label, choices, set}. */
export function connect(clock, options, { spans, legend = [] }) {
  if (clock.frames > 1) connectTime(clock);
  else byId("time").hidden = true;
  const keys = new Map();
  for (const option of options) {
    const control = option.choices ? choice(option) : toggle(option);
    byId("options").append(control);
    if (option.key) keys.set(option.key, control);
  }
  byId("bar").hidden = clock.frames < 2 && options.length === 0;
  const names = new Map(legend.map(({ label, colour }) => [label, colour]));
  for (const span of spans) names.set(span.label, span.colour);
  if (spans.length) drawSpans(spans, clock);
  if (names.size) drawLegend(names);
  document.addEventListener("keydown", (event) => pressed(event, clock, keys));
}

function connectTime(clock) {
  const slider = byId("scrub");
  slider.max = clock.last;
  byId("play").addEventListener("click", () => clock.toggle());
  byId("back").addEventListener("click", () => clock.step(-1));
  byId("forth").addEventListener("click", () => clock.step(1));
  byId("speed").addEventListener("change", (event) => (clock.speed = Number(event.target.value)));
  byId("loop").addEventListener("click", (event) => {
    clock.loop = !clock.loop;
    event.currentTarget.setAttribute("aria-pressed", clock.loop);
  });
  slider.addEventListener("input", () => {
    clock.stop();
    clock.seek(Number(slider.value));
  });
  clock.onChange(() => show(clock, slider));
  show(clock, slider);
}

function show(clock, slider) {
  const frame = Math.round(clock.frame);
  slider.value = frame;
  slider.style.setProperty("--done", `${(100 * clock.frame) / Math.max(clock.last, 1)}%`);
  const words = `${clock.time.toFixed(2)} s · frame ${clock.number(frame)}`;
  slider.setAttribute("aria-valuetext", words);
  byId("now").textContent = words;
  const button = byId("play");
  if (button.dataset.playing !== String(clock.playing)) {
    button.dataset.playing = clock.playing;
    button.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
  }
}

function toggle({ label, key, on, set }) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label;
  button.className = "toggle";
  button.setAttribute("aria-pressed", Boolean(on));
  if (key) button.title = `${label} (${key})`;
  button.addEventListener("click", () => {
    const now = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", now);
    set(now);
  });
  return button;
}

function choice({ label, choices, set }) {
  const select = document.createElement("select");
  select.setAttribute("aria-label", label);
  choices.forEach((name, index) => select.append(new Option(name, index)));
  select.addEventListener("change", () => set(Number(select.value)));
  return select;
}

function drawSpans(spans, clock) {
  const bar = byId("spans");
  bar.hidden = false;
  for (const { first, last, label, colour } of spans) {
    const piece = document.createElement("i");
    piece.style.left = `${(100 * first) / Math.max(clock.last, 1)}%`;
    piece.style.width = `${(100 * (last - first)) / Math.max(clock.last, 1)}%`;
    piece.style.background = colour;
    piece.title = label;
    bar.append(piece);
  }
}

function drawLegend(names) {
  const legend = byId("legend");
  legend.hidden = false;
  for (const [label, colour] of names) {
    const entry = document.createElement("span");
    const dot = document.createElement("i");
    dot.style.background = colour;
    entry.append(dot, label);
    legend.append(entry);
  }
}

function pressed(event, clock, keys) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const tag = event.target.tagName;
  if (tag === "SELECT") return;
  const moves = {
    ArrowLeft: () => clock.step(event.shiftKey ? -10 : -1),
    ArrowRight: () => clock.step(event.shiftKey ? 10 : 1),
    Home: () => clock.seek(0),
    End: () => clock.seek(clock.last),
  };
  if (event.key === " " && tag !== "BUTTON") clock.toggle();
  else if (event.key in moves) moves[event.key]();
  else if (keys.has(event.key.toLowerCase())) keys.get(event.key.toLowerCase()).click();
  else return;
  event.preventDefault();
}
