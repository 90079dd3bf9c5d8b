// Pages opened from a disk may start no workers, and the search runs in one: there it runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...addresses) => Promise.all(addresses.map((each) => load(inside, each)));
      this.ready = load(inside, url);
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };

  function load(inside, address) {
    return new Promise((done, failed) => {
      const script = inside.document.createElement("script");
      script.onload = done;
      script.onerror = failed;
      script.src = address;
      inside.document.body.append(script);
    });
  }
}
