/* The switch between recordings.  What a page shows of each machine stands in boxes of class ks-for, with
   ks-on-N for the N-th machine; those of machines that the page does not show at first are in templates.

   Loaded in the head, before the page is drawn, so that nobody sees numbers of a machine they did not choose. */
(() => {
    "use strict";

    const kinetoscope = (globalThis.kinetoscope ??= {});
    const KEY = "kinetoscope-machine";
    const root = document.documentElement;
    /** @type {string[]} the machines by number; the first is the one that the page shows by itself */
    const machines = JSON.parse(document.currentScript.dataset.machines);

    /** The number of the machine chosen on an earlier page of this visit. */
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

    /** Takes what there is of a machine out of the templates; each is taken out once.
     * @param {number} number */
    function bringOut(number) {
        for (;;) {
            const templates = document.querySelectorAll(`template.ks-on-${number}`);
            if (!templates.length) return;
            // a template can hold others, which are found once it is out
            for (const template of templates) template.replaceWith(template.content);
        }
    }

    /** Contents do not list a section that is not there.
     * @param {HTMLElement} section */
    function listInContents(section) {
        for (const link of document.querySelectorAll(`li > a[href="#${CSS.escape(section.id)}"]`))
            link.parentElement.hidden = section.hidden;
    }

    /** Shows one machine's part of everything.
     * @param {number} number */
    function show(number) {
        bringOut(number);
        for (const box of document.querySelectorAll(".ks-for")) {
            box.hidden = !box.classList.contains(`ks-on-${number}`);
            if (box.id) listInContents(box);
        }
        for (const button of document.querySelectorAll(".ks-switch input"))
            button.checked = Number(button.value) === number;
        kinetoscope.machine = machines[number];
        document.dispatchEvent(new CustomEvent("kinetoscope:machine", { detail: machines[number] }));
    }

    root.classList.add("ks-can-switch");
    if (remembered()) root.classList.add("ks-switching");

    document.addEventListener("DOMContentLoaded", () => {
        try {
            if (remembered()) show(remembered());
        } finally {
            root.classList.remove("ks-switching");
        }
    });
    document.addEventListener("change", event => {
        if (!event.target.closest?.(".ks-switch")) return;
        const number = Number(event.target.value);
        remember(number);
        show(number);
    });
    // a page that the browser kept while another was chosen elsewhere
    addEventListener("pageshow", event => {
        if (event.persisted) show(remembered());
    });
})();
