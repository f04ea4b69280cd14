// On every page: loads the timeline viewer and a trace's data when one of its figures comes near the screen.
// Everything is added as a <script>, which also works in a page that was opened from a disk.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});
  const own = document.currentScript;

  /** What the data scripts of this page have brought, by "MACHINE/NAME". */
  ks.stored ??= new Map();
  /** @param {string} key @param {object} data called by a data script */
  ks.data = (key, data) => void ks.stored.set(key, data);

  /** @type {Map<string, Promise<void>>} */
  const loads = new Map();

  /** @param {string} url of a script, loaded once @returns {Promise<void>} */
  ks.load = url => {
    const address = new URL(url, document.baseURI).href;
    if (!loads.has(address)) {
      loads.set(address, new Promise((resolve, reject) => {
        const style = new URL(address).pathname.endsWith(".css");
        const node = document.createElement(style ? "link" : "script");
        if (style) Object.assign(node, { rel: "stylesheet", href: address });
        else Object.assign(node, { src: address, async: false });
        node.addEventListener("load", () => resolve());
        node.addEventListener("error", () => reject(new Error(`${address} could not be loaded`)));
        document.head.append(node);
      }));
    }
    return loads.get(address);
  };

  // What the viewer consists of is told by the page, with a mark of each file's version.
  const parts = (own?.dataset.viewer ?? "").split(" ").filter(Boolean).map(part => new URL(part, own.src).href);

  /**
   * Bring a static figure to life.
   * @param {HTMLElement} figure @returns {Promise<object | null>} the ks.Figure; null where it stays a picture
   */
  ks.hydrate = async figure => {
    const tools = figure.querySelector(".ks-tools[data-src]");
    if (!tools) return figure.kinetoscope ?? null;
    try {
      const data = ks.stored.has(tools.dataset.trace) ? [] : [ks.load(tools.dataset.src)];
      await Promise.all([...parts.map(ks.load), ...data]);
    } catch {
      return null; // the picture stays, and says all that it said
    }
    return ks.enliven(figure);
  };

  const near = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      ks.hydrate(entry.target);
    }
  }, { rootMargin: "300px 0px" });

  const watched = new WeakSet();
  const watch = () => {
    for (const figure of document.querySelectorAll("figure.ks-timeline")) {
      if (watched.has(figure) || !figure.querySelector(".ks-tools[data-src]")) continue;
      watched.add(figure);
      near.observe(figure);
    }
  };
  // On paper nothing can be opened: answers, and what was asked of the recording.
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:is(.ks-answer, .ks-how, .sd-dropdown):not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => opened.forEach(details => (details.open = false)));

  // Figures of another machine come into the page when it is chosen.
  document.addEventListener("kinetoscope:machine", watch);

  const begin = () => {
    watch();
    // "#figure@start-end,…" is where a reader was; the browser itself knows no such place.
    const id = /^#([^@]+)@/.exec(location.hash)?.[1];
    const asked = id && document.getElementById(decodeURIComponent(id));
    if (asked?.matches("figure.ks-timeline")) {
      asked.scrollIntoView({ block: "center" });
      ks.hydrate(asked);
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
