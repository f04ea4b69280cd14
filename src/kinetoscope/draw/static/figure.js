// One walkable timeline: a canvas over the static picture, what is selected and lit in it, and its parts.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  /** @typedef {(figure: Figure) => void} Part adds one ability to a figure when its viewer starts */
  /** @type {Part[]} */
  ks.parts ??= [];

  /** @type {Set<Figure>} every figure of the page whose viewer has started */
  const figures = new Set();

  const WIDE = [640, 590, 820]; // width of the static picture: units, least and most px
  const NARROW = [340, 312, 430];
  const TALLEST = 640; // px; a taller canvas scrolls, unless the static picture is taller too

  /**
   * Make an element.
   * @param {string} tag @param {Record<string, string>} [attributes] @param {...(Node | string)} inside
   */
  function make(tag, attributes = {}, ...inside) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...inside);
    return node;
  }

  class Figure {
    /**
     * @param {HTMLElement} element a `figure.ks-timeline` with a `.ks-frame`
     * @param {ks.Model} model
     * @param {{view?: ks.View, origin?: number}} [options] `view` may be shared with other figures; `origin` is
     *     the time of the trace (ns) at which the view's axis begins
     */
    constructor(element, model, { view, origin = 0 } = {}) {
      this.element = element;
      this.model = model;
      this.id = element.id;
      this.key = model.key;
      const start = Number(element.dataset.start ?? 0) - origin;
      const end = Number(element.dataset.end ?? model.extent) - origin;
      this.view = view ?? new ks.View(start, end, (model.data.start ?? 0) - origin, model.extent - origin);
      this.layout = new ks.Layout(model, this.view, origin);
      this.layout.homeSteps = this._homeSteps(start + origin, end + origin);
      this.selected = -1;
      this.hovered = -1;
      /** positions that a table's row or a number in a sentence lights */
      this.external = /** @type {number[]} */ ([]);
      this.hits = new Int32Array(0);
      this.draws = 0;
      this.lastFrameMs = 0;
      this._listeners = new Map();
      this._build();
      this._observe();
      for (const part of ks.parts) part(this);
      figures.add(this);
    }

    /** The steps inside the opening window, or the step around it; none if they are all steps. */
    _homeSteps(start, end) {
      const { steps } = this.model;
      const inside = steps.flatMap((step, k) => (step.start >= start && step.end <= end ? [k] : []));
      const around = steps.findIndex(step => step.start <= start && start < step.cpuEnd);
      const home = inside.length ? inside : around >= 0 ? [around] : [];
      return new Set(home.length === steps.length && inside.length !== 1 ? [] : home);
    }

    _build() {
      const frame = this.element.querySelector(".ks-frame");
      const svg = frame.querySelector("svg");
      const title = svg?.querySelector("title")?.textContent ?? this.model.data.name;
      this.frame = frame;
      this.canvas = make("canvas", { "aria-hidden": "true" });
      this.host = make("div", {
        class: "ks-walk",
        tabindex: "0",
        role: "application",
        "aria-roledescription": "timeline",
        "aria-label": title,
        "aria-describedby": `${svg?.querySelector("desc")?.id ?? ""} ${this.id}-keys`.trim(),
      }, this.canvas);
      frame.append(this.host);
      this.live = make("p", { class: "ks-unseen", role: "status" });
      frame.after(this.live);
      this._keepForPaper(frame);
      frame.classList.add("ks-live");
      this.painter = new ks.Painter(this.canvas, this.layout);
      const marked = new Set();
      for (const bar of frame.querySelectorAll(".ks-wide .ks-bar.ks-marked")) {
        // If a bar shows several events, this marks the one that the bar is named after.
        marked.add(this.model.position(Number(bar.dataset.event)));
      }
      this.painter.marked = [...marked].filter(i => i >= 0);
    }

    /** Take a picture of thousands of elements out of the page, and put it back for printing. */
    _keepForPaper(frame) {
      const pictures = [...frame.querySelectorAll(".ks-wide, .ks-narrow")];
      if (frame.querySelectorAll("*").length < 2000) return;
      this._heldBack = pictures;
      const out = () => pictures.forEach(picture => picture.remove());
      addEventListener("beforeprint", () => frame.prepend(...pictures));
      addEventListener("afterprint", out);
      this._homeHeight = frame.querySelector("svg")?.getBoundingClientRect().height;
      out();
    }

    _observe() {
      this.view.onChange(() => {
        this.invalidate();
        this.emit("view");
      });
      new ResizeObserver(() => this.resize()).observe(this.frame);
      ks.onThemeChange(() => {
        this.painter.readColors();
        this.invalidate();
      });
      this.resize();
    }

    /** @param {string} name @param {(detail?: any) => void} listener @returns {void} */
    on(name, listener) {
      this._listeners.set(name, [...(this._listeners.get(name) ?? []), listener]);
    }

    /** @param {string} name view, select, hover, tape, find, overlay, draw @param {any} [detail] */
    emit(name, detail) {
      for (const listener of this._listeners.get(name) ?? []) listener(detail);
    }

    resize() {
      let width = this.frame.clientWidth - 8;
      if (width <= 0) return;
      // The canvas is as large as the picture below it, however the page's styles size that.
      const picture = [...this.frame.querySelectorAll(".ks-svg")].find(svg => svg.getClientRects().length);
      let narrow = this.element.clientWidth < 600;
      const [units, least, most] = narrow ? NARROW : WIDE;
      this.scale = Math.min(Math.max(width, least), most) / units;
      if (picture) {
        const drawn = picture.viewBox.baseVal.width;
        narrow = drawn < 480;
        const box = picture.getBoundingClientRect();
        this.scale = box.width / drawn;
        // If there is little room beside the picture, cover just the picture; otherwise use all the room.
        width = picture.parentElement.getBoundingClientRect().width;
        if (width < 1.06 * box.width) width = box.width;
      }
      this.width = width;
      this.host.style.width = picture ? `${width}px` : "";
      this.layout.resize(width / this.scale, narrow);
      this.layout.needRows(this.view.atHome);
      this._fitHeight();
      this.invalidate();
    }

    _fitHeight() {
      const wanted = this.layout.height * this.scale;
      if (this.view.atHome) this._home = wanted;
      const height = Math.min(wanted, Math.max(TALLEST, this._home ?? 0));
      this.host.style.height = `${height.toFixed(2)}px`;
      this.painter.resize(this.width, height, this.scale);
    }

    /** Draw in the next animation frame. */
    invalidate() {
      this._frame ??= requestAnimationFrame(() => this.draw());
    }

    /** Draw now. */
    draw() {
      this._frame = undefined;
      if (!this.scale) return;
      const begin = performance.now();
      if (this.layout.needRows()) this._fitHeight();
      this.painter.draw();
      this.lastFrameMs = performance.now() - begin;
      this.draws++;
      this.emit("draw");
    }

    /** @param {string} text for screen readers */
    say(text) {
      this.live.textContent = text;
    }

    /** @param {string} text for screen readers, and shown for a moment */
    tell(text) {
      this.say(text);
      this.emit("hint", text);
    }

    /** @param {number} i position, or -1 @param {{quiet?: boolean}} [options] */
    select(i, { quiet = false } = {}) {
      this.selected = i;
      if (i >= 0) {
        this.reveal(i);
        if (!quiet) this.say(this.describe(i));
      }
      this.relight();
      this.emit("select", i);
    }

    /** @param {number} i position, or -1 @param {number} [more] further events in the same bar */
    hover(i, more = 0) {
      if (i === this.hovered && more === this.hoveredMore) return;
      this.hovered = i;
      this.hoveredMore = more;
      this.relight();
      this.emit("hover", i);
    }

    /** @param {number[]} positions that a table or a number lights; an empty list ends that */
    light(positions) {
      this.external = positions;
      this.relight();
    }

    /** Light the event under the pointer; without one, what the page lights, then what was found or selected. */
    relight() {
      const { model, painter } = this;
      const focus = this.hovered >= 0 ? this.hovered : this.selected;
      let lit = null;
      if (this.hovered < 0 && this.external.length) lit = this.external;
      else if (this.hovered < 0 && this.hits.length) lit = [...this.hits];
      else if (focus >= 0) lit = model.related(focus);
      painter.light(lit);
      painter.hovered = this.hovered;
      painter.selected = this.selected;
      painter.hits = this.hits;
      this.lit = lit ?? [];
      this.invalidate();
    }

    /** Move so that an event is in view. @param {number} i */
    reveal(i) {
      const { view, layout } = this;
      const start = layout.startOf(i);
      const end = layout.endOf(i);
      if (Number.isNaN(start)) return;
      const seen = Math.min(end, view.end) - Math.max(start, view.start);
      if (seen < 0 || (seen === 0 && end > start)) {
        view.remember("reveal");
        const span = Math.min(view.span, Math.max(8 * (end - start), 1000));
        view.go((start + end - span) / 2, (start + end + span) / 2);
      }
      layout.needRows();
      const box = layout.boxOf(i);
      const room = this.painter.seen - layout.style.axis;
      if (box.y < this.painter.scrollY) this.painter.scrollY = box.y - 20;
      else if (box.y + box.h > this.painter.scrollY + room) this.painter.scrollY = box.y + box.h - room + 20;
    }

    /** @param {number} i @returns {boolean} whether a part of the event is visible, or it has no place at all */
    inView(i) {
      const { view, layout, painter } = this;
      const box = layout.boxOf(i);
      if (Number.isNaN(box.x)) return true;
      return layout.startOf(i) <= view.end && layout.endOf(i) >= view.start &&
        box.y + box.h > painter.scrollY && box.y < painter.scrollY + painter.seen - layout.style.axis;
    }

    /** Fill the window with an event and what it launched. @param {number} i */
    zoomTo(i) {
      const { view, layout, model } = this;
      const start = layout.startOf(i);
      if (Number.isNaN(start)) return;
      const ends = model.onGpu(i) ? [] : model.caused(i).map(at => layout.endOf(at)).filter(t => !Number.isNaN(t));
      const end = Math.max(layout.endOf(i), start + 10, -ks.least(ends, t => -t));
      view.remember("event");
      const margin = (end - start) * 0.06;
      view.go(start - margin, end + margin);
    }

    /** Undo one thing: the tape, the last move, the selection, the search. @returns {boolean} whether there was one */
    escape() {
      if (this.painter.tape) this.setTape(null);
      else if (this.view.back()) this.say("Back.");
      else if (this.selected >= 0) this.select(-1);
      else if (this.hits.length) this.closeFind();
      else return false;
      return true;
    }

    /** @param {{from: number, to: number} | null} tape ns of the view's axis */
    setTape(tape) {
      this.painter.tape = tape;
      this.invalidate();
      this.emit("tape", tape);
    }

    /** @param {Int32Array} hits positions, by start */
    setHits(hits) {
      this.hits = hits;
      this.relight();
      this.emit("find", hits);
    }

    /** Draw the steps on top of each other, or one after the other. @param {boolean} on */
    overlay(on) {
      const { layout, view, model, painter } = this;
      if (on === layout.overlaid || !model.steps.length) return;
      view.stop();
      if (on) {
        this._before = { ...view, home: view.home, past: view.past };
        const longest = -ks.least(model.steps, step => step.start - step.end);
        Object.assign(view, { min: 0, max: longest * 1.02, home: { start: 0, end: longest * 1.02 }, past: [] });
      } else {
        const { min, max, home, past } = this._before;
        Object.assign(view, { min, max, home, past });
      }
      layout.overlaid = on;
      painter.labelled = [...layout.homeSteps][0] ?? 0;
      this.setTape(null);
      layout.shown.fill(0);
      view.set(view.home.start, view.home.end);
      layout.needRows(true);
      this._fitHeight();
      this.invalidate();
      this.emit("overlay", on);
    }

    /** @param {number} i @returns {string} the time from the start of its step, or of the axis, to its own */
    startText(i) {
      const step = this.model.stepOf[i];
      const from = step >= 0 ? this.model.steps[step].start : this.painter.zero + this.layout.origin;
      return ks.text.signedTime(this.model.start[i] - from);
    }

    /** An event in words. @param {number} i @returns {string} */
    describe(i) {
      const { model } = this;
      const { formatTime } = ks.text;
      const parts = [model.shortNameOf(i), model.categoryOf(i), formatTime(model.dur[i])];
      if (!model.onGpu(i)) parts.push(`self ${formatTime(model.self[i])}`);
      const step = model.stepOf[i];
      parts.push(`starts at ${this.startText(i)}${step >= 0 ? ` of step ${model.steps[step].number}` : ""}`);
      if (model.onGpu(i) && model.launch[i] >= 0) {
        parts.push(`launched by ${model.shortNameOf(model.launch[i])}`);
      }
      const caused = model.onGpu(i) ? [] : model.caused(i);
      if (caused.length) parts.push(`launches ${ks.countOf(caused.map(at => model.categoryOf(at)))}`);
      return parts.join(", ");
    }
  }

  /** @param {string[]} categories @returns {string} "2 kernels, 1 memcpy" */
  ks.countOf = categories => {
    const counts = new Map();
    for (const category of categories) counts.set(category, (counts.get(category) ?? 0) + 1);
    return [...counts].map(([category, n]) => `${n} ${category}${n > 1 && category === "kernel" ? "s" : ""}`).join(", ");
  };

  const themed = new Set();
  /** @param {() => void} listener called when the theme changes, or colors are forced */
  ks.onThemeChange = listener => {
    if (!themed.size) {
      const tell = () => themed.forEach(each => each());
      new MutationObserver(tell).observe(document.documentElement, { attributeFilter: ["data-theme", "class"] });
      new MutationObserver(tell).observe(document.body, { attributeFilter: ["data-theme", "class"] });
      for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
        matchMedia(query).addEventListener("change", tell);
      }
    }
    themed.add(listener);
  };

  /**
   * Start the viewer of a static figure, whose data must be loaded.
   * @param {HTMLElement} element @returns {Figure | null} null if the page holds no data for it
   */
  ks.enliven = element => {
    if (element.kinetoscope) return element.kinetoscope;
    const key = element.querySelector(".ks-tools")?.dataset.trace;
    const model = key ? ks.Model.of(key) : null;
    return model && (element.kinetoscope = new Figure(element, model));
  };

  ks.make = make;
  ks.figures = figures;
  ks.Figure = Figure;
})();
