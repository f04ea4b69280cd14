// Names and times as text: the same forms, and the same estimate of widths, as the static picture has
// (kinetoscope.draw.names, .text and .times), so that a label is where it was when the picture comes alive.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  const OPEN = "<({[";
  const CLOSE = ">)}]";
  const ANONYMOUS = /(\(anonymous namespace\)|<unnamed>|`anonymous namespace')(::)?/g;
  const NOT_TEXT = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff\ufffe\uffff\u2028\u2029]/gu;

  /** @param {string} text @returns {string} on one line, without what no document can hold */
  const clean = text => text.replace(NOT_TEXT, "\ufffd");

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

  /** @param {number} ns @returns {string} a time that may lie before the zero */
  const signedTime = ns => (ns < 0 ? `\u2212${formatTime(-ns)}` : formatTime(ns));

  /** @param {string} name */
  function looksDemangled(name) {
    if (name.startsWith("Memcpy") || name.startsWith("Memset")) return false;
    if (name.startsWith("void ")) return true;
    if (name.includes("::") && /[<(]/.test(name)) return !name.includes(".py(");
    return /^[\p{L}\p{N}_]+(<.*|\(.*\))$/su.test(name);
  }

  /** The last name outside brackets, its template arguments shortened. @param {string} name */
  function lastPart(name) {
    let top = "";
    let inside = "";
    let depth = 0;
    let previous = "";
    for (const char of name) {
      if (CLOSE.includes(char) && !(char === ">" && previous === "-")) {
        depth = Math.max(0, depth - 1);
        if (depth === 0 && char === ">") top += /^[A-Za-z_]\w{3,}$/.test(inside) ? `<${inside}>` : "<…>";
      } else if (OPEN.includes(char)) {
        if (depth === 0) {
          if (char === "(") break;
          inside = "";
        } else inside += char;
        depth++;
      } else if (depth) inside += char;
      else top += char === " " ? "\0" : char;
      previous = char;
    }
    const last = top.replace(/^\0+|\0+$/g, "").split("\0").pop();
    return last.slice(last.lastIndexOf("::") < 0 ? 0 : last.lastIndexOf("::") + 2);
  }

  /** @param {string} name @returns {string} without what a reader skips: "vectorized_elementwise_kernel<…>" */
  function shortName(name) {
    name = clean(name).trim();
    if (name.startsWith("## ") && name.endsWith(" ##")) return name.slice(3, -3).trim();
    if (!looksDemangled(name)) return name;
    return lastPart(name.replace(/^void /, "").replace(ANONYMOUS, "")) || name;
  }

  /** @param {string} name @returns {string[]} shorter and shorter ways to write it, the fullest first */
  function candidates(name) {
    const short = shortName(name);
    const found = [short];
    const bare = short.replace(/<[^<>]*>$/, "");
    if (bare && bare !== short) found.push(bare);
    const namespace = /^[a-z_]\w*::(\w+)$/.exec(short);
    if (namespace) found.push(namespace[1]);
    return found;
  }

  /** Thousandths of the font's size, of DejaVu Sans: among the widest fonts that a page may use. */
  const WIDTHS = new Map();
  for (const [width, chars] of Object.entries({
    275: "'", 278: "ijl", 295: "IJ", 318: " ,.·", 337: "/:;\\|", 352: "f", 361: "-", 390: "()[]",
    392: "t", 401: "!", 411: "r", 460: '"', 500: "*_`", 521: "s", 525: "z", 531: "?", 550: "c",
    557: "L", 575: "F", 579: "k", 592: "vxy", 603: "P", 611: "TY", 612: "o", 613: "a", 615: "e",
    632: "E", 634: "hnu", 635: "Sbdgpq", 636: "$0123456789{}µ", 656: "K", 684: "AV", 685: "XZ",
    686: "B", 695: "R", 698: "C", 732: "U", 748: "N", 752: "H", 770: "D", 775: "G", 780: "&",
    787: "OQ", 818: "w", 838: "#+<=>^~×−", 863: "M", 950: "%", 974: "m", 989: "W", 1000: "@…▲▼",
  })) for (const char of chars) WIDTHS.set(char, Number(width));
  const SAFETY = 1.03 / 1000;
  const LEAST = 4;

  /** @param {string} text @param {number} font size in units @returns {number} upper estimate, in units */
  function textWidth(text, font) {
    let width = 0;
    for (const char of text) width += WIDTHS.get(char) ?? 1400;
    return width * font * SAFETY;
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
    return count >= LEAST ? `${kept.replace(/[ _:-]+$/, "")}…` : "";
  }

  /** The forms of the names of one trace, each made once: a frame writes hundreds. */
  class Lettering {
    /** @param {string[]} names @param {number} font */
    constructor(names, font) {
      this.names = names;
      this.font = font;
      /** @type {{text: string, width: number}[][]} */
      this.forms = new Array(names.length);
      /** @type {Map<string, string>[]} */
      this.cut = new Array(names.length);
    }

    /** @param {number} id into the names @returns {{text: string, width: number}[]} */
    of(id) {
      return (this.forms[id] ??= candidates(this.names[id]).map(text => ({
        text,
        width: textWidth(text, this.font),
      })));
    }

    /** @param {number} id @param {number} room @returns {string} the fullest form that fits; "" if none */
    fit(id, room) {
      const forms = this.of(id);
      for (const form of forms) if (form.width <= room) return form.text;
      if (room < this.font * 2) return "";
      // The same room again and again while panning: so small a part of a unit makes no letter.
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

    /** @param {number} id @param {string} text @returns {boolean} whether it is a whole form, not a cut one */
    whole(id, text) {
      return this.of(id).some(form => form.text === text);
    }
  }

  ks.text = { clean, fixed, formatTime, signedTime, shortName, candidates, textWidth, truncate, Lettering };
})();
