// Keeps the view in the page's address: #FIGURE@START-END,e=EVENT,find=PATTERN (times in ns, EVENT an index in the file).
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});
  const REST = 400; // ms without a change before the address changes

  /** @param {string} hash @returns {{id: string, start: number, end: number, event: number, find: string} | null} */
  ks.readAddress = hash => {
    const [, id, start, end, rest = ""] = /^#([^@]+)@(-?\d+)-(-?\d+)((?:,.*)?)$/.exec(hash) ?? [];
    if (!id) return null;
    const part = name => new RegExp(`,${name}=([^,]*)`).exec(rest)?.[1];
    let find = "";
    try {
      find = decodeURIComponent(part("find") ?? "");
    } catch {
      // the address was cut short
    }
    return { id: decodeURIComponent(id), start: Number(start), end: Number(end), event: Number(part("e") ?? -1), find };
  };

  ks.parts.push(figure => {
    const { view, layout, model } = figure;
    let waiting;

    const write = () => {
      if (layout.overlaid) return;
      const [start, end] = [view.start, view.end].map(t => Math.round(t + layout.origin));
      let hash = `#${encodeURIComponent(figure.id)}@${start}-${end}`;
      if (figure.selected >= 0) hash += `,e=${model.index[figure.selected]}`;
      const text = figure.findInput.value;
      if (text) hash += `,find=${encodeURIComponent(text)}`;
      const plain = view.atHome && figure.selected < 0 && !text;
      // The figure is as it was opened, so leave an address that leads elsewhere in the page alone.
      if (plain && !location.hash.startsWith(`#${encodeURIComponent(figure.id)}@`)) return;
      history.replaceState(history.state, "", plain ? `#${encodeURIComponent(figure.id)}` : hash);
    };
    const later = () => {
      clearTimeout(waiting);
      waiting = setTimeout(write, REST);
    };
    const read = () => {
      const at = ks.readAddress(location.hash);
      if (at?.id !== figure.id) return;
      view.set(at.start - layout.origin, at.end - layout.origin);
      if (at.find) figure.openFind(at.find);
      const i = at.event >= 0 ? model.position(at.event) : -1;
      if (i >= 0) figure.select(i, { quiet: true });
      view.past.length = 0;
    };
    read();
    addEventListener("hashchange", read);
    for (const name of ["view", "select", "find"]) figure.on(name, later);
  });
})();
