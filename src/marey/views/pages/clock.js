// The time of the page: it runs, stops, steps and turns round at the end; others are told when it changes.

export class Clock {
  /** frames of `rate` a second; `first` and `step` give the numbers they have in their file. */
  constructor({ frames, rate, first_frame: first, frame_step: step, start }) {
    this.frames = frames;
    this.rate = rate;
    this.number = (frame) => first + step * frame;
    this.start = start;
    this.frame = start;
    this.playing = false;
    this.speed = 1;
    this.loop = true;
    this.listeners = [];
    this.before = 0;
  }

  get last() {
    return this.frames - 1;
  }

  get time() {
    return this.frame / this.rate;
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  seek(frame) {
    this.frame = Math.min(Math.max(frame, 0), this.last);
    this.tell();
  }

  step(by) {
    this.stop();
    this.seek(Math.round(this.frame) + by);
  }

  toggle() {
    if (this.playing) this.stop();
    else this.play();
  }

  play() {
    if (this.playing || this.frames < 2) return;
    if (this.frame >= this.last) this.frame = this.start;
    this.playing = true;
    this.before = performance.now();
    requestAnimationFrame((now) => this.tick(now));
    this.tell();
  }

  stop() {
    this.playing = false;
    this.tell();
  }

  tick(now) {
    if (!this.playing) return;
    // A page that was hidden or slow goes on where it was.
    const passed = Math.min(Math.max(now - this.before, 0) / 1000, 0.25);
    this.before = now;
    this.frame += passed * this.rate * this.speed;
    if (this.frame >= this.last) {
      if (this.loop) this.frame = this.start + ((this.frame - this.last) % Math.max(this.last - this.start, 1));
      else {
        this.frame = this.last;
        this.playing = false;
      }
    }
    this.tell();
    if (this.playing) requestAnimationFrame((later) => this.tick(later));
  }

  tell() {
    for (const listener of this.listeners) listener(this);
  }
}
