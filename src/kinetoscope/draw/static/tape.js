// The measuring tape: how long a span is, and for how much of it each lane was busy.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  /** @returns {{lane: number, busy: number}[]} ns in which each shown lane was busy in the span */
  ks.measure = (figure, tape) => {
    const { model, layout } = figure;
    return [...layout.shown].flatMap((rows, lane) => {
      if (!rows) return [];
      return [{ lane, busy: model.busy(lane, tape.from + layout.origin, tape.to + layout.origin) }];
    });
  };

  ks.parts.push(figure => {
    const { model, layout } = figure;
    const { make } = ks;
    const { formatTime, fixed } = ks.text;
    const head = make("p", { class: "ks-tape-span" });
    const body = make("tbody");
    const table = make("table", {},
      make("thead", {}, make("tr", {},
        make("th", { scope: "col" }, "lane"), make("th", { scope: "col" }, "busy"), make("th", { scope: "col" }, "share"))),
      body);
    const card = make("section", { class: "ks-tape", "aria-label": "Measuring tape", hidden: "" }, head, table);
    const close = make("button", { type: "button", class: "ks-close" }, "Remove the tape");
    close.addEventListener("click", () => {
      figure.setTape(null);
      figure.host.focus({ preventScroll: true });
    });
    card.append(close);
    figure.live.before(card);

    const share = (busy, span) => (span > 0 ? `${fixed((100 * busy) / span, 1)} %` : "–");
    const label = lane => model.lanes[lane].brief;

    figure.on("tape", tape => {
      card.hidden = !tape;
      if (!tape) return;
      const span = tape.to - tape.from;
      const from = ks.text.signedTime(tape.from - figure.painter.zero);
      head.replaceChildren(make("strong", {}, formatTime(span)), ` from ${layout.overlaid ? formatTime(tape.from) : from}`);
      // A span of overlaid steps is not one span of the trace.
      table.hidden = layout.overlaid;
      if (layout.overlaid) return;
      body.replaceChildren(...ks.measure(figure, tape).map(({ lane, busy }) =>
        make("tr", {},
          make("th", { scope: "row" }, label(lane)),
          make("td", { class: "ks-number" }, formatTime(busy)),
          make("td", { class: "ks-number" }, share(busy, span)))));
    });

    const tell = () => {
      const { tape } = figure.painter;
      if (!tape) return;
      const lanes = layout.overlaid ? [] : ks.measure(figure, tape);
      const parts = lanes.map(({ lane, busy }) => `${label(lane)} busy ${share(busy, tape.to - tape.from)}`);
      figure.say([formatTime(tape.to - tape.from), ...parts].join(", "));
    };
    figure.on("measured", tell);

    /** Measure the selected event; if there is a tape, extend it to that event. */
    figure.markTape = () => {
      const i = figure.selected;
      if (i < 0) return figure.tell("Select an event first: . selects the first one in view.");
      const start = layout.startOf(i);
      const end = layout.endOf(i);
      const { tape } = figure.painter;
      figure.setTape(tape ? { from: Math.min(tape.from, start), to: Math.max(tape.to, end) } : { from: start, to: end });
      tell();
    };

    /** Measure the gap from the selected event to the next one in its row. */
    figure.markGap = () => {
      const i = figure.selected;
      if (i < 0) return figure.tell("Select an event first: . selects the first one in view.");
      const next = model.beside(i, 1);
      if (next < 0) return figure.tell("The last of its row.");
      const from = layout.endOf(i);
      const to = layout.startOf(next);
      if (!(to > from)) return figure.tell("No gap: the next one begins at once.");
      figure.setTape({ from, to });
      tell();
    };
  });
})();
