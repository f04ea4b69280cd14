// The row of buttons, the help, and the hint that shows when a gesture did nothing.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  ks.parts.push(figure => {
    const { element, view, layout, model } = figure;
    const { make } = ks;
    let tools = element.querySelector(".ks-tools");
    if (!tools) {
      tools = make("div", { class: "ks-tools" });
      element.append(tools);
    }
    const row = make("div", { class: "ks-buttons", role: "group", "aria-label": "Timeline" });
    tools.prepend(row);
    figure.tools = tools;

    const button = (label, name, action, title = name) => {
      const node = make("button", { type: "button", title }, label);
      if (label !== name) node.setAttribute("aria-label", name);
      node.addEventListener("click", action);
      row.append(node);
      return node;
    };
    button("+", "Zoom in", () => ks.zoomStep(figure, 1 / 2), "Zoom in (W)");
    button("\u2212", "Zoom out", () => ks.zoomStep(figure, 2), "Zoom out (S)");
    const all = button("All", "All", () => (isAll() ? view.goHome() : view.goAll()), "All of the trace (0)");
    const isAll = () => view.start <= view.min && view.end >= view.max;
    figure.on("view", () => (all.textContent = isAll() ? "Step" : "All"));
    const back = button("Back", "Back", () => figure.escape(), "One step back (Escape)");
    // This button shows only while the selected event is out of view.
    const again = button("To selected", "Back to the selected event", () => figure.returnTo(), "Back to the selected event (R)");
    again.hidden = true;
    figure.returnTo = () => {
      if (figure.selected < 0) return figure.tell("Nothing is selected.");
      figure.reveal(figure.selected);
      figure.invalidate();
      // The button disappears.  If it had the focus, move that to the timeline.
      if (document.activeElement === again) figure.host.focus({ preventScroll: true });
    };
    figure.on("draw", () => (again.hidden = figure.selected < 0 || figure.inView(figure.selected)));
    const find = button("Find", "Find", () => figure.openFind(), "Find by name (F)");
    find.setAttribute("aria-expanded", "false");
    figure.on("finding", open => find.setAttribute("aria-expanded", String(open)));
    if (model.steps.length > 1) {
      const steps = button("Overlay", "Overlay", () => figure.overlay(!layout.overlaid), "");
      steps.title = `The ${model.steps.length} steps on top of each other, each from its own start (O)`;
      steps.setAttribute("aria-pressed", "false");
      const overlaid = make("p", { class: "ks-overlaid", hidden: "" });
      figure.frame.after(overlaid);
      figure.on("overlay", on => {
        steps.setAttribute("aria-pressed", String(on));
        overlaid.hidden = !on;
        if (!on) return figure.tell("Steps one after the other.");
        const shortest = ks.least(model.steps, step => step.end - step.start);
        const longest = -ks.least(model.steps, step => step.start - step.end);
        const [least, most] = [shortest, longest].map(ks.text.formatTime);
        const text = `${model.steps.length} steps on top of each other, each from its own start: ${least} to ${most} long. In each row the first step is at the top.`;
        figure.tell(text);
        overlaid.textContent = text;
      });
    }
    const help = button("?", "Help", () => figure.toggleHelp(), "Keys and gestures (?)");
    const helpId = `${figure.id}-keys`;
    const list = make("dl", { class: "ks-keys simple" });
    for (const [keys, what] of ks.keyHelp) list.append(make("div", {}, make("dt", {}, keys), make("dd", {}, what)));
    const sheet = make("section", { class: "ks-help", "aria-label": "Keys and gestures", hidden: "" },
      make("p", {}, "Drag to move, double click to zoom in. Ctrl or ⌘ and the wheel zoom; after a click on the timeline, the wheel alone. ",
        "Drag along the axis, or with Shift anywhere, to measure. On a touch screen: drag sideways, pinch, tap, double tap."),
      list);
    help.setAttribute("aria-expanded", "false");
    figure.toggleHelp = () => {
      sheet.hidden = !sheet.hidden;
      help.setAttribute("aria-expanded", String(!sheet.hidden));
    };
    // Short, because screen readers read it each time the timeline gets the focus.
    const keys = make("p", { class: "ks-unseen", id: helpId },
      "W and S zoom, A and D move, full stop and comma go through events, Enter zooms to one, question mark shows all keys. ",
      "Below is a tree of the events.");
    tools.after(sheet, keys);

    const note = make("p", { class: "ks-hint", "aria-hidden": "true", hidden: "" });
    figure.host.append(note);
    let fading;
    figure.on("hint", text => {
      clearTimeout(fading);
      note.textContent = text;
      note.hidden = false;
      fading = setTimeout(() => (note.hidden = true), 2500);
    });

    const update = () => {
      // `disabled` would take the focus away from the button.
      back.setAttribute("aria-disabled", String(!view.past.length && figure.selected < 0 && !figure.painter.tape));
    };
    for (const name of ["view", "select", "tape"]) figure.on(name, update);
    update();
  });
})();
