// The window through which a timeline is seen, and the way back through earlier ones.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  const NARROWEST = 20; // ns: the clock's own grain
  const ANIMATION = 160; // ms
  const PAUSE = 700; // ms after which a further push of the wheel is a gesture of its own
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * A span of time, in ns on whatever axis its painters share.  Several painters may use one view:
   * two traces on one scale then move together.
   */
  class View {
    /** @param {number} start @param {number} end @param {number} min @param {number} max how far one may go */
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

    /** @param {number} start @param {number} end moved and narrowed into the limits */
    set(start, end) {
      const span = Math.min(Math.max(end - start, NARROWEST), this.max - this.min);
      if (span !== end - start) start = (start + end - span) / 2;
      start = Math.min(Math.max(start, this.min), this.max - span);
      if (start === this.start && start + span === this.end) return;
      this.start = start;
      this.end = start + span;
      for (const listener of this._listeners) listener();
    }

    /** Keep where one is, so that `back` returns here. @param {string} kind one gesture is kept once */
    remember(kind) {
      const now = performance.now();
      const same = kind === this._last.kind && now - this._last.time < PAUSE;
      this._last = { kind, time: now };
      if (same) return;
      const at = this._target ?? { start: this.start, end: this.end };
      this.past.push(at);
      if (this.past.length > 100) this.past.shift();
    }

    /** A gesture has ended: the next one, even of the same kind, is kept by itself. */
    pause() {
      this._last = { kind: "", time: -Infinity };
    }

    /** @param {number} factor of the span: below 1 goes nearer @param {number} at the moment that stays put */
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

    /** Go somewhere, gliding unless the reader wants no motion. @param {number} start @param {number} end */
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

    /** End a glide where it was going. */
    stop() {
      cancelAnimationFrame(this._frame);
      const target = this._target;
      this._target = undefined;
      if (target) this.set(target.start, target.end);
    }

    /** @returns {boolean} whether there was somewhere to go back to */
    back() {
      const { start, end } = this._target ?? this;
      let before = this.past.pop();
      while (before && before.start === start && before.end === end) before = this.past.pop();
      this.pause();
      if (!before) return false;
      this.go(before.start, before.end);
      return true;
    }

    /** As the figure was opened. */
    goHome() {
      this.remember("home");
      this.go(this.home.start, this.home.end);
    }

    /** All there is. */
    goAll() {
      this.remember("all");
      this.go(this.min, this.max);
    }
  }

  ks.View = View;
})();
