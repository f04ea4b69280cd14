// Writes names and times into bars, or beside them, so that no two overlap.  Each frame follows the same rules as
// the static picture (kinetoscope.draw.label).
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  const ASIDE = 0.4; // opacity of what is not lit while something else is
  const MANY_LABELS = 100; // number of arrows from which on no CPU label looks for room between them
  const TELLING = ks.metrics.telling;

  /** The part of the painter that writes labels. */
  class Writer {
    /** Writes into, or beside, each bar the name and the time there is room for. */
    _labels() {
      const { context: c, layout, model } = this;
      const { style } = layout;
      c.font = `${style.font}px ${this.family}`;
      const right = layout.width - style.side;
      for (let r = 0; r < layout.rowCount; r++) {
        const row = layout.rows[r];
        const gpu = model.lanes[row.lane].gpu;
        let taken = style.side;
        for (let k = row.from; k < row.to; k++) {
          const lone = !layout.faded[k] && !layout.more[k];
          if (layout.overlaid && model.stepOf[layout.of[k]] !== this.labelled) continue;
          const free = this._nextX(k, row, right);
          let end = layout.x[k] + layout.w[k];
          if (lone) end = Math.max(end, this._label(k, row, gpu, taken, free));
          taken = end;
        }
      }
      c.globalAlpha = 1;
    }

    /** Where the next bar of the row begins; of overlaid steps only the labelled one counts. */
    _nextX(k, row, right) {
      const { layout, model } = this;
      do k++;
      while (layout.overlaid && k < row.to && model.stepOf[layout.of[k]] !== this.labelled);
      return k < row.to ? layout.x[k] : right;
    }

    /** @returns {number} x up to which the label takes room in its row */
    _label(k, row, gpu, taken, free) {
      const { layout, model, lettering } = this;
      const { style } = layout;
      const i = layout.of[k];
      const id = model.name[i];
      const x = layout.x[k];
      const w = layout.w[k];
      const room = layout.overlaid ? free - x : w - 2 * style.pad;
      const name = room > 2 ? lettering.fit(id, room) : "";
      const inside = name !== "" && (lettering.whole(id, name) || name.length > TELLING);
      if (!inside && (gpu || layout.arrows < MANY_LABELS) && !layout.overlaid) {
        const until = this._untilStem(k, free, gpu) - style.pad;
        const after = this._beside(id, x + w + style.pad, until, gpu);
        const before = gpu ? this._beside(id, taken + style.pad, x - style.pad, true) : "";
        const best = before.length > after.length ? before : after;
        if (best.length > name.length) {
          if (best === after) return this._writeBeside(i, best, x + w + style.pad, until, row, 1);
          this._writeBeside(i, best, x - style.pad, taken + style.pad, row, -1);
          return 0;
        }
      }
      if (name) this._writeInside(i, name, x + (layout.overlaid ? 0 : style.pad), room, row);
      return 0;
    }

    _beside(id, start, end, cut) {
      if (end - start < 8) return "";
      const name = this.lettering.fit(id, end - start);
      return name && (this.lettering.whole(id, name) || (cut && name.length > TELLING)) ? name : "";
    }

    _untilStem(k, free, gpu) {
      if (gpu) return free;
      const { layout } = this;
      const end = layout.x[k] + layout.w[k];
      const bottom = layout.y[k] + layout.h[k];
      for (let a = 0; a < layout.arrows; a++) {
        const stem = layout.arrowX1[a];
        if (layout.arrowY1[a] <= bottom && stem >= end && stem < free) free = stem;
      }
      return free;
    }

    _alpha(i) {
      this.context.globalAlpha = this.lit && !this._lit[i] ? ASIDE : 1;
    }

    _base(row) {
      if (this.layout.overlaid) return row.y + this.layout.style.font - 2;
      return row.y + (this.layout.style.row - this.layout.style.gap) / 2 + this.layout.style.font * 0.36;
    }

    _time(i, name, room) {
      const { style } = this.layout;
      const time = ks.text.formatTime(this.model.dur[i]);
      return ks.text.textWidth(`${name}  ${time}`, style.font) + style.pad <= room ? time : "";
    }

    _writeInside(i, name, x, room, row) {
      const { context: c } = this;
      this._alpha(i);
      c.fillStyle = this.layout.overlaid ? this.color.text : this.ink[this.model.kind[i]];
      c.textAlign = "left";
      c.fillText(name, x, this._base(row));
      const time = this.layout.overlaid ? "" : this._time(i, name, room);
      if (!time) return;
      c.textAlign = "right";
      c.fillText(time, x + room, this._base(row));
    }

    /** @param {number} x where the label begins, or ends for side -1 @param {number} limit how far it may go */
    _writeBeside(i, name, x, limit, row, side) {
      const { context: c, color, layout } = this;
      const time = this._time(i, name, Math.abs(limit - x));
      const base = this._base(row);
      this._alpha(i);
      c.textAlign = "left";
      const gap = time ? c.measureText(`${name} `).width : 0;
      const width = time ? gap + c.measureText(time).width : c.measureText(name).width;
      const from = side > 0 ? x : x - width;
      c.lineWidth = 4;
      c.lineJoin = "round";
      c.strokeStyle = this.model.lanes[row.lane].gpu ? color.idle : color.band;
      c.strokeText(time ? `${name} ${time}` : name, from, base);
      c.fillStyle = color.text;
      c.fillText(name, from, base);
      if (time) {
        c.fillStyle = color.muted;
        c.fillText(time, from + gap, base);
      }
      const whole = ks.text.textWidth(time ? `${name}  ${time}` : name, layout.style.font);
      return side > 0 ? x + whole : 0;
    }

    _laneLabels() {
      const { context: c, layout, color } = this;
      const { style } = layout;
      c.textAlign = "left";
      c.lineWidth = 4;
      c.lineJoin = "round";
      c.strokeStyle = color.band;
      c.fillStyle = color.muted;
      for (let lane = 0; lane < layout.shown.length; lane++) {
        if (!layout.shown[lane]) continue;
        const label = this.laneLabel(lane);
        c.strokeText(label, style.side, layout.laneY[lane] - 5);
        c.fillText(label, style.side, layout.laneY[lane] - 5);
      }
    }

    /** A narrow figure has no room for the device's name. @param {number} lane */
    laneLabel(lane) {
      const { layout, model } = this;
      const { label, brief } = model.lanes[lane];
      const { width, style } = layout;
      return ks.text.truncate(width < 480 ? brief : label, width - 2 * style.side, style.font);
    }
  }

  ks.Writer = Writer;
  ks.ASIDE = ASIDE;
})();
