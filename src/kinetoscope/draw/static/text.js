// Times as text, and names cut to fit.  Both are as in the static picture (kinetoscope.measure.printing,
// kinetoscope.draw.text_metrics), so that a label stays where it was when the picture comes alive.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  /**
   * A number with fixed decimals, a tie to the even digit as Python rounds it.
   * @param {number} value @param {number} decimals @returns {string}
   */
  function fixed(value, decimals) {
    const power = 10 ** decimals;
    const scaled = Math.abs(value) * power;
    const low = Math.floor(scaled);
    const tie = scaled - low === 0.5 && (value * 2 ** (decimals + 1)) % 1 === 0;
    if (!tie) return value.toFixed(decimals);
    return ((Math.sign(value) * (low + (low % 2))) / power).toFixed(decimals);
  }

  /** [name, ns, decimals], smallest first */
  const UNITS = [["ns", 1, 0], ["µs", 1e3, 1], ["ms", 1e6, 2], ["s", 1e9, 2]];

  /** @param {number} ns @returns {string} in the unit that suits it: "37.3 µs" */
  function formatTime(ns) {
    for (let i = 0; i < 3; i++) {
      const [name, size, decimals] = UNITS[i];
      const text = fixed(ns / size, decimals);
      if (Math.abs(Number(text)) < UNITS[i + 1][1] / size) return `${text} ${name}`;
    }
    return `${fixed(ns / 1e9, 2)} s`;
  }

  /** @param {number} ns @returns {string} a time that may be negative */
  const signedTime = ns => (ns < 0 ? `\u2212${formatTime(-ns)}` : formatTime(ns));

  // Written by kinetoscope.draw.text_metrics, which measures the static picture: widths in thousandths of the font's size.
  const { chars, other, safety, least } = ks.metrics;
  const WIDTHS = new Map(Object.entries(chars).flatMap(([width, each]) => [...each].map(char => [char, Number(width)])));

  /** @param {string} text @param {number} font size in units @returns {number} upper estimate, in units */
  function textWidth(text, font) {
    let width = 0;
    for (const char of text) width += WIDTHS.get(char) ?? other;
    return (width * font * safety) / 1000;
  }

  /** @param {string} text @param {number} room @param {number} font @returns {string} cut to fit, or "" */
  function truncate(text, room, font) {
    if (textWidth(text, font) <= room) return text;
    let kept = "";
    let count = 0;
    let width = textWidth("…", font);
    for (const char of text) {
      width += textWidth(char, font);
      if (width > room) break;
      kept += char;
      count++;
    }
    return count >= least ? `${kept.replace(/[ _:-]+$/, "")}…` : "";
  }

  /** The names of one trace as labels.  Each form is measured once, because a frame writes hundreds. */
  class Lettering {
    /** @param {string[][]} forms how each name may be written, the fullest form first @param {number} font */
    constructor(forms, font) {
      this.forms = forms;
      this.font = font;
      /** @type {{text: string, width: number}[][]} */
      this.measured = new Array(forms.length);
      /** @type {Map<string, string>[]} */
      this.cut = new Array(forms.length);
    }

    /** @param {number} id into the names @returns {{text: string, width: number}[]} */
    of(id) {
      return (this.measured[id] ??= this.forms[id].map(text => ({ text, width: textWidth(text, this.font) })));
    }

    /** @param {number} id @param {number} room @returns {string} the fullest form that fits; "" if none */
    fit(id, room) {
      const forms = this.of(id);
      for (const form of forms) if (form.width <= room) return form.text;
      if (room < this.font * 2) return "";
      // Panning asks for the same room again and again; less than 1/64 of a unit does not make a letter.
      const key = Math.floor(room * 64 + 1e-6);
      const cut = (this.cut[id] ??= new Map());
      let text = cut.get(key);
      if (text === undefined) {
        if (cut.size > 400) cut.clear();
        text = truncate(forms[forms.length - 1].text, key / 64, this.font);
        cut.set(key, text);
      }
      return text;
    }

    /** @param {number} id @param {string} text @returns {boolean} whether it is a form of the name, not cut */
    whole(id, text) {
      return this.of(id).some(form => form.text === text);
    }
  }

  ks.text = { fixed, formatTime, signedTime, textWidth, truncate, Lettering };
})();
