// A lit stage with a ground: what stands on it is framed, followed and drawn only when something changed.

import {
  Box3, Color, DirectionalLight, DoubleSide, HemisphereLight, Mesh, PCFShadowMap, PerspectiveCamera,
  PlaneGeometry, Scene, ShaderMaterial, ShadowMaterial, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { around } from "./arrays.js";

const LIGHT = { paper: "#f4f4f2", line: "#c9cccf", shadow: 0.28, sky: 2.2, bounce: "#d8d4cc", sun: 1.8 };
const DARK = { paper: "#1b1e22", line: "#3a4048", shadow: 0.55, sky: 1.4, bounce: "#55534f", sun: 1.9 };

/** Colours of the page as the reader prefers them. */
export function scheme() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT;
}

export class Stage {
  /** spec: {low, high, towards, size, ground, way}: what is to be seen and from where, metres. */
  constructor(canvas, spec) {
    this.canvas = canvas;
    this.spec = spec;
    this.renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: false });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(30, 1, 0.05, 1000);
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.enableDamping = false;
    this.orbit.maxPolarAngle = 0.56 * Math.PI;
    this.orbit.addEventListener("change", () => this.invalidate());
    this.followed = null;
    this.following = false;
    this.waiting = false;
    this.draw = this.draw.bind(this);
    this.light();
    this.lay();
    this.paint();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.resize();
    this.frameAll();
  }

  add(object) {
    this.scene.add(object);
    this.invalidate();
  }

  /** Draws before long, once however often it is asked for. */
  invalidate() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(this.draw);
  }

  draw() {
    this.waiting = false;
    const reach = this.camera.position.distanceTo(this.orbit.target);
    this.camera.near = Math.max(reach / 200, 0.005 * this.spec.size);
    this.camera.far = 60 * reach + 20 * this.extent;
    this.camera.updateProjectionMatrix();
    this.renderer.render(this.scene, this.camera);
  }

  /** Follows the body: `way` is where it is in each frame, `(frames, 3)`. */
  setWay(way) {
    this.way = way;
  }

  follow(on, frame) {
    this.following = on && Boolean(this.way);
    this.followed = null;
    if (this.following) {
      this.place(this.at(frame), this.spec.size * 1.12, 0.5 * this.spec.size);
      this.followed = this.at(frame);
    } else this.frameAll();
    this.invalidate();
  }

  /** Told for every frame that is shown. */
  moveTo(frame) {
    if (this.way) {
      const here = this.at(frame);
      if (this.following && this.followed) {
        const moved = here.clone().sub(this.followed);
        this.orbit.target.add(moved);
        this.camera.position.add(moved);
        this.followed = here;
        this.orbit.update();
      }
      this.aimSun(here);
    }
    this.invalidate();
  }

  at(frame) {
    const [a, b, t] = around(frame, this.way.length / 3);
    const mix = (k) => (1 - t) * this.way[3 * a + k] + t * this.way[3 * b + k];
    // Followed on the level: a body that jumps should be seen to.
    return new Vector3(mix(0), this.spec.ground + 0.5 * this.spec.size, mix(2));
  }

  frameAll() {
    const { low, high } = this.spec;
    const box = new Box3(new Vector3(...low), new Vector3(...high));
    const centre = box.getCenter(new Vector3());
    this.fit(centre, corners(box), 0.9);
  }

  place(centre, size, half) {
    const reach = new Vector3(0.55 * size, half * 1.15, 0.55 * size);
    const box = new Box3(centre.clone().sub(reach), centre.clone().add(reach));
    this.fit(centre, corners(box), 0.86);
  }

  /** The nearest place along the usual direction from which all points are seen. */
  fit(centre, points, margin) {
    const towards = this.towards();
    const side = new Vector3(0, 1, 0).cross(towards).normalize();
    const up = towards.clone().cross(side);
    const tall = margin * Math.tan((this.camera.fov * Math.PI) / 360);
    const wide = tall * this.camera.aspect;
    let reach = 0.1;
    for (const point of points) {
      const away = point.clone().sub(centre);
      const depth = away.dot(towards);
      reach = Math.max(reach, depth + Math.abs(away.dot(side)) / wide, depth + Math.abs(away.dot(up)) / tall);
    }
    this.orbit.target.copy(centre);
    this.camera.position.copy(centre).addScaledVector(towards, reach);
    this.orbit.minDistance = 0.02 * reach;
    this.orbit.maxDistance = 20 * reach;
    this.orbit.update();
    this.invalidate();
  }

  /** Where the camera is seen from; a wide place stands upright on a tall screen. */
  towards() {
    const { towards, low, high, way } = this.spec;
    const usual = new Vector3(...towards).normalize();
    if (way || this.camera.aspect > 0.8) return usual;
    const wide = Math.abs(usual.z) > Math.abs(usual.x) ? high[0] - low[0] : high[2] - low[2];
    const deep = Math.abs(usual.z) > Math.abs(usual.x) ? high[2] - low[2] : high[0] - low[0];
    return wide > 1.3 * deep ? usual.applyAxisAngle(new Vector3(0, 1, 0), Math.PI / 2) : usual;
  }

  get extent() {
    const { low, high } = this.spec;
    return Math.max(high[0] - low[0], high[1] - low[1], high[2] - low[2], this.spec.size);
  }

  light() {
    this.sky = new HemisphereLight(0xffffff, 0xffffff, 1);
    this.sun = new DirectionalLight(0xffffff, 1);
    this.sun.castShadow = true;
    // One body has a sharp shadow that goes with it, a place has one map for all of it.
    const reach = this.spec.way ? 1.3 * this.spec.size : 0.75 * this.extent;
    const shadow = this.sun.shadow;
    shadow.mapSize.set(1024, 1024);
    Object.assign(shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach });
    shadow.camera.near = 0.1;
    shadow.camera.far = 8 * reach;
    shadow.radius = 5;
    shadow.normalBias = 0.012 * this.spec.size;
    shadow.bias = -0.0005;
    this.sunReach = 4 * reach;
    this.scene.add(this.sky, this.sun, this.sun.target);
    const { low, high } = this.spec;
    this.aimSun(new Vector3((low[0] + high[0]) / 2, this.spec.ground, (low[2] + high[2]) / 2));
  }

  aimSun(place) {
    this.sun.target.position.set(place.x, this.spec.ground, place.z);
    // From high up on the camera's left: the shadow lies close to the feet.
    const towards = new Vector3(...this.spec.towards).setY(0).normalize();
    const from = towards.multiplyScalar(0.35).add(new Vector3(-0.45 * towards.z, 1, 0.45 * towards.x));
    this.sun.position.copy(this.sun.target.position).addScaledVector(from.normalize(), this.sunReach);
  }

  lay() {
    const { low, high, ground, size } = this.spec;
    const reach = 6 * this.extent + 12 * size;
    const centre = [(low[0] + high[0]) / 2, (low[2] + high[2]) / 2];
    const spacing = spaced(Math.max(size / 3, this.extent / 24));
    const plane = new PlaneGeometry(2 * reach, 2 * reach).rotateX(-Math.PI / 2);
    this.catcher = new Mesh(plane, new ShadowMaterial({ opacity: 0.3 }));
    this.catcher.receiveShadow = true;
    this.grid = new Mesh(plane, new ShaderMaterial({
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
      uniforms: {
        ink: { value: new Color() }, spacing: { value: spacing },
        fade: { value: 1.4 * this.extent + 2.5 * size },
        centre: { value: new Vector3(centre[0], 0, centre[1]) },
      },
      vertexShader: `varying vec3 place;
        void main() { vec4 p = modelMatrix * vec4(position, 1.0); place = p.xyz;
          gl_Position = projectionMatrix * viewMatrix * p; }`,
      fragmentShader: `varying vec3 place; uniform vec3 ink, centre; uniform float spacing, fade;
        float lines(float every, float wide) {
          vec2 at = place.xz / every; vec2 size = fwidth(at);
          vec2 near = abs(fract(at - 0.5) - 0.5) / max(size, 1e-6);
          float line = 1.0 - min(min(near.x, near.y) / wide, 1.0);
          return line * (1.0 - smoothstep(0.25, 0.8, max(size.x, size.y))); }
        void main() {
          float far = smoothstep(1.0, 0.2, distance(place.xz, centre.xz) / fade);
          float line = max(0.45 * lines(spacing, 1.0), lines(5.0 * spacing, 1.25));
          if (line * far < 0.004) discard;
          gl_FragColor = vec4(ink, line * far);
          #include <colorspace_fragment>
        }`,
    }));
    for (const mesh of [this.catcher, this.grid]) {
      mesh.position.set(centre[0], ground - 0.001 * size, centre[1]);
      this.scene.add(mesh);
    }
    this.grid.position.y -= 0.001 * size;
    this.grid.renderOrder = -1;
  }

  paint() {
    const colours = scheme();
    this.scene.background = new Color(colours.paper);
    this.grid.material.uniforms.ink.value.set(colours.line);
    this.catcher.material.opacity = colours.shadow;
    this.sky.intensity = colours.sky;
    this.sky.groundColor.set(colours.bounce);
    this.sun.intensity = colours.sun;
    this.invalidate();
  }

  resize() {
    const { clientWidth: wide, clientHeight: tall } = this.canvas.parentElement;
    if (!wide || !tall) return;
    const before = this.camera.aspect;
    this.camera.aspect = wide / tall;
    this.camera.updateProjectionMatrix();
    this.renderer.setSize(wide, tall, false);
    if (Math.abs(before - this.camera.aspect) > 0.01 && !this.following) this.frameAll();
    this.invalidate();
  }
}

/** 1, 2 or 5 times a power of ten, not less than `least`. */
function spaced(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((n) => n * power >= least * 0.999);
}

function corners({ min, max }) {
  return [0, 1, 2, 3, 4, 5, 6, 7].map(
    (n) => new Vector3(n & 1 ? max.x : min.x, n & 2 ? max.y : min.y, n & 4 ? max.z : min.z),
  );
}
