// Links tables, numbers in sentences and timelines of one trace: pointing at one lights up the others.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});
  const SOURCES = "[data-events]";

  /** @param {Element} source @returns {Map<string, number[]>} indexes among the file's events, by trace */
  function eventsOf(source) {
    const text = source.dataset.events;
    const own = source.closest("[data-trace]")?.dataset.trace ?? "";
    const byTrace = new Map();
    for (const part of text.split(";")) {
      const [, key, places] = /^\s*(?:([^:]*):)?([\d\s]*)$/.exec(part) ?? [];
      if (places?.trim()) byTrace.set(key ?? own, places.trim().split(/\s+/).map(Number));
    }
    return byTrace;
  }

  /** The nearest figure of the trace in the page; of two that are equally near, the earlier one. */
  function nearest(source, keys) {
    const all = [...document.querySelectorAll("figure.ks-timeline")].filter(figure => {
      const key = figure.kinetoscope?.key ?? figure.querySelector(".ks-tools")?.dataset.trace;
      return keys.has(key) && figure.checkVisibility();
    });
    const from = source.getBoundingClientRect();
    const far = figure => {
      const box = figure.getBoundingClientRect();
      return Math.max(box.top - from.bottom, from.top - box.bottom, 0);
    };
    return all.reduce((best, figure) => (!best || far(figure) < far(best) ? figure : best), null);
  }

  let lightened = null;
  const light = source => {
    if (source === lightened) return;
    lightened?.classList.remove("ks-lit");
    lightened = source;
    source?.classList.add("ks-lit");
    const wanted = source ? eventsOf(source) : new Map();
    for (const figure of ks.figures) {
      const places = wanted.get(figure.key) ?? [];
      const pinned = figure.pinned ?? [];
      if (!places.length && !pinned.length && !figure.external.length) continue;
      figure.light(places.length ? places.map(index => figure.model.position(index)).filter(i => i >= 0) : pinned);
    }
  };

  /** Show in the nearest figure all that a row or a number was computed from, and select it. */
  const go = async source => {
    const events = eventsOf(source);
    const element = nearest(source, events);
    const figure = element && (element.kinetoscope ?? (await ks.hydrate?.(element)));
    if (!figure) return;
    const places = events.get(figure.key).map(index => figure.model.position(index)).filter(i => i >= 0);
    if (!places.length) return;
    const { layout, view } = figure;
    if (layout.overlaid) figure.overlay(false);
    // A number per step has events in every step; show those of the step that the figure is about.
    const home = places.filter(i => layout.homeSteps.has(layout.model.stepOf[i]));
    const shown = home.length ? home : places;
    const start = ks.least(shown, i => layout.startOf(i));
    const end = -ks.least(shown, i => -layout.endOf(i));
    if (start < view.start || end > view.end) {
      view.remember("link");
      const margin = (end - start) * 0.1 + 10;
      view.go(start - margin, end + margin);
    }
    figure.select(shown[0], { quiet: true });
    figure.pinned = places;
    figure.light(places);
    const name = figure.model.shortNameOf(shown[0]);
    const what = source.matches("tr") ? name : `${source.textContent.trim()}: ${name}`;
    figure.say(`${what}: ${places.length} ${places.length === 1 ? "event" : "events"} lit in the timeline.`);
    const header = parseFloat(getComputedStyle(figure.frame).scrollMarginTop);
    const box = figure.frame.getBoundingClientRect();
    if (box.top < header || box.bottom > innerHeight) {
      bring(figure.frame, "start");
      wayBack(figure, source);
    }
  };

  const bring = (element, block) => {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    element.scrollIntoView({ block, behavior: calm ? "instant" : "smooth" });
  };

  /** Add a button below the timeline that leads back to where the reader was. */
  const wayBack = (figure, source) => {
    figure.element.querySelector(".ks-return")?.remove();
    const button = ks.make("button", { type: "button", class: "ks-return" }, "\u21a9 Back to where you were");
    button.addEventListener("click", () => {
      button.remove();
      bring(source, "center");
      source.focus({ preventScroll: true });
    });
    figure.frame.after(button);
  };

  /** @returns {boolean} whether the page has a figure for a source; without one it stays plain text */
  const useful = source => {
    const keys = eventsOf(source);
    return [...document.querySelectorAll(".ks-tools[data-trace]")].some(tools => keys.has(tools.dataset.trace));
  };

  // All numbers of the page are one tab stop, and so is each table; arrow keys move within them.
  let numbers = [];
  const how = ks.make("p", { class: "ks-unseen", id: "ks-numbers-how" },
    "Shows its events in the timeline. Arrow keys go to the next number.");
  const seen = number => number.checkVisibility();
  const stop = (at = numbers.find(seen)) => {
    for (const number of numbers) number.tabIndex = number === at ? 0 : -1;
  };
  const rove = () => {
    numbers = [...document.querySelectorAll(`.ks-measured${SOURCES}, span[data-trace]${SOURCES}`)].filter(useful);
    if (numbers.length) (document.querySelector("main") ?? document.body).append(how);
    for (const number of numbers) {
      number.tabIndex = -1;
      number.setAttribute("role", "button");
      number.setAttribute("aria-describedby", how.id);
      number.classList.add("ks-walkable");
    }
    stop();
    for (const row of document.querySelectorAll(`.ks-table[data-trace] tr${SOURCES}`)) {
      if (!useful(row)) continue;
      row.tabIndex = -1;
      row.classList.add("ks-walkable");
    }
    for (const table of document.querySelectorAll(".ks-table[data-trace]")) {
      if (table.querySelector("tr.ks-walkable")) table.setAttribute("aria-description", "Down arrow goes through the rows; Enter shows one in the timeline.");
    }
  };

  const ours = target => target?.closest?.(".ks-walkable") ?? null;
  const listen = () => {
    rove();
    document.addEventListener("kinetoscope:machine", rove);
    document.addEventListener("pointerover", event => {
      if (event.pointerType !== "touch") light(ours(event.target) ?? ours(document.activeElement));
    });
    document.addEventListener("focusin", event => light(ours(event.target)));
    document.addEventListener("focusout", () => light(null));
    document.addEventListener("click", event => {
      const source = ours(event.target);
      // A click on a long name opens it, one on a link follows it, and selecting text selects text.
      if (!source || event.target.closest("summary, a, button") || !getSelection().isCollapsed) return;
      go(source);
    });
    document.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element)) return;
      const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      const table = event.target.closest(".ks-table");
      const inRows = table && (event.target === table || event.target.matches("tr.ks-walkable"));
      if (inRows && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        const rows = [...table.querySelectorAll("tr.ks-walkable")];
        const k = rows.indexOf(event.target);
        if (!rows.length || (k < 0 && by < 0)) return;
        (rows[k + by] ?? (k + by < 0 ? table : rows[k])).focus();
      } else if (inRows && event.key === "Escape" && event.target !== table) table.focus();
      else if (by && numbers.includes(event.target)) {
        // Skip numbers that are folded away.
        const there = numbers.filter(seen);
        const next = there[there.indexOf(event.target) + by];
        if (!next) return;
        stop(next);
        next.focus();
      } else if ((event.key === "Enter" || event.key === " ") && event.target.matches(".ks-walkable")) go(event.target);
      else return;
      event.preventDefault();
    });
    document.addEventListener("focusin", event => numbers.includes(event.target) && stop(event.target));
    document.addEventListener("toggle", () => {
      if (!numbers.some(number => number.tabIndex === 0 && seen(number))) stop();
    }, true);
  };
  let listening = false;

  ks.parts.push(figure => {
    if (!listening) listen();
    listening = true;
    /** Rows with events of this trace. */
    const rows = [...document.querySelectorAll(`.ks-table[data-trace] tr${SOURCES}`)]
      .map(row => ({ row, places: new Set(eventsOf(row).get(figure.key) ?? []) }))
      .filter(({ places }) => places.size);
    const mark = () => {
      const i = figure.hovered >= 0 ? figure.hovered : figure.selected;
      const index = i >= 0 ? figure.model.index[i] : -1;
      for (const { row, places } of rows) row.classList.toggle("ks-of-event", places.has(index));
    };
    figure.on("hover", mark);
    figure.on("select", () => {
      figure.pinned = [];
      if (figure.external.length && !lightened) figure.light([]);
      mark();
    });
  });
})();
