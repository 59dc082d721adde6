// What a page of marey does when it is opened: reads what it is to show, shows it, and plays it.

import { Clock } from "./clock.js";
import { connect } from "./controls.js";
import { floats } from "./arrays.js";
import { Stage } from "./stage.js";
import { showField } from "./field.js";
import { figureLayer } from "./figure.js";
import { showFilm, showMatrix, showPicture } from "./flat.js";
import { ghostOption } from "./ghosts.js";
import { glbLayer } from "./glb.js";
import { peopleLayer } from "./people.js";
import { pointsLayer } from "./points.js";
import { solidLayer } from "./solids.js";
import { surfaceLayer } from "./surface.js";
import { walkersLayer } from "./walkers.js";

/** How each kind of layer comes on the stage: (spec, {clock, stage}) -> {object, options, update(frame), ghost?}. */
const LAYERS = {
  figure: figureLayer,
  glb: glbLayer,
  people: peopleLayer,
  points: pointsLayer,
  solid: solidLayer,
  surface: surfaceLayer,
  walkers: walkersLayer,
};

async function playStage(page, clock) {
  const canvas = element("canvas", "A view of it that can be turned: drag to orbit, scroll to come nearer");
  const stage = new Stage(canvas, page.stage);
  const layers = [];
  for (const spec of page.layers) {
    const layer = await LAYERS[spec.kind](spec, { clock, stage });
    stage.add(layer.object);
    layers.push(layer);
  }
  const options = [];
  // On a narrow screen a body would be small from where all its way is seen.
  const follows = Boolean(page.stage.way) && page.stage.travel > (stage.camera.aspect < 1 ? 0.8 : 3) * page.stage.size;
  const updates = layers.map((layer) => layer.update);
  if (page.stage.way) {
    stage.setWay(await floats(page.stage.way));
    options.push({ label: "Follow", key: "f", on: follows, set: (on) => stage.follow(on, clock.frame) });
  }
  const haunting = layers.filter((layer) => layer.ghost);
  if (page.stage.ghosts && haunting.length === 1 && clock.frames > 1) {
    const ghosts = ghostOption(haunting[0].ghost, { clock, stage });
    updates.push(ghosts.update);
    options.push(ghosts.option);
  }
  for (const layer of layers) options.push(...layer.options);
  clock.onChange(() => {
    for (const update of updates) update(clock.frame);
    stage.moveTo(clock.frame);
  });
  clock.tell();
  if (follows) stage.follow(true, clock.frame);
  return options;
}

const SHOWS = { stage: playStage, field: showField, film: showFilm, matrix: showMatrix, picture: showPicture };

function element(tag, label) {
  const made = document.createElement(tag);
  made.setAttribute("aria-label", label);
  made.setAttribute("role", "img");
  made.tabIndex = 0;
  document.getElementById("view").append(made);
  return made;
}

async function open() {
  const page = JSON.parse(document.getElementById("page").textContent);
  const clock = new Clock(page);
  const marey = { clock, ready: false };
  window.marey = marey;
  try {
    const options = await SHOWS[page.show](page, clock, element);
    connect(clock, options, page);
    document.body.dataset.ready = "true";
    marey.ready = true;
    if (location.hash === "#play") clock.play();
  } catch (error) {
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.setAttribute("role", "alert");
    notice.textContent = /WebGL/i.test(String(error))
      ? "This browser cannot draw in three dimensions here (WebGL is off or missing). Another browser, or a newer "
        + "one, will show it; marey can also write it as a film: marey view … -o clip.mp4"
      : `This page could not be shown: ${error.message ?? error}`;
    document.getElementById("view").replaceChildren(notice);
    document.body.dataset.ready = "failed";
  }
}

open();
