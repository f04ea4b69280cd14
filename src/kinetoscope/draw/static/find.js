// Finds events by name or wildcard: lights all hits and selects one after the other.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  ks.parts.push(figure => {
    const { model } = figure;
    const { make } = ks;
    const input = make("input", {
      type: "search",
      id: `${figure.id}-find`,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      placeholder: "aten::add*",
    });
    const count = make("span", { class: "ks-count" });
    const previous = make("button", { type: "button", "aria-label": "Previous hit" }, "‹");
    const next = make("button", { type: "button", "aria-label": "Next hit" }, "›");
    const close = make("button", { type: "button", "aria-label": "Close the search" }, "×");
    const bar = make("div", { class: "ks-find", role: "search", "aria-label": "In this timeline", hidden: "" },
      make("label", { for: input.id }, "Find"), input, previous, next, close, count);
    figure.tools.after(bar);
    figure.findInput = input;
    figure.findBar = bar;
    let waiting;
    let searched = "";

    const tell = () => {
      const n = figure.hits.length;
      const at = figure.hits.indexOf(figure.selected);
      count.textContent = !searched ? "" : at >= 0 ? `${at + 1} of ${n}` : `${n} of ${model.count} events`;
    };

    const run = () => {
      clearTimeout(waiting);
      if (input.value === searched) return;
      searched = input.value;
      figure.setHits(model.find(searched));
      tell();
      if (searched) figure.say(`${figure.hits.length} of ${model.count} events`);
    };

    const go = by => {
      run();
      const { hits } = figure;
      if (!hits.length) return;
      const at = hits.indexOf(figure.selected);
      // Start with the first hit in or after the view, then go from hit to hit.
      let k = at + by;
      if (at < 0) {
        k = hits.findIndex(i => figure.layout.endOf(i) > figure.view.start);
        if (by < 0) k -= 1;
      }
      figure.select(hits[(Math.max(k, by < 0 && at < 0 ? 0 : k) + hits.length) % hits.length]);
      tell();
    };

    /** Close the search and forget its hits. */
    figure.closeFind = () => {
      bar.hidden = true;
      input.value = "";
      run();
      figure.emit("finding", false);
    };
    const shut = () => {
      figure.closeFind();
      figure.host.focus({ preventScroll: true });
    };

    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(run, 120);
    });
    input.addEventListener("keydown", event => {
      if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") shut();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    previous.addEventListener("click", () => go(-1));
    next.addEventListener("click", () => go(1));
    close.addEventListener("click", shut);
    figure.on("select", tell);

    /** @param {string} [text] to look for; without it the reader types one */
    figure.openFind = text => {
      bar.hidden = false;
      figure.emit("finding", true);
      if (text === undefined) {
        input.focus({ preventScroll: true });
        input.select();
        return;
      }
      input.value = text;
      run();
    };
  });
})();
