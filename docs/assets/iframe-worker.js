// The theme searches in a worker, which browsers refuse to pages that are opened from a disk. There the worker's script
// runs in a hidden iframe instead: Worker as far as the theme uses it, under the name by which its script knows that.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      const load = (address) =>
        new Promise((resolve, reject) => {
          const script = inner.document.createElement("script");
          script.src = address;
          script.onload = resolve;
          script.onerror = () => reject(new Error(`cannot load ${address}`));
          inner.document.body.append(script);
        });
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
      this.ready = load(url);
    }

    postMessage(data) {
      const inner = this.frame.contentWindow;
      this.ready.then(() => inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
