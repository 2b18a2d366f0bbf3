// A page that was opened from a folder may not start a worker. The search gets a hidden frame
// instead, which runs the same script and talks to the page in the same way.

class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inner = this.frame.contentWindow;
    inner.document.write("<html><body></body></html>");
    inner.document.close();
    inner.postMessage = (data) => parent.postMessage(data, "*");
    inner.importScripts = (...urls) => urls.reduce((done, one) => done.then(() => load(inner, one)), Promise.resolve());
    window.addEventListener("message", (event) => {
      if (event.source === window && event.data && "type" in event.data) this.deliver(event.data);
    });
    this.ready = load(inner, url);
  }

  deliver(data) {
    const event = new MessageEvent("message", { data });
    this.dispatchEvent(event);
    this.onmessage?.(event);
  }

  postMessage(data) {
    this.ready.then(() => {
      const event = new MessageEvent("message", { data: structuredClone(data) });
      this.frame.contentWindow.dispatchEvent(event);
    });
  }

  terminate() {
    this.frame.remove();
  }
}

function load(inner, url) {
  return new Promise((resolve, reject) => {
    const script = inner.document.createElement("script");
    script.src = url;
    script.onload = resolve;
    script.onerror = reject;
    inner.document.body.append(script);
  });
}

window.IFrameWorker = IFrameWorker;
if (location.protocol === "file:") window.Worker = IFrameWorker;
