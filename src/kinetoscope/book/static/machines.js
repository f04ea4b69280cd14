// The switch between recordings.  What a page shows of one machine stands in a box of class ks-for, with ks-on-N
// for the N-th machine; what it does not show at first is in templates.  Loaded in the head, before anything is
// drawn: nobody is to see numbers of a machine they did not choose, not even for a moment.
(() => {
  "use strict";
  const kinetoscope = (globalThis.kinetoscope ??= {});
  const KEY = "kinetoscope-machine";
  const root = document.documentElement;
  /** @type {string[]} the machines by number; the first is the one that the page shows by itself */
  const machines = JSON.parse(document.currentScript.dataset.machines);

  /** @returns {number} what was chosen on an earlier page of this visit */
  function remembered() {
    try {
      return Math.max(0, machines.indexOf(sessionStorage.getItem(KEY)));
    } catch {
      return 0; // storage may be forbidden
    }
  }

  /** @param {number} number */
  function remember(number) {
    try {
      sessionStorage.setItem(KEY, machines[number]);
    } catch {
      // then the choice ends with the page
    }
  }

  /** @returns {string} the id in the address; a timeline adds to it where the reader was */
  function addressed() {
    try {
      return decodeURIComponent(location.hash.slice(1).split("@")[0]);
    } catch {
      return "";
    }
  }

  /** @param {Element | null | undefined} box @returns {number} a machine that has it, or -1 */
  const machineOf = box => machines.findIndex((_, number) => box?.classList.contains(`ks-on-${number}`));

  /** @returns {number} the machine that the address leads to, or -1 where all have what it leads to */
  function asked() {
    const id = addressed();
    if (!id) return -1;
    const box = document.getElementById(id)?.closest(".ks-for");
    return machineOf(box ?? [...document.querySelectorAll("template")].find(one => one.content.getElementById(id)));
  }

  /** @param {number} number of the machine whose templates are to become part of the page, for good */
  function bringOut(number) {
    for (;;) {
      const templates = document.querySelectorAll(`template.ks-on-${number}`);
      if (!templates.length) return;
      // a template can hold others, which are found once it is out
      for (const template of templates) template.replaceWith(template.content);
    }
  }

  /** @param {number} number of the machine to show, everywhere on the page */
  function show(number) {
    bringOut(number);
    for (const box of document.querySelectorAll(".ks-for")) {
      box.hidden = !box.classList.contains(`ks-on-${number}`);
      // a section that is not there is not in the contents
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

  // "interactive" is before the deferred scripts, which so find all that is shown
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
    // else the page, loaded again, would go back to where the address leads
    if (![-1, number].includes(asked())) history.replaceState(null, "", location.pathname + location.search);
  });
  // a page that the browser kept while another machine was chosen elsewhere
  addEventListener("pageshow", event => {
    if (event.persisted) show(remembered());
  });
})();
