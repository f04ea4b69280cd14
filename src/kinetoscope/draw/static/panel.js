// The card below the canvas: all that is known about the hovered or selected event.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});
  const MOST = 6; // buttons; further ones are only counted

  ks.parts.push(figure => {
    const { model } = figure;
    const { make } = ks;
    const { formatTime } = ks.text;
    const name = make("p", { class: "ks-panel-name" });
    const facts = make("dl", { class: "ks-facts simple" });
    const links = make("div", { class: "ks-jumps" });
    const panel = make("section", { class: "ks-panel", "aria-label": "Details of the event", hidden: "" }, name, facts, links);
    figure.live.after(panel);
    figure.panel = panel;
    let tallest = 0;

    const jumps = (label, events) => {
      if (!events.length) return;
      const row = make("p", {}, make("span", { class: "ks-jump-label" }, `${label} `));
      for (const i of events.slice(0, MOST)) {
        const button = make("button", { type: "button", title: model.nameOf(i) }, model.shortNameOf(i));
        button.append(make("span", { class: "ks-unit" }, ` ${formatTime(model.dur[i])}`));
        button.addEventListener("click", event => {
          figure.hover(-1);
          figure.select(i);
          // The button is gone now.  If a key pressed it, move the focus to the timeline.
          if (!event.detail) figure.host.focus({ preventScroll: true });
        });
        row.append(button, " ");
      }
      if (events.length > MOST) row.append(`and ${events.length - MOST} more`);
      links.append(row);
    };

    const fact = (term, value, note = "") => {
      const dd = make("dd", {}, value);
      if (note) dd.append(make("span", { class: "ks-unit" }, ` ${note}`));
      facts.append(make("div", {}, make("dt", {}, term), dd));
    };

    const fill = i => {
      name.replaceChildren(
        make("span", { class: `ks-swatch ks-${model.kindOf(i)}` }),
        make("code", {}, model.nameOf(i)),
        make("span", { class: "ks-category" }, model.categoryOf(i)),
      );
      facts.replaceChildren();
      links.replaceChildren();
      const step = model.stepOf[i];
      fact("starts at", figure.startText(i), step >= 0 ? `of step ${model.steps[step].number}` : "");
      fact(model.onGpu(i) ? "takes" : "total", formatTime(model.dur[i]));
      if (!model.onGpu(i)) fact("self", formatTime(model.self[i]));
      if (model.launch[i] >= 0) fact("launch delay", formatTime(model.launchDelay(i)), "after its launch began");
      for (const [label, value] of model.detailsOf(i)) fact(label, value);
      for (const [label, value] of figure.notes?.(i) ?? []) fact(label, value);
      if (figure.hovered === i && figure.hoveredMore) {
        fact("here", `one of ${figure.hoveredMore + 1} events too close to tell apart`, "zoom in");
      }
      const causes = model.causes(i);
      jumps(model.onGpu(i) ? "Launched by" : "Inside", causes.slice(0, 3));
      if (!model.onGpu(i)) {
        const caused = model.caused(i);
        jumps("Launches", caused);
        if (!caused.length) jumps("Holds", [...model.children(i)]);
      }
    };

    const show = () => {
      const i = figure.hovered >= 0 ? figure.hovered : figure.selected;
      if (i >= 0) {
        fill(i);
        // It opens below the buttons, so that they do not move away from the finger.
        if (panel.hidden) figure.findBar.after(panel);
        panel.hidden = false;
        // It never shrinks while the reader looks around, so that the page below does not move.
        panel.style.minHeight = "";
        tallest = Math.max(tallest, panel.offsetHeight);
        panel.style.minHeight = `${tallest}px`;
      }
    };
    const close = () => {
      if (figure.selected >= 0 || figure.hovered >= 0) return show();
      tallest = 0;
      panel.hidden = true;
      panel.style.minHeight = "";
    };
    figure.on("hover", show);
    figure.on("select", i => (i >= 0 ? show() : close()));
    new ResizeObserver(() => (tallest = 0)).observe(figure.host);
  });
})();
