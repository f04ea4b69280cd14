// The geometry of one frame: that of kinetoscope.draw.layout, for any window and zoom.
// Lengths are units of the static picture, which the painter scales.  All buffers are allocated once.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  /** The sizes of kinetoscope.draw.geometry. */
  const WIDE = { font: 12, row: 20, gap: 2, side: 2, pad: 4, heading: 18, between: 8, fan: 28, axis: 24, least: 1.5 };
  const NARROW = { ...WIDE, row: 22, pad: 3, fan: 32 };
  const MOST_ARROWS = 500;
  const COLUMNS = ["of", "x", "y", "w", "h", "more", "faded"];

  class Layout {
    /** @param {ks.Model} model @param {ks.View} view @param {number} origin ns of the trace at which the view's axis begins */
    constructor(model, view, origin = 0) {
      this.model = model;
      this.view = view;
      this.origin = origin;
      this.style = WIDE;
      this.width = 640;
      /** whether all steps are drawn on top of each other, each from its own start */
      this.overlaid = false;
      /** steps that the figure is about; events of other steps are faded in that window */
      this.homeSteps = new Set();
      /** how many rows of each lane are shown; 0 leaves the lane out */
      this.shown = new Int32Array(model.lanes.length);
      this.laneY = new Float64Array(model.lanes.length);
      this.height = 0;
      const size = 4096;
      this.count = 0;
      this.of = new Int32Array(size);
      this.x = new Float64Array(size);
      this.y = new Float64Array(size);
      this.w = new Float64Array(size);
      this.h = new Float64Array(size);
      this.more = new Int32Array(size);
      this.faded = new Uint8Array(size);
      /** @type {{lane: number, row: number, y: number, from: number, to: number}[]} bars by row */
      this.rows = [];
      this.rowCount = 0;
      this.arrows = 0;
      this.arrowOf = new Int32Array(MOST_ARROWS);
      this.arrowX1 = new Float64Array(MOST_ARROWS);
      this.arrowY1 = new Float64Array(MOST_ARROWS);
      this.arrowX2 = new Float64Array(MOST_ARROWS);
      this.arrowY2 = new Float64Array(MOST_ARROWS);
      /** the bar of each event, valid if _frameOf holds the number of this frame */
      this._barOf = new Int32Array(model.count);
      this._frameOf = new Uint32Array(model.count);
      this._frame = 0;
      this._ends = model.end;
      this._starts = model.start;
    }

    /** @param {number} width units @param {boolean} narrow */
    resize(width, narrow) {
      this.width = width;
      this.style = narrow ? NARROW : WIDE;
    }

    /** @param {number} t ns of the view's axis @returns {number} x, which may lie outside the picture */
    xAt(t) {
      const { side } = this.style;
      return side + ((t - this.view.start) / this.view.span) * (this.width - 2 * side);
    }

    /** @param {number} x @returns {number} ns of the view's axis */
    timeAt(x) {
      const { side } = this.style;
      return this.view.start + ((x - side) / (this.width - 2 * side)) * this.view.span;
    }

    /** @param {number} i @returns {number} ns to subtract from an event's time to get the axis's */
    shift(i) {
      if (!this.overlaid) return this.origin;
      const step = this.model.stepOf[i];
      return step < 0 ? NaN : this.model.steps[step].start;
    }

    /** @param {number} i @returns {number} the event's start on the view's axis; NaN if it is not shown */
    startOf(i) {
      return this._starts[i] - this.shift(i);
    }

    /** @param {number} i @returns {number} */
    endOf(i) {
      return this._ends[i] - this.shift(i);
    }

    /** By lane and row: whether the row holds an event of a step. */
    get _stepped() {
      return (this._hasSteps ??= this.model.rows.map(rows =>
        rows.map(list => list.some(i => this.model.stepOf[i] >= 0)),
      ));
    }

    /** Show the rows that the window needs.  A lane loses none, so that nothing jumps while the view moves. */
    needRows(forget = false) {
      const { model, view, origin } = this;
      const from = view.start + origin;
      const to = view.end + origin;
      let grew = false;
      for (let lane = 0; lane < model.lanes.length; lane++) {
        const rows = model.rows[lane];
        let need = 0;
        for (let row = rows.length - 1; row >= 0 && !need; row--) {
          const list = rows[row];
          if (this.overlaid) {
            if (this._stepped[lane][row]) need = row + 1;
          } else {
            // An event that begins right at the window's start is in it, even if it ends there too.
            const k = ks.firstEndingAfter(this._ends, list, from - 1);
            for (let j = k; j < list.length && this._starts[list[j]] < to; j++) {
              if (this._ends[list[j]] > from || this._starts[list[j]] === from) {
                need = row + 1;
                break;
              }
            }
          }
        }
        const shown = forget ? need : Math.max(need, this.shown[lane]);
        grew ||= shown !== this.shown[lane];
        this.shown[lane] = shown;
      }
      if (grew || forget || this._placedFor !== this.style) this._placeLanes();
      return grew;
    }

    _placeLanes() {
      const { style, model } = this;
      let y = 2;
      let before = -1;
      for (let lane = 0; lane < model.lanes.length; lane++) {
        if (!this.shown[lane]) continue;
        if (model.lanes[lane].gpu && before >= 0 && !model.lanes[before].gpu) y += style.fan - style.between;
        this.laneY[lane] = y + style.heading;
        y = this.laneY[lane] + this.laneHeight(lane) + style.between;
        before = lane;
      }
      this._placedFor = style;
      this.bottom = before < 0 ? 4 * style.font : y;
      this.height = this.bottom + style.axis;
    }

    /** From the top of a row to the top of the next. */
    get row() {
      const { style, model } = this;
      return this.overlaid ? style.font + 1 + model.steps.length * this.strip + 2 * style.gap : style.row;
    }

    /** Height of a step's bar if steps are overlaid; a hundred of them look like one shade. */
    get strip() {
      return Math.min(7, 40 / this.model.steps.length);
    }

    /** @param {number} lane */
    laneHeight(lane) {
      return this.shown[lane] * this.row - this.style.gap;
    }

    /** Lay out one frame. */
    place() {
      this._frame++;
      this.count = 0;
      this.rowCount = 0;
      const { model, view } = this;
      const inside = view.start >= view.home.start && view.end <= view.home.end;
      this.fades = this.homeSteps.size > 0 && (inside || this.overlaid);
      for (let lane = 0; lane < model.lanes.length; lane++) {
        for (let row = 0; row < this.shown[lane]; row++) {
          const info = (this.rows[this.rowCount] ??= { lane: 0, row: 0, y: 0, from: 0, to: 0 });
          this.rowCount++;
          info.lane = lane;
          info.row = row;
          info.y = this.laneY[lane] + row * this.row;
          info.from = this.count;
          if (this.overlaid) this._overlayRow(model.rows[lane][row], info.y);
          else this._row(model.rows[lane][row], info.y);
          info.to = this.count;
        }
      }
      this._placeArrows();
    }

    /** Lay out one row.  Events less than a unit wide merge with a neighbor; a search skips most of them. */
    _row(list, y) {
      const { view, style, origin, model } = this;
      const starts = this._starts;
      const ends = this._ends;
      const kinds = model.kind;
      const left = style.side;
      const room = this.width - 2 * left;
      const right = left + room;
      const from = view.start + origin;
      const to = view.end + origin;
      const scale = room / view.span;
      const h = style.row - style.gap;
      const least = style.least;
      const n = list.length;
      let bar = -1;
      let until = 0;
      let j = ks.firstEndingAfter(ends, list, from - 1);
      while (j < n) {
        const i = list[j];
        if (starts[i] >= to) break;
        if (ends[i] <= from && starts[i] !== from) {
          j++;
          continue;
        }
        let x = Math.max(left, left + (starts[i] - from) * scale);
        const end = Math.min(right, left + (ends[i] - from) * scale);
        if (bar >= 0 && x < until) {
          const tiny = end - x < 1;
          const same = kinds[i] === kinds[this.of[bar]];
          if (tiny && ((same && this.w[bar] <= least) || x < until - 1)) {
            this.more[bar]++;
            if (end - this.x[bar] > this.w[bar]) this.w[bar] = end - this.x[bar];
            until = this.x[bar] + this.w[bar];
            this._barOf[i] = bar;
            this._frameOf[i] = this._frame;
            j++;
            // If many more events end within this bar, a search finds the next visible one.
            if (j + 8 < n && left + (ends[list[j + 8]] - from) * scale < until - 1) {
              const next = ks.firstEndingAfter(ends, list, from + (until - 1 - left) / scale, j);
              this.more[bar] += next - j;
              j = next;
            }
            continue;
          }
          x = Math.min(until, right - least);
        }
        const w = Math.max(end - x, least);
        bar = this._add(i, Math.min(x, right - w), y, w, h);
        until = this.x[bar] + w;
        j++;
      }
    }

    /** Lay out a row of overlaid steps: a line for the name, then a thin bar for each step.  Their ends show the spread. */
    _overlayRow(list, y) {
      const { view, style, model } = this;
      const steps = model.steps.length;
      const h = this.strip;
      const scale = (this.width - 2 * style.side) / view.span;
      const left = style.side;
      const right = this.width - left;
      if (!this._lastX || this._lastX.length < steps) this._lastX = new Float64Array(steps);
      this._lastX.fill(-1);
      for (const i of list) {
        const step = model.stepOf[i];
        if (step < 0) continue;
        const a = left + (this._starts[i] - model.steps[step].start - view.start) * scale;
        const b = a + model.dur[i] * scale;
        if (b < left || a > right || b < this._lastX[step]) continue;
        const x = Math.max(left, a);
        const w = Math.max(Math.min(right, b) - x, Math.min(style.least, 1));
        this._lastX[step] = x + w;
        this._add(i, x, y + style.font + 1 + step * h, w, h);
      }
    }

    _add(i, x, y, w, h) {
      const k = this.count++;
      if (k === this.of.length) this._grow();
      this.of[k] = i;
      this.x[k] = x;
      this.y[k] = y;
      this.w[k] = w;
      this.h[k] = h;
      this.more[k] = 0;
      this.faded[k] = this.fades && !this.belongs(i) ? 1 : 0;
      this._barOf[i] = k;
      this._frameOf[i] = this._frame;
      return k;
    }

    _grow() {
      for (const name of COLUMNS) {
        const old = this[name];
        this[name] = new old.constructor(2 * old.length);
        this[name].set(old);
      }
    }

    /** @param {number} i @returns {boolean} whether the event belongs to the steps that the figure is about */
    belongs(i) {
      const { model } = this;
      const step = model.stepOf[i];
      if (step >= 0) return this.homeSteps.has(step);
      if (model.onGpu(i)) return false;
      for (const k of this.homeSteps) {
        if (this._starts[i] <= model.steps[k].start && this._ends[i] >= model.steps[k].cpuEnd) return true;
      }
      return false;
    }

    /** @param {number} i @returns {number} the bar that shows the event in this frame, or -1 */
    barOf(i) {
      return this._frameOf[i] === this._frame && this._frame > 0 ? this._barOf[i] : -1;
    }

    /** The box in which an event is drawn, or would be. @param {number} i */
    boxOf(i) {
      const lane = this.model.lane[i];
      const x = this.xAt(this.startOf(i));
      let h = this.style.row - this.style.gap;
      let y = this.laneY[lane] + this.model.row[i] * this.row;
      if (this.overlaid) {
        h = this.strip;
        y += this.style.font + 1 + this.model.stepOf[i] * h;
      }
      return { x, y, w: Math.max(this.xAt(this.endOf(i)) - x, this.style.least), h };
    }

    /** Place the launch arrows between bars of this frame; none if there are too many. */
    _placeArrows() {
      this.arrows = 0;
      if (this.overlaid) return;
      const { model } = this;
      const from = this.view.start + this.origin;
      for (let r = 0; r < this.rowCount; r++) {
        const row = this.rows[r];
        if (!model.lanes[row.lane].gpu) continue;
        let lastX1 = -1;
        let lastX2 = -1;
        for (let k = row.from; k < row.to; k++) {
          const call = model.launch[this.of[k]];
          if (call < 0 || this._starts[call] < from) continue;
          const start = this.barOf(call);
          if (start < 0) continue;
          const x1 = Math.round(this.x[start]);
          const x2 = Math.round(this.x[k]);
          if (x1 === lastX1 && x2 === lastX2) continue;
          lastX1 = x1;
          lastX2 = x2;
          if (this.arrows === MOST_ARROWS) {
            this.arrows = 0;
            return;
          }
          const a = this.arrows++;
          this.arrowOf[a] = this.of[k];
          this.arrowX1[a] = this.x[start] + 0.75;
          this.arrowY1[a] = this.y[start] + this.h[start];
          this.arrowX2[a] = this.x[k] + 0.75;
          this.arrowY2[a] = this.y[k];
        }
      }
    }

    /** The y at which arrows turn, below every CPU row. */
    get turn() {
      let turn = 0;
      for (let lane = 0; lane < this.laneY.length; lane++) {
        if (this.shown[lane] && !this.model.lanes[lane].gpu) turn = this.laneY[lane] + this.laneHeight(lane) + 3;
      }
      return turn;
    }

    /** @param {number} x @param {number} y units, in the whole picture @param {number} reach units by which a near miss still counts */
    hit(x, y, reach = 3) {
      for (let r = 0; r < this.rowCount; r++) {
        const row = this.rows[r];
        if (y < row.y || y > row.y + this.row) continue;
        let best = -1;
        let distance = reach;
        for (let k = row.from; k < row.to; k++) {
          if (this.overlaid && (y < this.y[k] || y > this.y[k] + this.h[k])) continue;
          const far = Math.max(this.x[k] - x, x - this.x[k] - this.w[k], 0);
          if (far < distance || (far === 0 && distance === 0)) {
            best = k;
            distance = far;
          }
        }
        if (best < 0) return { event: -1, more: 0 };
        const event = this.of[best];
        if (!this.more[best]) return { event, more: 0 };
        return { event: this.model.at(row.lane, row.row, this.timeAt(x) + this.origin), more: this.more[best] };
      }
      return { event: -1, more: 0 };
    }
  }

  ks.Layout = Layout;
})();
