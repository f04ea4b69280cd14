// The page of `kinetoscope show`: unpacks the trace, and lets the reader sort and filter the tables.
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  /** @param {HTMLScriptElement} held has JSON, or gzipped JSON in base64 @returns {Promise<object>} */
  const unpacked = held => {
    if (held.type === "application/json") return JSON.parse(held.textContent);
    const bytes = Uint8Array.from(atob(held.textContent), char => char.charCodeAt(0));
    // Reading a Blob's stream is no request, so the page's policy allows it.
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  };

  const begin = async () => {
    for (const held of document.querySelectorAll("script.ks-data")) {
      ks.data(held.dataset.trace, await unpacked(held));
      held.remove();
    }
    for (const figure of document.querySelectorAll("figure.ks-timeline")) ks.enliven(figure);
  };

  /** @param {Element} cell @returns {number | string} what to sort it by: its number in its column's unit, or its text */
  const valueOf = cell => {
    const shown = (cell.querySelector("summary") ?? cell).textContent.trim();
    const [, sign, number] = /^(<?)(-?[\d.]+)/.exec(shown) ?? [];
    if (!cell.classList.contains("ks-number")) return shown.toLowerCase();
    return number === undefined ? -Infinity : Number(number) - (sign ? 1e-6 : 0);
  };

  /** @param {HTMLTableElement} table */
  const sortable = table => {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    heads.forEach((head, k) => {
      const button = ks.make("button", { type: "button", class: "ks-sort", title: "Sort" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const number = head.classList.contains("ks-number");
        const was = head.getAttribute("aria-sort");
        const descending = was ? was === "ascending" : number;
        const sign = descending ? -1 : 1;
        const rows = [...body.rows].map(row => ({ row, value: valueOf(row.cells[k]) }));
        rows.sort((a, b) => sign * (a.value < b.value ? -1 : a.value > b.value ? 1 : 0));
        for (const { row } of rows) body.append(row);
        for (const each of heads) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      });
    });
  };

  /** Add a field that keeps the rows with a text in them, also in the full name. @param {Element} box */
  const siftable = (box, noun) => {
    const rows = [...box.querySelectorAll("tbody tr")];
    if (rows.length < 12) return;
    const input = ks.make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    const count = ks.make("span", { class: "ks-count", role: "status" });
    const label = ks.make("label", {}, `Only ${noun} with `, input);
    box.before(ks.make("p", { class: "ks-sift" }, label, count));
    const texts = rows.map(row => row.textContent.toLowerCase());
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let left = 0;
      rows.forEach((row, k) => {
        row.hidden = !texts[k].includes(wanted);
        if (!row.hidden) left++;
      });
      count.textContent = wanted ? `${left} of ${rows.length} rows` : "";
    });
  };

  for (const section of document.querySelectorAll("section[id^=by-]")) {
    const table = section.querySelector("table");
    if (table.tHead && table.tBodies[0].rows.length > 1) sortable(table);
    siftable(section.querySelector(".ks-table"), section.querySelector("h2").textContent.toLowerCase());
  }

  begin().catch(error => {
    const old = typeof DecompressionStream === "undefined";
    const why = old
      ? "This browser is too old to unpack the timeline (it knows no DecompressionStream): use Firefox 113, Safari 16.4, Chrome 80 or newer."
      : `The timeline cannot be brought to life: ${error.message}`;
    document.querySelector("figure.ks-timeline")?.before(ks.make("p", { class: "ks-fault", role: "alert" },
      `${why} The picture and the tables are complete without it.`));
  });
})();
