// One trace as typed columns, and what can be asked of it.  Times are ns since the trace's first event.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  // A site's loader defines these.  The page of `kinetoscope show` has no loader.
  ks.stored ??= new Map();
  ks.data ??= (key, data) => void ks.stored.set(key, data);

  /** @type {Map<string, Model>} */
  const models = new Map();

  /**
   * @param {Float64Array} ends ns by position @param {Int32Array} list positions whose ends rise
   * @param {number} t ns @param {number} [from] place in the list where the search begins
   * @returns {number} place of the first event in the list that ends after t
   */
  function firstEndingAfter(ends, list, t, from = 0) {
    let low = from;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[list[middle]] > t) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /**
   * The least value of a list of any length.  The arguments of a call, as of `Math.min(...list)`, lie on its stack.
   * @template T @param {ArrayLike<T>} list @param {(each: T) => number} value @returns {number} Infinity for none
   */
  function least(list, value) {
    let found = Infinity;
    for (let k = 0; k < list.length; k++) found = Math.min(found, value(list[k]));
    return found;
  }

  class Model {
    /** @param {object} data what a data script holds (see kinetoscope.draw.viewer_data) */
    constructor(data) {
      if (data.version !== 3) throw new Error(`timeline data of version ${data.version}: build the page again`);
      const events = data.events;
      const n = events.start.length;
      this.data = data;
      this.key = `${data.machine}/${data.name}`;
      this.count = n;
      /** @type {string[]} in full */
      this.names = data.names.map(name => (Array.isArray(name) ? name[0] : name));
      /** @type {string[][]} how each name may be written, the fullest form first */
      this.forms = data.names.map(name => (Array.isArray(name) ? name.slice(1) : [name]));
      this.kinds = data.kinds;
      this.lanes = data.lanes;
      this.extent = data.end;
      this.index = Int32Array.from(events.index);
      this.name = Int32Array.from(events.name);
      this.kind = Uint8Array.from(events.kind);
      this.category = Uint8Array.from(events.category);
      this.lane = Int32Array.from(events.lane);
      this.row = Uint16Array.from(events.row);
      this.parent = Int32Array.from(events.parent);
      this.launch = Int32Array.from(events.launch);
      /** `end` includes the work that the GPU still had to do, `cpuEnd` does not */
      this.steps = data.steps;
      /** @type {Int32Array} place in steps; -1 for an event outside of all */
      this.stepOf = Int32Array.from(events.step);
      this.detail = Int32Array.from(events.detail);
      this.dur = Float64Array.from(events.dur);
      this.start = new Float64Array(n);
      this.end = new Float64Array(n);
      this.self = Float64Array.from(events.dur);
      for (let i = 0, at = 0; i < n; i++) {
        at += events.start[i];
        this.start[i] = at;
        this.end[i] = at + this.dur[i];
      }
      for (let i = 0; i < n; i++) if (this.parent[i] >= 0) this.self[this.parent[i]] -= this.dur[i];
      for (let i = 0; i < n; i++) if (this.self[i] < 0) this.self[i] = 0;
      this._below = grouped(this.parent, n);
      this._started = grouped(this.launch, n);
      this._placeRows();
      const last = this.index.reduce((a, b) => Math.max(a, b), -1);
      this._position = new Int32Array(last + 1).fill(-1);
      for (let i = 0; i < n; i++) this._position[this.index[i]] = i;
      this._tops = [];
    }

    /** @param {string} key "MACHINE/NAME", its data loaded @returns {Model | null} the page's only model of this trace */
    static of(key) {
      if (!models.has(key) && ks.stored.has(key)) models.set(key, new Model(ks.stored.get(key)));
      return models.get(key) ?? null;
    }

    /** Sort the events into rows, by start; within a row no two overlap. */
    _placeRows() {
      const counts = this.lanes.map(lane => new Int32Array(lane.rows));
      for (let i = 0; i < this.count; i++) counts[this.lane[i]][this.row[i]]++;
      /** @type {Int32Array[][]} by lane and row */
      this.rows = counts.map(rows => Array.from(rows, count => new Int32Array(count)));
      counts.forEach(rows => rows.fill(0));
      for (let i = 0; i < this.count; i++) {
        const lane = this.lane[i];
        const row = this.row[i];
        this.rows[lane][row][counts[lane][row]++] = i;
      }
    }

    /** @param {number} index among the file's events @returns {number} position in the columns, or -1 */
    position(index) {
      return this._position[index] ?? -1;
    }

    /** @param {number} i @returns {string} name in full */
    nameOf(i) {
      return this.names[this.name[i]];
    }

    /** @param {number} i @returns {string} a kernel's without what a reader skips: "vectorized_elementwise_kernel<…>" */
    shortNameOf(i) {
      return this.categoryOf(i) === "kernel" ? this.forms[this.name[i]][0] : this.nameOf(i);
    }

    /** @param {number} i @returns {string} "op", "kernel", "memcpy", … */
    categoryOf(i) {
      return this.data.categories[this.category[i]].replace("_", " ");
    }

    /** @param {number} i @returns {string} key of the palette */
    kindOf(i) {
      return this.kinds[this.kind[i]];
    }

    /** @param {number} i @returns {boolean} */
    onGpu(i) {
      return this.lanes[this.lane[i]].gpu;
    }

    /** @param {number} i @returns {[string, string][]} labels and values of what else was recorded */
    detailsOf(i) {
      return this.detail[i] < 0 ? [] : this.data.details[this.detail[i]];
    }

    /** @param {number} i @returns {Int32Array} events nested directly in it */
    children(i) {
      return this._below.of(i);
    }

    /** @param {number} i @returns {Int32Array} GPU activities that this call started */
    activities(i) {
      return this._started.of(i);
    }

    /** @param {number} i @returns {number[]} it and all events nested in it, parents first */
    subtree(i) {
      const events = [i];
      for (let at = 0; at < events.length; at++) for (const child of this.children(events[at])) events.push(child);
      return events;
    }

    /** @param {number} i @returns {number[]} every GPU activity that it, or an event below it, launched */
    caused(i) {
      return this.subtree(i).flatMap(at => Array.from(this.activities(at))).sort((a, b) => a - b);
    }

    /** @param {number} i @returns {number[]} the events around it, or around its launch, the innermost first */
    causes(i) {
      const events = [];
      for (let at = this.onGpu(i) ? this.launch[i] : this.parent[i]; at >= 0; at = this.parent[at]) events.push(at);
      return events;
    }

    /** @param {number} i @returns {number[]} the events that light up with it */
    related(i) {
      return this.onGpu(i) ? [i, ...this.causes(i)] : [...this.subtree(i), ...this.caused(i)];
    }

    /** @param {number} i @returns {number} ns since the launching call began; NaN without one */
    launchDelay(i) {
      return this.launch[i] < 0 ? NaN : this.start[i] - this.start[this.launch[i]];
    }

    /** The outermost events of a lane that are work; an annotation only names a span. */
    _work(lane) {
      if (this._tops[lane]) return this._tops[lane];
      const note = this.kinds.indexOf("annotation");
      const tops = [];
      for (let i = 0; i < this.count; i++) {
        if (this.lane[i] !== lane || this.kind[i] === note) continue;
        let at = this.parent[i];
        while (at >= 0 && this.kind[at] === note) at = this.parent[at];
        if (at < 0) tops.push(i);
      }
      return (this._tops[lane] = Int32Array.from(tops));
    }

    /** @param {number} lane @param {number} from @param {number} to @returns {number} ns in which some work ran */
    busy(lane, from, to) {
      let sum = 0;
      let until = from;
      for (const i of this._work(lane)) {
        if (this.start[i] >= to) break;
        const a = Math.max(this.start[i], until);
        const b = Math.min(this.end[i], to);
        if (b > a) {
          sum += b - a;
          until = b;
        }
      }
      return sum;
    }

    /**
     * @param {string} pattern a part of a name; with `*` (any text) or `?` (one character), all of it
     * @returns {Int32Array} positions, by start
     */
    find(pattern) {
      const wanted = pattern.trim();
      if (!wanted) return new Int32Array(0);
      const escaped = wanted.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
      const test = new RegExp(/[*?]/.test(wanted) ? `^(?:${escaped})$` : escaped, "is");
      const hit = this.names.map((name, id) => test.test(name) || test.test(this.forms[id][0]));
      const positions = [];
      for (let i = 0; i < this.count; i++) if (hit[this.name[i]]) positions.push(i);
      return Int32Array.from(positions);
    }

    /** The event of a row at a time, or the one nearest to it. @param {number} lane @param {number} row @param {number} t */
    at(lane, row, t) {
      const list = this.rows[lane][row];
      if (!list.length) return -1;
      const k = Math.min(list.length - 1, firstEndingAfter(this.end, list, t));
      const far = j => Math.max(this.start[list[j]] - t, t - this.end[list[j]], 0);
      return k > 0 && far(k - 1) < far(k) ? list[k - 1] : list[k];
    }

    /** The neighbor in its row. @param {number} i @param {number} by 1 or -1 @returns {number} or -1 */
    beside(i, by) {
      const list = this.rows[this.lane[i]][this.row[i]];
      return list[list.indexOf(i) + by] ?? -1;
    }
  }

  /**
   * Group positions by what they point at, in one array.
   * @param {Int32Array} to what each of the n positions points at, or -1 @param {number} n
   */
  function grouped(to, n) {
    const first = new Int32Array(n + 1);
    for (let i = 0; i < n; i++) if (to[i] >= 0) first[to[i] + 1]++;
    for (let i = 0; i < n; i++) first[i + 1] += first[i];
    const at = first.slice();
    const all = new Int32Array(first[n]);
    for (let i = 0; i < n; i++) if (to[i] >= 0) all[at[to[i]]++] = i;
    return { of: i => all.subarray(first[i], first[i + 1]) };
  }

  ks.Model = Model;
  ks.firstEndingAfter = firstEndingAfter;
  ks.least = least;
})();
