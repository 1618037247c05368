// Browsers start no workers for a page that is opened as a file. There the site's search runs in a frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.held = []; // messages that come before the frame listens
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.inside.document.createElement("script");
      script.src = address;
      script.onload = () => {
        const held = this.held;
        this.held = null;
        held.forEach((data) => this.postMessage(data));
      };
      this.inside.document.head.append(script);
    }

    postMessage(data) {
      if (this.held) this.held.push(data);
      else this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
