// Two timelines on one scale: they move together, and events that belong together light up in both.
// A script.ks-pairs in the second figure says which events those are.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  /** @typedef {{change: string, said: string, ratio: string, told: boolean, places: [number[], number[]]}} Pair */

  /** Writes names, some of them after a sign that says what became of their events. */
  class SignedLettering extends ks.text.Lettering {
    /** @param {string[][]} forms @param {number} font @param {(string | undefined)[]} signs one for each name */
    constructor(forms, font, signs) {
      super(forms, font);
      this.signs = signs;
    }

    fit(id, room) {
      const sign = this.signs[id];
      if (!sign) return super.fit(id, room);
      const name = super.fit(id, room - ks.text.textWidth(`${sign} `, this.font));
      if (name) return `${sign} ${name}`;
      return ks.text.textWidth(sign, this.font) <= room ? sign : "";
    }

    whole(id, text) {
      const sign = this.signs[id];
      return super.whole(id, sign ? text.slice(sign.length + 1) : text);
    }
  }

  class Comparison {
    /** @param {HTMLElement[]} elements the two figures @param {{signs: Record<string, string>, pairs: Pair[]}} pairing */
    constructor(elements, pairing) {
      this.elements = elements;
      this.pairing = pairing;
      this.names = elements.map(element => this.keyOf(element).replace(/^[^/]*\//, ""));
    }

    keyOf(element) {
      return element.querySelector(".ks-tools").dataset.trace;
    }

    /** Start both viewers at once, since they share one window. @returns {Promise<boolean>} whether that worked */
    async begin() {
      const tools = this.elements.map(element => element.querySelector(".ks-tools"));
      const wanted = tools.filter(each => !ks.stored.has(each.dataset.trace) && each.dataset.src);
      try {
        await Promise.all(wanted.map(each => ks.load(each.dataset.src)));
      } catch {
        return false;
      }
      const models = tools.map(each => ks.Model.of(each.dataset.trace));
      if (models.includes(null)) return false;
      const origins = this.elements.map(element => Number(element.dataset.start));
      const spans = this.elements.map((element, k) => Number(element.dataset.end) - origins[k]);
      const last = models.map((model, k) => model.extent - origins[k]);
      const view = new ks.View(0, Math.max(...spans), Math.min(...origins.map(origin => -origin)), Math.max(...last));
      this.figures = this.elements.map((element, k) =>
        (element.kinetoscope = new ks.Figure(element, models[k], { view, origin: origins[k] })));
      /** number of the pair of each event, by position; -1 without one */
      this.pairOf = models.map((model, k) => {
        const of = new Int32Array(model.count).fill(-1);
        this.pairing.pairs.forEach((pair, number) => {
          for (const index of pair.places[k]) if (model.position(index) >= 0) of[model.position(index)] = number;
        });
        return of;
      });
      this.figures.forEach((figure, k) => this.join(figure, k));
      return true;
    }

    /** @param {ks.Figure} figure @param {number} k 0: before, 1: after */
    join(figure, k) {
      const other = this.figures[1 - k];
      this.sign(figure, k);
      const partners = () => {
        const i = figure.hovered >= 0 ? figure.hovered : figure.selected;
        other.light(i < 0 ? [] : this.partners(k, i));
      };
      figure.on("hover", partners);
      figure.on("select", partners);
      figure.on("draw", () => this.outline(figure, k));
      figure.notes = i => {
        const pair = this.pairing.pairs[this.pairOf[k][i]];
        return pair ? [[k ? `against ${this.names[0]}` : `in ${this.names[1]}`, told(pair)]] : [];
      };
      const describe = figure.describe.bind(figure);
      figure.describe = i => [describe(i), ...figure.notes(i).map(note => note.join(" "))].join(", ");

      // They share their window, so they also share the tape and the overlay of steps.
      figure.on("tape", tape => {
        if (other.painter.tape !== tape) other.setTape(tape);
      });
      figure.on("overlay", on => {
        if (other.layout.overlaid === on || !other.model.steps.length) return;
        const { view } = figure;
        const max = view.max;
        other.overlay(on);
        if (!on) return;
        // The first one has changed the shared window already, so the second takes over what it was before.
        other._before = figure._before;
        view.max = view.home.end = Math.max(max, view.max);
        view.set(0, view.max);
      });
      figure.invalidate();
    }

    /** Give signed names entries of their own: an op can have the name of the kernel that it launches. */
    sign(figure, k) {
      const { model, painter, layout } = figure;
      const forms = [...model.forms];
      const signs = new Array(forms.length);
      const signed = new Map();
      const name = Int32Array.from(model.name, (id, i) => {
        const number = this.pairOf[k][i];
        const pair = this.pairing.pairs[number];
        if (!pair?.told) return id;
        if (!signed.has(number)) {
          signed.set(number, forms.push(forms[id]) - 1);
          signs.push(this.pairing.signs[pair.change]);
        }
        return signed.get(number);
      });
      // Other figures of the page draw the same trace without signs.
      painter.model = Object.create(model, { name: { value: name }, forms: { value: forms } });
      painter.lettering = new SignedLettering(forms, layout.style.font, signs);
    }

    /** The event's partners in the other trace, in the step there that corresponds to its own. */
    partners(k, i) {
      const number = this.pairOf[k][i];
      if (number < 0) return [];
      const { places } = this.pairing.pairs[number];
      const [own, others] = [this.figures[k], this.figures[1 - k]];
      const home = figure => [...figure.layout.homeSteps][0] ?? 0;
      const at = (figure, which) => places[which].map(index => figure.model.position(index)).filter(j => j >= 0);
      const ownStep = own.model.stepOf[i];
      const mine = at(own, k).filter(j => own.model.stepOf[j] === ownStep);
      const all = at(others, 1 - k);
      const step = ownStep - home(own) + home(others);
      const beside = all.filter(j => ownStep < 0 || others.model.stepOf[j] === step);
      // If there are as many there as here, they belong together in their order.
      if (beside.length === mine.length) return beside.slice(mine.indexOf(i), mine.indexOf(i) + 1);
      return beside.length ? beside : all;
    }

    /** Draw dashes around events that are gone, a thick line around new ones, as the picture does. */
    outline(figure, k) {
      const { layout, painter } = figure;
      const { context: c, scrollY, color } = painter;
      c.save();
      c.beginPath();
      c.rect(0, 0, layout.width, painter.seen - layout.style.axis);
      c.clip();
      c.translate(0, -scrollY);
      c.strokeStyle = color.text;
      for (let bar = 0; bar < layout.count; bar++) {
        const i = layout.of[bar];
        const pair = this.pairing.pairs[this.pairOf[k][i]];
        if (!pair?.told || layout.h[bar] < 6 || (pair.change !== "gone" && pair.change !== "new")) continue;
        c.globalAlpha = layout.faded[bar] ? ks.OTHER_STEP : painter.lit && !painter.lit.includes(i) ? ks.ASIDE : 1;
        c.setLineDash(pair.change === "gone" ? [3, 2] : []);
        c.lineWidth = pair.change === "gone" ? 1.5 : 2;
        c.strokeRect(layout.x[bar], layout.y[bar], layout.w[bar], layout.h[bar]);
      }
      c.restore();
    }
  }

  /** @param {Pair} pair */
  const told = pair => (pair.ratio ? `${pair.said}, ${pair.ratio}` : pair.said);

  /** @type {WeakMap<Element, Comparison>} */
  const comparisons = new WeakMap();
  const comparisonOf = element => {
    for (const script of document.querySelectorAll("script.ks-pairs")) {
      const pairing = JSON.parse(script.textContent);
      const elements = pairing.figures.map(id => document.getElementById(id));
      if (elements.includes(null) || comparisons.has(elements[0])) continue;
      const comparison = new Comparison(elements, pairing);
      for (const each of elements) comparisons.set(each, comparison);
    }
    return comparisons.get(element);
  };

  const alone = ks.enliven;
  /** @returns {object | null | Promise<object | null>} the figure; a promise of it if it is one of two compared */
  ks.enliven = element => {
    if (element.kinetoscope) return element.kinetoscope;
    const comparison = comparisonOf(element);
    if (!comparison) return alone(element);
    comparison.begun ??= comparison.begin();
    return comparison.begun.then(both => (both ? element.kinetoscope : alone(element)));
  };
})();
