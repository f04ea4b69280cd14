// The switch between recordings.  What a page shows of the N-th machine is in a box of the classes ks-for and
// ks-on-N; what it does not show at first is in templates.  The script is loaded in the head, before anything is
// drawn, so that nobody sees the numbers of a machine they did not choose, not even for a moment.
(() => {
  "use strict";
  const kinetoscope = (globalThis.kinetoscope ??= {});
  const KEY = "kinetoscope-machine";
  const root = document.documentElement;
  /** @type {string[]} the machines by number; the page shows the first one until another is chosen */
  const machines = JSON.parse(document.currentScript.dataset.machines);

  /** @returns {number} the machine chosen on an earlier page of this visit */
  function remembered() {
    try {
      return Math.max(0, machines.indexOf(sessionStorage.getItem(KEY)));
    } catch {
      return 0; // the browser may forbid storage
    }
  }

  /** @param {number} number */
  function remember(number) {
    try {
      sessionStorage.setItem(KEY, machines[number]);
    } catch {
      // the choice is for this page only
    }
  }

  /** @returns {string} the id in the address, without the place in a timeline that may follow it */
  function addressed() {
    try {
      return decodeURIComponent(location.hash.slice(1).split("@")[0]);
    } catch {
      return "";
    }
  }

  /** @param {Element | null | undefined} box @returns {number} a machine that has this box, or -1 */
  const machineOf = box => machines.findIndex((_, number) => box?.classList.contains(`ks-on-${number}`));

  /** @returns {number} the machine that has what the address leads to, or -1 if all have it */
  function asked() {
    const id = addressed();
    if (!id) return -1;
    const box = document.getElementById(id)?.closest(".ks-for");
    return machineOf(box ?? [...document.querySelectorAll("template")].find(one => one.content.getElementById(id)));
  }

  /** @param {number} number of the machine whose templates become part of the page, for good */
  function bringOut(number) {
    for (;;) {
      const templates = document.querySelectorAll(`template.ks-on-${number}`);
      if (!templates.length) return;
      // A template can hold others, which are found in the next round.
      for (const template of templates) template.replaceWith(template.content);
    }
  }

  /** @param {number} number of the machine to show, everywhere on the page */
  function show(number) {
    bringOut(number);
    for (const box of document.querySelectorAll(".ks-for")) {
      box.hidden = !box.classList.contains(`ks-on-${number}`);
      // The contents do not list a section that is hidden.
      const links = box.id ? document.querySelectorAll(`li > a[href="#${CSS.escape(box.id)}"]`) : [];
      for (const link of links) link.parentElement.hidden = box.hidden;
    }
    for (const button of document.querySelectorAll(".ks-switch input"))
      button.checked = Number(button.value) === number;
    kinetoscope.machine = machines[number];
    document.dispatchEvent(new CustomEvent("kinetoscope:machine", { detail: machines[number] }));
  }

  kinetoscope.machine = machines[0];
  root.classList.add("ks-can-switch");
  if (remembered() || location.hash) root.classList.add("ks-switching");

  // "interactive" comes before the deferred scripts, so they find everything that is shown.
  document.addEventListener("readystatechange", () => {
    if (document.readyState !== "interactive") return;
    try {
      const leads = asked();
      const number = leads < 0 ? remembered() : leads;
      if (number) show(number);
    } finally {
      root.classList.remove("ks-switching");
    }
  });
  document.addEventListener("change", event => {
    if (!event.target.closest?.(".ks-switch")) return;
    const number = Number(event.target.value);
    remember(number);
    show(number);
    // Otherwise the page, loaded again, would switch back to the machine of the address.
    if (![-1, number].includes(asked())) history.replaceState(null, "", location.pathname + location.search);
  });
  // The browser may have kept this page while another machine was chosen on another page.
  addEventListener("pageshow", event => {
    if (event.persisted) show(remembered());
  });
})();
