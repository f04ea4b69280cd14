// The timeline as a tree for keyboards and screen readers: lanes, nested events, what a call launched.
// The page holds only expanded items, and long lists are split into groups, so that any trace can be read.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  const GROUP = 50; // a longer list is split into groups
  const MOST = 300; // items in the page at once

  /**
   * @typedef {object} Item
   * @property {string} id
   * @property {number} event position, or -1 for a lane or a group
   * @property {() => string} label
   * @property {(() => Item[]) | null} children made when it is expanded
   */

  ks.parts.push(figure => {
    const { model } = figure;
    const { make } = ks;
    const { formatTime } = ks.text;
    const tree = make("div", { class: "ks-tree", role: "tree", "aria-label": `Events of ${model.data.name}` });
    const outline = make("details", { class: "ks-outline" }, make("summary", {}, "Events as a tree"), tree);
    figure.findBar.after(outline);
    /** ids of expanded items; a Set keeps the order in which they were expanded */
    const expanded = new Set();
    let current = "";
    /** @type {{item: Item, level: number, size: number, place: number, parent: string}[]} */
    let rows = [];

    /** @returns {Item} */
    const eventItem = (i, prefix) => {
      const below = [...model.children(i), ...model.activities(i)];
      const id = `${prefix}/${i}`;
      return {
        id,
        event: i,
        label: () => figure.describe(i),
        children: below.length ? () => grouped(below, id) : null,
      };
    };

    /** Make items of events; if there are too many, groups by step, then by number. */
    const grouped = (events, prefix, bySteps = false) => {
      if (events.length <= GROUP) return events.map(i => eventItem(i, prefix));
      const group = (id, name, part) => ({
        id: `${prefix}/${id}`,
        event: -1,
        label: () => `${name}, ${part.length} events, from ${figure.startText(part[0])}, ${formatTime(
          model.end[part.at(-1)] - model.start[part[0]])}`,
        children: () => grouped(part, `${prefix}/${id}`),
      });
      if (bySteps && model.steps.length > 1 && model.steps.length <= GROUP) {
        const parts = new Map();
        for (const i of events) {
          const step = model.stepOf[i];
          if (!parts.has(step)) parts.set(step, []);
          parts.get(step).push(i);
        }
        return [...parts].map(([step, part]) =>
          group(`step${step}`, step < 0 ? "Outside of the steps" : `Step ${model.steps[step].number}`, part));
      }
      let size = GROUP;
      while (events.length / size > GROUP) size *= GROUP;
      return Array.from({ length: Math.ceil(events.length / size) }, (_, k) => {
        const part = events.slice(k * size, (k + 1) * size);
        return group(`g${k}`, `Events ${k * size + 1} to ${k * size + part.length}`, part);
      });
    };

    const tops = model.lanes.map(() => []);
    for (let i = 0; i < model.count; i++) if (model.parent[i] < 0) tops[model.lane[i]].push(i);
    const roots = model.lanes.map((lane, n) => ({
      id: `lane${n}`,
      event: -1,
      label: () => `${lane.label}, ${tops[n].length} ${lane.gpu ? "activities" : "outer events"}`,
      children: tops[n].length ? () => grouped(tops[n], `lane${n}`, true) : null,
    }));

    const flatten = () => {
      const list = [];
      const add = (items, level, parent) => items.forEach((item, k) => {
        list.push({ item, level, size: items.length, place: k + 1, parent });
        if (item.children && expanded.has(item.id)) add(item.children(), level + 1, item.id);
      });
      add(roots, 1, "");
      return list;
    };

    const render = focus => {
      rows = flatten();
      // Too many rows: close what was expanded first, but nothing around the current item.
      for (const id of [...expanded]) {
        if (rows.length <= MOST) break;
        if (current === id || current.startsWith(`${id}/`)) continue;
        collapse(id);
        rows = flatten();
      }
      if (!rows.some(row => row.item.id === current)) current = rows[0]?.item.id ?? "";
      tree.replaceChildren(...rows.map(({ item, level, size, place }) => {
        const node = make("div", {
          role: "treeitem",
          "aria-level": String(level),
          "aria-setsize": String(size),
          "aria-posinset": String(place),
          tabindex: item.id === current ? "0" : "-1",
          "data-item": item.id,
        });
        if (item.children) node.setAttribute("aria-expanded", String(expanded.has(item.id)));
        node.setAttribute("aria-selected", String(item.event >= 0 && item.event === figure.selected));
        node.style.setProperty("--level", String(level - 1));
        if (item.event >= 0) node.append(make("span", { class: `ks-swatch ks-${model.kindOf(item.event)}` }));
        node.append(make("span", {}, item.label()));
        return node;
      }));
      if (focus) tree.querySelector('[tabindex="0"]')?.focus();
    };

    const collapse = id => {
      for (const each of [...expanded]) if (each === id || each.startsWith(`${id}/`)) expanded.delete(each);
    };

    const move = (row, focus = true) => {
      if (!row) return;
      tree.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
      current = row.item.id;
      const node = tree.children[rows.indexOf(row)];
      node?.setAttribute("tabindex", "0");
      if (focus) node?.focus();
      mark();
    };
    const mark = () => {
      rows.forEach(({ item }, k) =>
        tree.children[k]?.setAttribute("aria-selected", String(item.event >= 0 && item.event === figure.selected)));
    };

    tree.addEventListener("focusin", event => {
      const row = rows.find(each => each.item.id === event.target.dataset.item);
      // The screen reader reads the name of the item, so the live region stays quiet.
      if (row && row.item.event >= 0 && row.item.event !== figure.selected) figure.select(row.item.event, { quiet: true });
      mark();
    });
    const toggle = (row, open) => {
      if (!row.item.children) return;
      if (open) expanded.add(row.item.id);
      else collapse(row.item.id);
      render(true);
    };
    tree.addEventListener("click", event => {
      const node = event.target.closest("[role=treeitem]");
      const row = rows.find(each => each.item.id === node?.dataset.item);
      if (!row) return;
      const again = current === row.item.id;
      move(row);
      if (row.item.children && (row.item.event < 0 || again || !expanded.has(row.item.id))) {
        toggle(row, !expanded.has(row.item.id));
      }
    });
    tree.addEventListener("dblclick", () => figure.selected >= 0 && figure.zoomTo(figure.selected));

    tree.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const k = rows.findIndex(row => row.item.id === current);
      const row = rows[k];
      if (!row) return;
      const open = expanded.has(row.item.id);
      switch (event.key) {
        case "ArrowDown": move(rows[k + 1]); break;
        case "ArrowUp": move(rows[k - 1]); break;
        case "Home": move(rows[0]); break;
        case "End": move(rows.at(-1)); break;
        case "ArrowRight":
          if (row.item.children && !open) toggle(row, true);
          else if (open) move(rows[k + 1]);
          break;
        case "ArrowLeft":
          if (open) toggle(row, false);
          else move(rows.find(each => each.item.id === row.parent));
          break;
        case "Enter":
          if (row.item.event >= 0) figure.zoomTo(row.item.event);
          else toggle(row, !open);
          break;
        case " ":
          toggle(row, !open);
          break;
        case "Escape":
          if (!figure.escape()) return;
          break;
        default: {
          // A letter selects the next item whose name begins with it.
          if (event.key.length !== 1) return;
          const letter = event.key.toLowerCase();
          const after = [...rows.slice(k + 1), ...rows.slice(0, k)];
          move(after.find(each => each.item.label().toLowerCase().startsWith(letter)));
        }
      }
      event.preventDefault();
      event.stopPropagation();
    });

    outline.addEventListener("toggle", () => {
      if (!outline.open) return tree.replaceChildren();
      if (figure.selected >= 0) unfold(figure.selected);
      render(false);
    });

    /** Expand the items around an event, so that it is in the tree. */
    const unfold = at => {
      const path = [];
      for (let up = model.parent[at]; up >= 0; up = model.parent[up]) path.unshift(up);
      let items = roots[model.lane[at]];
      expanded.add(items.id);
      for (const want of [...path, at]) {
        let next;
        let level = items.children?.() ?? [];
        while (!(next = level.find(item => item.event === want))) {
          const group = level.find(item => item.event < 0 && inGroup(item, want));
          if (!group) return;
          expanded.add(group.id);
          level = group.children();
        }
        if (want !== at) expanded.add(next.id);
        items = next;
        current = next.id;
      }
    };
    const inGroup = (item, want) => item.children().some(each => each.event === want || (each.event < 0 && inGroup(each, want)));

    figure.on("select", i => {
      if (!outline.open) return;
      if (tree.contains(document.activeElement)) return mark();
      if (i >= 0) unfold(i);
      render(false);
      tree.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
    });
  });
})();
