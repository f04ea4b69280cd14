// On every page: loads the viewer and a trace's data when one of its figures comes near the screen.
// It adds script elements, which also work in a page that was opened from a disk.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});
  const own = document.currentScript;

  /** The data of traces that are loaded, by "MACHINE/NAME". */
  ks.stored ??= new Map();
  /** @param {string} key @param {object} data called by a data script */
  ks.data = (key, data) => void ks.stored.set(key, data);

  /** @type {Map<string, Promise<void>>} */
  const loads = new Map();

  /** Load a script or a stylesheet once. @param {string} url @returns {Promise<void>} */
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

  // The page names the viewer's files, with their versions.
  const parts = (own?.dataset.viewer ?? "").split(" ").filter(Boolean).map(part => new URL(part, own.src).href);

  /**
   * Start the viewer of a static figure.
   * @param {HTMLElement} figure @returns {Promise<object | null>} the ks.Figure; null if it stays a picture
   */
  ks.hydrate = async figure => {
    const tools = figure.querySelector(".ks-tools[data-src]");
    if (!tools) return figure.kinetoscope ?? null;
    try {
      const data = ks.stored.has(tools.dataset.trace) ? [] : [ks.load(tools.dataset.src)];
      await Promise.all([...parts.map(ks.load), ...data]);
    } catch {
      return null; // the static picture stays
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
  // Paper shows all that a reader can open: answers, expressions, folded tables.
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:is(.ks-answer, .ks-how, .sd-dropdown):not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => opened.forEach(details => (details.open = false)));

  // Choosing another machine adds its figures to the page.
  document.addEventListener("kinetoscope:machine", watch);

  const begin = () => {
    watch();
    // The viewer writes "#figure@start-end,…" into the address, where the browser finds no such id.
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
