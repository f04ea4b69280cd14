// Mouse, pen and touch on the canvas.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  const STILL = 4; // px within which a press is a click
  const TWICE = 400; // ms between the taps of a double tap
  const MAC = /Mac|iPhone|iPad/.test(navigator.platform);

  ks.parts.push(figure => {
    const { host, view, layout, painter } = figure;
    /** @type {Map<number, {x: number, y: number}>} pointers that are down */
    const down = new Map();
    let press = null;
    let pinch = null;
    let lastTap = { time: -Infinity, x: 0, y: 0 };
    let lastMove = { x: NaN, y: NaN };

    /** @returns {{x: number, y: number}} the place of a pointer, in units of the picture */
    const place = event => {
      const box = host.getBoundingClientRect();
      return { x: (event.clientX - box.left) / figure.scale, y: (event.clientY - box.top) / figure.scale };
    };
    const onAxis = at => at.y > painter.seen - layout.style.axis;
    const hit = (at, touch) =>
      onAxis(at) ? { event: -1, more: 0 } : layout.hit(at.x, at.y + painter.scrollY, (touch ? 12 : 3) / figure.scale);
    const perUnit = () => view.span / (layout.width - 2 * layout.style.side);

    host.addEventListener("pointerdown", event => {
      if (event.pointerType === "mouse" && event.button !== 0) return;
      const at = place(event);
      down.set(event.pointerId, at);
      host.setPointerCapture(event.pointerId);
      if (down.size === 2) {
        press = null;
        const [a, b] = [...down.values()];
        pinch = { a: layout.timeAt(a.x), b: layout.timeAt(b.x), y: (a.y + b.y) / 2 };
        view.remember("pinch");
        return;
      }
      const tape = onAxis(at) || event.shiftKey;
      press = { at, moved: false, tape, from: layout.timeAt(at.x), touch: event.pointerType === "touch" };
    });

    host.addEventListener("pointermove", event => {
      const at = place(event);
      if (down.has(event.pointerId)) {
        const before = down.get(event.pointerId);
        down.set(event.pointerId, at);
        if (down.size === 2) twoFingers();
        else if (press) drag(at, before);
        return;
      }
      // When the page scrolls, the mouse rests and the reader does not point at anything.
      const rests = event.clientX === lastMove.x && event.clientY === lastMove.y;
      lastMove = { x: event.clientX, y: event.clientY };
      if (rests || event.pointerType === "touch") return;
      const target = hit(at, false);
      host.style.cursor = onAxis(at) ? "col-resize" : target.event >= 0 ? "pointer" : "";
      figure.hover(target.event, target.more);
    });

    const drag = (at, before) => {
      if (!press.moved) {
        if (Math.hypot(at.x - press.at.x, at.y - press.at.y) * figure.scale < STILL) return;
        press.moved = true;
        if (!press.tape) {
          view.pause();
          view.remember("drag");
          host.style.cursor = "grabbing";
        }
      }
      if (press.tape) {
        const to = layout.timeAt(Math.min(Math.max(at.x, layout.style.side), layout.width - layout.style.side));
        figure.setTape({ from: Math.round(Math.min(press.from, to)), to: Math.round(Math.max(press.from, to)) });
        return;
      }
      view.pan((before.x - at.x) * perUnit());
      if (!press.touch) painter.scrollY += before.y - at.y;
      figure.invalidate();
    };

    /** Zoom and pan so that both fingers stay on the times they touched first. */
    const twoFingers = () => {
      const [a, b] = [...down.values()];
      const apart = b.x - a.x;
      if (!pinch || Math.abs(apart) < 12) return;
      const perPx = (pinch.b - pinch.a) / apart;
      if (perPx <= 0) return;
      const start = pinch.a - (a.x - layout.style.side) * perPx;
      view.stop();
      view.set(start, start + perPx * (layout.width - 2 * layout.style.side));
      painter.scrollY += pinch.y - (a.y + b.y) / 2;
      pinch.y = (a.y + b.y) / 2;
      figure.invalidate();
    };

    const up = event => {
      if (!down.delete(event.pointerId)) return;
      pinch = null;
      host.style.cursor = "";
      const ended = press;
      press = null;
      if (!ended || event.type === "pointercancel") return;
      if (ended.moved) {
        view.pause();
        if (ended.tape) figure.emit("measured");
        return;
      }
      if (ended.tape && onAxis(ended.at)) return;
      const { event: i } = hit(ended.at, ended.touch);
      figure.select(i);
      const near = Math.hypot(ended.at.x - lastTap.x, ended.at.y - lastTap.y) * figure.scale < 24;
      const twice = event.timeStamp - lastTap.time < TWICE && near;
      lastTap = twice ? { time: -Infinity, x: 0, y: 0 } : { time: event.timeStamp, ...ended.at };
      if (twice && i >= 0) figure.zoomTo(i);
      else if (twice) {
        view.remember("double");
        const at = layout.timeAt(ended.at.x);
        view.go(at - view.span / 4, at + view.span / 4);
      }
    };
    host.addEventListener("pointerup", up);
    host.addEventListener("pointercancel", up);
    host.addEventListener("pointerleave", event => {
      if (!down.has(event.pointerId)) figure.hover(-1);
    });

    host.addEventListener("wheel", event => {
      const focused = document.activeElement === host;
      const asked = event.ctrlKey || event.metaKey;
      const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const dx = (event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX) * lines;
      const dy = (event.shiftKey && !event.deltaX ? 0 : event.deltaY) * lines;
      if (!asked && Math.abs(dx) > Math.abs(dy)) {
        if (!focused && !event.shiftKey) return;
        event.preventDefault();
        view.remember("wheel");
        view.pan((dx / figure.scale) * perUnit());
        return;
      }
      // Without Ctrl or the focus, the reader may just want to scroll the page.
      if (!asked && !focused) {
        figure.emit("hint", `${MAC ? "⌘" : "Ctrl"} + wheel zooms. After a click the wheel alone does.`);
        return;
      }
      const all = view.span >= view.max - view.min;
      if (!asked && all && dy > 0) return; // all is in view: let the page scroll
      event.preventDefault();
      view.remember("wheel");
      const at = Math.min(Math.max(place(event).x, layout.style.side), layout.width - layout.style.side);
      view.zoom(Math.exp(Math.min(Math.max(dy, -240), 240) * (event.ctrlKey && Math.abs(dy) < 20 ? 0.01 : 0.002)), layout.timeAt(at));
    }, { passive: false });
  });
})();
