// A page opened from a folder (file://) may not start workers. The search is a worker: here it runs in a hidden
// frame instead, with the few parts of the interface that it uses.
(function () {
  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      const page = this.frame.contentDocument;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data: data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      // Scripts follow one another; the promise lets whoever asks wait for the last.
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => this.load(page, address, url)), Promise.resolve());
      this.inside = inside;
      this.load(page, url, location.href).then(() => {
        const late = this.waiting;
        this.waiting = null;
        late.forEach((data) => this.deliver(data));
      });
    }

    load(page, address, base) {
      return new Promise((resolve, reject) => {
        const script = page.createElement("script");
        script.src = new URL(address, base).href;
        script.onload = resolve;
        script.onerror = reject;
        page.body.appendChild(script);
      });
    }

    deliver(data) {
      this.inside.dispatchEvent(new MessageEvent("message", { data: data }));
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.deliver(data);
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.Worker = FrameWorker;
})();
