// The keyboard on the canvas: W A S D as in Perfetto, arrows, and keys for all that the buttons do.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  /** [keys as the help writes them, what they do] */
  ks.keyHelp = [
    ["W S", "nearer, farther"],
    ["A D or ← →", "left, right"],
    [". ,", "next, previous event of the row"],
    ["↓ ↑", "the first event inside or launched; the one around it, or its launch"],
    ["Enter", "zoom to the selected event"],
    ["Escape", "one step back"],
    ["0", "all of the trace"],
    ["Home", "as it was at first"],
    ["F or /", "find by name"],
    ["M", "measure the selected event; again: up to the next one selected"],
    ["G", "measure the gap between the selected event and the next of its row"],
    ["R", "back to the selected event"],
    ["O", "steps on top of each other"],
    ["?", "help"],
  ];

  /** Zoom as buttons and keys do: around the selected event if it is in view. */
  ks.zoomStep = (figure, factor) => {
    const { view, layout, selected } = figure;
    const start = selected >= 0 ? layout.startOf(selected) : NaN;
    const end = selected >= 0 ? layout.endOf(selected) : NaN;
    const seen = start < view.end && end > view.start;
    const at = seen ? (Math.max(start, view.start) + Math.min(end, view.end)) / 2 : (view.start + view.end) / 2;
    view.remember("key");
    const share = (at - view.start) / view.span;
    const span = Math.min(view.span * factor, view.max - view.min);
    view.go(at - share * span, at + (1 - share) * span);
  };

  /** Select the next event in the row of the selected one; without a selection, the first in view. */
  const step = (figure, by) => {
    const { model, layout, selected, view } = figure;
    if (selected >= 0) {
      const next = model.beside(selected, by);
      if (next >= 0) figure.select(next);
      else figure.tell(by > 0 ? "The last of its row." : "The first of its row.");
      return;
    }
    for (let k = 0; k < layout.count; k++) {
      const start = layout.startOf(layout.of[k]);
      if (start >= view.start && start < view.end) return figure.select(layout.of[k]);
    }
  };

  /** Select what the selected event holds or launched; upwards, what holds or launched it. */
  const dive = (figure, down) => {
    const { model, selected } = figure;
    if (selected < 0) return step(figure, 1);
    const next = down ? [...model.children(selected), ...model.activities(selected)] : model.causes(selected);
    if (next.length) figure.select(next[0]);
    else figure.tell(down ? "Nothing inside it, nothing launched." : "Nothing around it.");
  };

  ks.parts.push(figure => {
    const { host, view, painter } = figure;
    const pan = share => {
      view.remember("key");
      const by = view.span * share;
      view.go(view.start + by, view.end + by);
    };
    const actions = {
      w: () => ks.zoomStep(figure, 1 / 1.5),
      s: () => ks.zoomStep(figure, 1.5),
      a: () => pan(-0.2),
      d: () => pan(0.2),
      ".": () => step(figure, 1),
      ",": () => step(figure, -1),
      enter: () => figure.selected >= 0 && figure.zoomTo(figure.selected),
      0: () => view.goAll(),
      home: () => view.goHome(),
      f: () => figure.openFind(),
      "/": () => figure.openFind(),
      m: () => figure.markTape(),
      g: () => figure.markGap(),
      r: () => figure.returnTo(),
      o: () => figure.overlay(!figure.layout.overlaid),
      "?": () => figure.toggleHelp(),
      pagedown: () => scroll(1),
      pageup: () => scroll(-1),
    };
    Object.assign(actions, {
      arrowup: () => dive(figure, false), arrowdown: () => dive(figure, true), arrowleft: actions.a, arrowright: actions.d,
      "+": actions.w, "-": actions.s, "=": actions.w,
    });
    const scroll = by => {
      if (figure.layout.height <= painter.seen + 1) return false;
      painter.scrollY += (by * painter.seen) / 2;
      figure.invalidate();
    };

    host.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target !== host) return;
      if (event.key === "Escape") {
        if (figure.escape()) event.preventDefault();
        return;
      }
      const action = actions[event.key.toLowerCase()];
      if (!action || action() === false) return;
      event.preventDefault();
    });
  });
})();
