// Draws one frame onto a canvas, so that it looks like the static picture.  Colors come from the page's variables.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  const PLAIN = ["surface", "text", "muted", "grid", "band", "idle", "arrow", "highlight"];
  const OTHER_STEP = 0.32; // opacity; .ks-faded has the same
  const CROWD = 120; // more arrows than this are drawn faintly
  const BESIDE = 0.6; // opacity of overlaid steps that the figure is not about
  const ASIDE = ks.ASIDE;
  const MANY_BARS = 1500; // with more bars than this, only wide ones get an edge

  class Painter extends ks.Writer {
    /** @param {HTMLCanvasElement} canvas @param {ks.Layout} layout */
    constructor(canvas, layout) {
      super();
      this.canvas = canvas;
      this.layout = layout;
      this.model = layout.model;
      this.context = canvas.getContext("2d");
      this.scale = 1;
      this.scrollY = 0;
      /** ns on the view's axis that the labels call 0 */
      this.zero = layout.view.home.start;
      this.selected = -1;
      this.hovered = -1;
      /** positions of lit events, all others are faint; null lights all */
      this.lit = /** @type {number[] | null} */ (null);
      this._lit = new Uint8Array(this.model.count);
      let rows = 0;
      this._rowBase = this.model.lanes.map(lane => (rows += lane.rows) - lane.rows);
      this._taken = new Float64Array(rows);
      /** tips of the arrows drawn since their heads were filled */
      this._tips = /** @type {[number, number][]} */ ([]);
      this._at = { x: 0, y: 0, w: 0, h: 0 };
      /** positions that the search found, outlined */
      this.hits = /** @type {ArrayLike<number>} */ ([]);
      /** positions that the page's :highlight: option marks */
      this.marked = /** @type {number[]} */ ([]);
      /** @type {{from: number, to: number} | null} the measuring tape, on the view's axis */
      this.tape = null;
      this.readColors();
    }

    /** Read the page's colors; call it whenever the theme changes. */
    readColors() {
      const style = getComputedStyle(this.canvas);
      const forced = matchMedia("(forced-colors: active)").matches;
      const value = name => style.getPropertyValue(`--ks-${name}`).trim() || "#888";
      const system = { highlight: "Highlight", surface: "Canvas", band: "Canvas", idle: "Canvas" };
      this.color = {};
      for (const name of PLAIN) this.color[name] = forced ? system[name] ?? "CanvasText" : value(name);
      this.fill = this.model.kinds.map(kind => (forced ? "Canvas" : value(kind)));
      this.ink = this.model.kinds.map(kind => (forced ? "CanvasText" : value(`${kind}-ink`)));
      this.edge = this.model.kinds.map(kind => (forced ? "CanvasText" : value(`${kind}-edge`)));
      this.family = style.fontFamily;
    }

    /** @param {number} width CSS px @param {number} height CSS px @param {number} scale px of one unit */
    resize(width, height, scale) {
      const dense = globalThis.devicePixelRatio || 1;
      this.scale = scale;
      this.dense = dense;
      this.pxHeight = height;
      const w = Math.round(width * dense);
      const h = Math.round(height * dense);
      if (this.canvas.width !== w || this.canvas.height !== h) {
        this.canvas.width = w;
        this.canvas.height = h;
      }
      if (this.lettering?.font !== this.layout.style.font) {
        this.lettering = new ks.text.Lettering(this.model.forms, this.layout.style.font);
      }
    }

    /** How much of the picture's height is visible, in units. */
    get seen() {
      return this.pxHeight / this.scale;
    }

    /** @param {number[] | null} positions */
    light(positions) {
      if (this.lit) for (const i of this.lit) this._lit[i] = 0;
      this.lit = positions;
      if (positions) for (const i of positions) this._lit[i] = 1;
    }

    draw() {
      const { context: c, layout, scale, dense, seen } = this;
      const { style } = layout;
      this.scrollY = Math.max(0, Math.min(this.scrollY, layout.height - seen));
      layout.place();
      c.setTransform(dense * scale, 0, 0, dense * scale, 0, 0);
      c.clearRect(0, 0, layout.width + 1, seen + 1);
      const axis = seen - style.axis;
      this._bands(axis);
      this._grid(axis);
      c.save();
      c.beginPath();
      c.rect(0, 0, layout.width, axis);
      c.clip();
      c.translate(0, -this.scrollY);
      this._tracks();
      this._arrows(false);
      this._bars();
      if (this.lit) this._litBars();
      if (this.lit) this._arrows(true);
      this._outlines();
      this._labels();
      this._laneLabels();
      c.restore();
      if (this.tape) this._tape(axis);
    }

    _bands(bottom) {
      const { context: c, layout } = this;
      c.fillStyle = this.color.band;
      if (layout.overlaid) {
        c.fillRect(layout.style.side, 0, layout.width - 2 * layout.style.side, bottom);
        return;
      }
      for (const step of this.model.steps) {
        const x = Math.max(layout.style.side, layout.xAt(step.start - layout.origin));
        const end = Math.min(layout.width - layout.style.side, layout.xAt(step.cpuEnd - layout.origin));
        if (end > x) c.fillRect(x, 0, end - x, bottom);
      }
    }

    _grid(bottom) {
      const { context: c, layout, color } = this;
      const { style, view, width } = layout;
      const room = width - 2 * style.side;
      const least = ks.text.textWidth("0000 µs", style.font) * 1.5;
      const step = nice((view.span * least) / room);
      const [unit, name] = view.span >= 1e7 ? [1e6, "ms"] : [1e3, "µs"];
      const zero = layout.overlaid ? 0 : this.zero;
      c.strokeStyle = color.grid;
      c.fillStyle = color.muted;
      c.lineWidth = 1;
      c.textAlign = "center";
      c.font = `${style.font}px ${this.family}`;
      c.beginPath();
      let taken = -1;
      for (let k = Math.ceil((view.start - zero) / step - 1e-9); ; k++) {
        const t = zero + k * step;
        if (t > view.end) break;
        const x = layout.xAt(t);
        c.moveTo(x, 0);
        c.lineTo(x, bottom + 3);
        const label = `${String(Number(((k * step) / unit).toPrecision(12))).replace("-", "\u2212")} ${name}`;
        const half = ks.text.textWidth(label, style.font) / 2;
        const centre = k === 0 ? Math.max(x, half) : x;
        if (centre - half < taken || centre + half > width || centre - half < 0) continue;
        taken = centre + half + style.pad;
        c.fillText(label, centre, bottom + style.font + 4);
      }
      c.stroke();
    }

    _tracks() {
      const { context: c, layout } = this;
      c.fillStyle = this.color.idle;
      for (let lane = 0; lane < layout.shown.length; lane++) {
        if (!layout.shown[lane] || !this.model.lanes[lane].gpu) continue;
        const side = layout.style.side;
        c.fillRect(side, layout.laneY[lane], layout.width - 2 * side, layout.laneHeight(lane));
      }
    }

    /** Draw all bars, kind by kind, so that each color is set once. */
    _bars() {
      const { context: c, layout, model } = this;
      const { of, x, y, w, h, faded } = layout;
      const fine = layout.count < MANY_BARS;
      const aside = this.lit ? ASIDE : 1;
      c.lineWidth = layout.overlaid ? 0.4 : 0.75;
      for (let other = 0; other < 2; other++) {
        c.globalAlpha = Math.min(aside, other ? (layout.overlaid ? BESIDE : OTHER_STEP) : 1);
        for (let kind = 0; kind < this.fill.length; kind++) {
          c.fillStyle = this.fill[kind];
          c.strokeStyle = this.edge[kind];
          if (fine) c.beginPath();
          let any = false;
          for (let k = 0; k < layout.count; k++) {
            if (model.kind[of[k]] !== kind || faded[k] !== other) continue;
            any = true;
            if (!fine) {
              // A path of thousands of boxes is slow to fill and slower to stroke, so each is drawn by itself.
              c.fillRect(x[k], y[k], w[k], h[k]);
              if (w[k] >= 3 && h[k] >= 3) c.strokeRect(x[k], y[k], w[k], h[k]);
            } else if (w[k] >= 3 && h[k] > 4) c.roundRect(x[k], y[k], w[k], h[k], 2);
            else c.rect(x[k], y[k], w[k], h[k]);
          }
          if (!fine || !any) continue;
          c.fill();
          if (!layout.overlaid || layout.strip >= 3) c.stroke();
        }
      }
      c.globalAlpha = 1;
    }

    /** Set _at to an event's box, even if it shares a bar with others. @returns {boolean} whether it is in view */
    _box(i) {
      const { layout } = this;
      if (!layout.shown[this.model.lane[i]]) return false;
      const start = layout.startOf(i);
      if (!(start < layout.view.end) || layout.endOf(i) < layout.view.start) return false;
      const k = layout.barOf(i);
      const box = this._at;
      if (k >= 0 && layout.of[k] === i) {
        box.x = layout.x[k];
        box.y = layout.y[k];
        box.w = layout.w[k];
        box.h = layout.h[k];
        return true;
      }
      const whole = layout.boxOf(i);
      const right = layout.width - layout.style.side;
      box.x = Math.min(Math.max(whole.x, layout.style.side), right - layout.style.least);
      box.w = Math.max(Math.min(whole.x + whole.w, right) - box.x, layout.style.least);
      box.y = whole.y;
      box.h = whole.h;
      return true;
    }

    _litBars() {
      const { context: c, model, _at: box } = this;
      c.lineWidth = 0.75;
      this._taken.fill(-1);
      let kind = -1;
      for (const i of this.lit) {
        if (!this._box(i) || this._isTaken(i)) continue;
        // Most of thousands of bars have one color, and the browser parses it each time it is set.
        if (model.kind[i] !== kind) c.fillStyle = this.fill[(kind = model.kind[i])];
        if (box.w < 3 || box.h < 3) {
          c.fillRect(box.x, box.y, box.w, box.h);
          continue;
        }
        c.beginPath();
        c.roundRect(box.x, box.y, box.w, box.h, 2);
        c.fill();
        c.strokeStyle = this.edge[model.kind[i]];
        c.stroke();
      }
    }

    /** Tell whether a bar would lie on one that is drawn already; to be asked once for each, by start. */
    _isTaken(i) {
      const { x, w } = this._at;
      const row = this._rowBase[this.model.lane[i]] + this.model.row[i];
      // A narrow bar that reaches out by less than a unit shows nothing new.
      if (x + w <= this._taken[row] + (w < 2 ? 0.75 : 0)) return true;
      this._taken[row] = Math.max(x + w, x + 1);
      return false;
    }

    /** Outline highlighted, found, hovered and selected bars. */
    _outlines() {
      this._outline(this.marked, this.color.highlight, 2.5);
      this._outline(this.hits, this.color.highlight, 1.75);
      if (this.hovered >= 0) this._outline([this.hovered], this.color.text, 1.5);
      if (this.selected >= 0) this._outline([this.selected], this.color.text, 2.5);
    }

    _outline(events, color, width) {
      const { context: c, _at: box } = this;
      if (!events.length) return;
      c.strokeStyle = c.fillStyle = color;
      c.lineWidth = this.layout.overlaid ? Math.min(width, 1.5) : width;
      c.beginPath();
      this._taken.fill(-1);
      const few = events.length < 50;
      for (let k = 0; k < events.length; k++) {
        if (!this._box(events[k]) || (!few && this._isTaken(events[k]))) continue;
        if (few) c.roundRect(box.x, box.y, box.w, box.h, Math.min(2, box.h / 2, box.w / 2));
        else if (box.w >= 4) c.strokeRect(box.x, box.y, box.w, box.h);
        else c.fillRect(box.x, box.y, box.w, box.h);
      }
      c.stroke();
    }

    /** @param {boolean} lit draw only arrows between lit events, on top of everything; else all, behind the bars */
    _arrows(lit) {
      const { context: c, layout } = this;
      const n = layout.arrows;
      if (!n && !lit) return;
      const turn = layout.turn;
      c.strokeStyle = c.fillStyle = lit ? this.color.text : this.color.arrow;
      c.lineWidth = lit ? 1.6 : 1.1;
      for (let other = 0; other < (lit ? 1 : 2); other++) {
        // Many lines would hide the bars, so they are faint.
        const crowd = n > CROWD ? ASIDE : 1;
        c.globalAlpha = lit ? 1 : Math.min(crowd, this.lit ? ASIDE : 1, other ? OTHER_STEP : 1);
        c.beginPath();
        for (let a = 0; a < n; a++) {
          const i = layout.arrowOf[a];
          const isLit = this.lit !== null && this._lit[i] + this._lit[this.model.launch[i]] === 2;
          if (isLit !== lit && (lit || isLit)) continue;
          if (!lit && this._arrowFades(i) !== (other === 1)) continue;
          this._arrow(layout.arrowX1[a], layout.arrowY1[a], layout.arrowX2[a], layout.arrowY2[a], turn, i);
        }
        if (lit && !n) this._litArrows(turn);
        c.stroke();
        this._heads();
      }
      c.globalAlpha = 1;
    }

    _arrowFades(i) {
      const { layout } = this;
      return Boolean(layout.fades && !layout.belongs(i) && !layout.belongs(this.model.launch[i]));
    }

    /** Draw the arrows of lit events only: the frame has too many, or steps are overlaid. */
    _litArrows(turn) {
      const { layout, model } = this;
      let drawn = 0;
      for (const i of this.lit) {
        const call = model.launch[i];
        if (call < 0 || !this._lit[call] || !layout.shown[model.lane[call]] || ++drawn > 200) continue;
        const from = layout.boxOf(call);
        const to = layout.boxOf(i);
        if (!(from.x < layout.width && to.x > 0)) continue;
        this._arrow(from.x + 0.75, from.y + from.h, to.x + 0.75, to.y, turn, i);
      }
    }

    _arrow(x1, y1, x2, y2, turn, i) {
      const { context: c, layout } = this;
      const level = Math.min(y2, layout.laneY[this.model.lane[i]] - layout.style.heading + 3);
      const reach = (level - turn) * 0.7;
      c.moveTo(x1, y1);
      c.lineTo(x1, turn);
      c.bezierCurveTo(x1, turn + reach, x2, level - reach, x2, level);
      c.lineTo(x2, y2 - 4);
      this._tips.push([x2, y2]);
    }

    /** Fill the heads of the arrows drawn since the last call. */
    _heads() {
      const { context: c } = this;
      c.beginPath();
      for (const [x, y] of this._tips) {
        c.moveTo(x - 3, y - 5);
        c.lineTo(x + 3, y - 5);
        c.lineTo(x, y);
      }
      c.fill();
      this._tips.length = 0;
    }

    _tape(bottom) {
      const { context: c, layout, color, tape } = this;
      const a = layout.xAt(tape.from);
      const b = layout.xAt(tape.to);
      c.fillStyle = color.text;
      c.globalAlpha = 0.08;
      c.fillRect(a, 0, b - a, bottom);
      c.globalAlpha = 1;
      c.fillRect(a - 0.5, 0, 1, bottom + 6);
      c.fillRect(b - 0.5, 0, 1, bottom + 6);
      c.fillRect(a, bottom + 2, b - a, 2);
      const label = ks.text.formatTime(tape.to - tape.from);
      c.font = `600 ${layout.style.font}px ${this.family}`;
      c.textAlign = "center";
      const half = c.measureText(label).width / 2 + 4;
      const x = Math.min(Math.max((a + b) / 2, half), layout.width - half);
      c.fillStyle = color.surface;
      c.fillRect(x - half, bottom + 4, 2 * half, layout.style.font + 5);
      c.fillStyle = color.text;
      c.fillText(label, x, bottom + layout.style.font + 5);
    }
  }

  /** @param {number} least ns @returns {number} the smallest 1, 2 or 5 times a power of ten that is not below it */
  function nice(least) {
    let power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, least))));
    for (;;) {
      for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
      power *= 10;
    }
  }

  ks.OTHER_STEP = OTHER_STEP;
  ks.Painter = Painter;
})();
