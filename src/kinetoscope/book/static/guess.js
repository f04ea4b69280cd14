/* A guess: choose, commit, then see whether the recording agrees.
   Without this script the choices are radio buttons and the answer opens.  Nothing is stored. */
(() => {
  "use strict";

  /** What a wrong choice gets: an invitation to read on. */
  const MISSED = "A guess that misses is the one that teaches something: here is what the machine did.";

  /**
   * Make an element with text.
   * @param {string} tag
   * @param {string} name its class
   * @param {string} text
   * @returns {HTMLElement}
   */
  function made(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.textContent = text;
    return element;
  }

  /** @param {Element | null | undefined} element */
  const textOf = (element) => (element?.textContent ?? "").trim().replace(/\s+/g, " ");

  /** One box with a question. */
  class Guess {
    /** @param {HTMLElement} box */
    constructor(box) {
      this.box = box;
      this.choices = /** @type {HTMLFieldSetElement} */ (box.querySelector(".ks-choices"));
      this.labels = [...this.choices.querySelectorAll(".ks-choice")];
      this.answer = /** @type {HTMLDetailsElement} */ (box.querySelector(".ks-answer"));
      this.evidence = /** @type {HTMLElement} */ (this.answer.querySelector(".ks-evidence"));
      /** @type {Element | undefined} */
      this.chosen = undefined;

      this.button = /** @type {HTMLButtonElement} */ (made("button", "ks-commit", "That is my guess"));
      this.button.type = "button";
      this.hint = made("p", "ks-guess-hint", "");
      this.hint.setAttribute("role", "status");
      this.verdict = made("p", "ks-guess-verdict", "");
      this.verdict.tabIndex = -1;
      this.verdict.hidden = true;
      this.evidence.prepend(this.verdict);
      this.choices.append(this.button, this.hint);
      box.dataset.state = "asked";

      this.button.addEventListener("click", () => this.commit());
      this.choices.addEventListener("change", () => (this.hint.textContent = ""));
      this.choices.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.target instanceof HTMLInputElement) {
          event.preventDefault();
          this.commit();
        }
      });
      this.answer.addEventListener("toggle", () => this.show());
      const next = box.nextElementSibling;
      const picture = next?.matches(".ks-compared") ? next.nextElementSibling : next;
      const unveil = () => picture.classList.add("ks-seen");
      picture?.addEventListener("pointerdown", unveil);
      picture?.addEventListener("keydown", (event) => event.key !== "Tab" && event.key !== "Shift" && unveil());
    }

    /** Make the choice final, and say whether it was right. */
    commit() {
      this.chosen = this.labels.find((label) => label.querySelector("input")?.checked);
      if (!this.chosen) {
        this.hint.textContent = "Choose one first. It may be wrong, that is the point.";
        this.choices.querySelector("input")?.focus();
        return;
      }
      this.answer.open = true;
      this.show();
      // The browser draws a focus ring after a key, and none after a click.
      this.verdict.focus({ preventScroll: true });
      this.verdict.scrollIntoView({ block: "nearest" });
    }

    /** The right choice on the machine shown; empty if its recording has none. */
    right() {
      const said = [...this.evidence.querySelectorAll(".ks-right strong")];
      return textOf(said.find((one) => one.getClientRects().length > 0));
    }

    /** Make the box follow its answer: open or closed, after a choice or without one. */
    show() {
      if (!this.answer.open && !this.chosen) {
        this.settle("asked", "");
        return;
      }
      const right = this.answer.open ? this.right() : this.box.dataset.right ?? "";
      this.box.dataset.right = right;
      const guessed = textOf(this.chosen?.querySelector("span"));
      if (!this.chosen) this.settle("shown", right);
      else if (!right) this.settle("open", right, "", `You guessed ${guessed}.`, "Compare it with the answer.");
      else if (guessed === right) this.settle("right", right, "✓", "Right.", "The recording agrees with you.");
      else if (!this.labels.some((label) => textOf(label.querySelector("span")) === right)) {
        this.settle("other", right, "≠", "None of the choices.", "This machine did something else.");
      } else this.settle("wrong", right, "✗", `Not this time: you guessed ${guessed}.`, MISSED);
    }

    /**
     * @param {string} state
     * @param {string} right
     * @param {string} [sign]
     * @param {string} [head]
     * @param {string} [rest]
     */
    settle(state, right, sign = "", head = "", rest = "") {
      this.box.dataset.state = state;
      this.choices.disabled = state !== "asked";
      this.button.hidden = state !== "asked";
      this.hint.textContent = "";
      this.verdict.hidden = !head;
      this.verdict.replaceChildren(
        ...(sign ? [made("span", "ks-sign", sign), " "] : []),
        made("strong", "", head),
        ` ${rest}`,
      );
      for (const label of this.labels) {
        label.querySelector(".ks-said")?.remove();
        const isRight = state !== "asked" && right !== "" && textOf(label.querySelector("span")) === right;
        const isChosen = label === this.chosen;
        label.classList.toggle("ks-is-right", isRight);
        label.classList.toggle("ks-is-wrong", isChosen && !isRight && right !== "");
        const words = isChosen ? "your guess" : isRight ? "recorded" : "";
        if (words) label.append(" ", made("span", "ks-said", `${isRight ? "✓ " : right ? "✗ " : ""}${words}`));
      }
    }
  }

  /** @type {Map<Element, Guess>} */
  const guesses = new Map();

  /** Set up the boxes of the page, with those that another recording has brought onto it. */
  function ask() {
    for (const box of document.querySelectorAll(".ks-guess")) {
      const known = guesses.get(box);
      if (known) known.show();
      else guesses.set(box, new Guess(/** @type {HTMLElement} */ (box)));
    }
  }

  ask();
  document.addEventListener("kinetoscope:machine", ask);
})();
