// The window of time that a timeline shows, and the way back through earlier windows.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  const NARROWEST = 20; // ns, about the resolution of the clock
  const ANIMATION = 160; // ms
  const PAUSE = 700; // ms after which another turn of the wheel is a new gesture
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * A span of time, in ns on the axis that its painters share.  If two traces on one scale share a view,
   * they move together.
   */
  class View {
    /** @param {number} start @param {number} end @param {number} min @param {number} max limits of the view */
    constructor(start, end, min, max) {
      this.min = Math.min(min, start);
      this.max = Math.max(max, end, start + NARROWEST);
      this.home = { start, end: Math.max(end, start + NARROWEST) };
      this.start = start;
      this.end = this.home.end;
      /** @type {{start: number, end: number}[]} */
      this.past = [];
      this._listeners = new Set();
      this._last = { kind: "", time: -Infinity };
      this._frame = 0;
    }

    get span() {
      return this.end - this.start;
    }

    get atHome() {
      return this.start === this.home.start && this.end === this.home.end;
    }

    /** @param {() => void} listener called after every change */
    onChange(listener) {
      this._listeners.add(listener);
    }

    /** Show a span, moved and narrowed into the limits. @param {number} start @param {number} end */
    set(start, end) {
      const span = Math.min(Math.max(end - start, NARROWEST), this.max - this.min);
      if (span !== end - start) start = (start + end - span) / 2;
      start = Math.min(Math.max(start, this.min), this.max - span);
      if (start === this.start && start + span === this.end) return;
      this.start = start;
      this.end = start + span;
      for (const listener of this._listeners) listener();
    }

    /** Remember this window, so that `back` returns to it. @param {string} kind of gesture; each is remembered once */
    remember(kind) {
      const now = performance.now();
      const same = kind === this._last.kind && now - this._last.time < PAUSE;
      this._last = { kind, time: now };
      if (same) return;
      const at = this._target ?? { start: this.start, end: this.end };
      this.past.push(at);
      if (this.past.length > 100) this.past.shift();
    }

    /** End a gesture: the next one is remembered even if it is of the same kind. */
    pause() {
      this._last = { kind: "", time: -Infinity };
    }

    /** @param {number} factor of the span; below 1 zooms in @param {number} at the time that stays in place */
    zoom(factor, at) {
      this.stop();
      const span = Math.min(Math.max(this.span * factor, NARROWEST), this.max - this.min);
      const share = (at - this.start) / this.span;
      this.set(at - share * span, at + (1 - share) * span);
    }

    /** @param {number} ns */
    pan(ns) {
      this.stop();
      this.set(this.start + ns, this.end + ns);
    }

    /** Move to a span, smoothly unless the reader prefers less motion. @param {number} start @param {number} end */
    go(start, end) {
      this.stop();
      if (calm.matches || document.hidden) return this.set(start, end);
      const from = { start: this.start, end: this.end };
      const begin = performance.now();
      this._target = { start, end };
      const glide = now => {
        const t = Math.min(1, (now - begin) / ANIMATION);
        const eased = 1 - (1 - t) ** 3;
        if (t < 1) this._frame = requestAnimationFrame(glide);
        else this._target = undefined;
        this.set(
          from.start + (start - from.start) * eased,
          from.end + (end - from.end) * eased,
        );
      };
      this._frame = requestAnimationFrame(glide);
    }

    /** End a movement at its target. */
    stop() {
      cancelAnimationFrame(this._frame);
      const target = this._target;
      this._target = undefined;
      if (target) this.set(target.start, target.end);
    }

    /** @returns {boolean} whether there was an earlier window */
    back() {
      const { start, end } = this._target ?? this;
      let before = this.past.pop();
      while (before && before.start === start && before.end === end) before = this.past.pop();
      this.pause();
      if (!before) return false;
      this.go(before.start, before.end);
      return true;
    }

    /** Show what the figure opened with. */
    goHome() {
      this.remember("home");
      this.go(this.home.start, this.home.end);
    }

    /** Show the whole trace. */
    goAll() {
      this.remember("all");
      this.go(this.min, this.max);
    }
  }

  ks.View = View;
})();
