// Opens a trace in Perfetto's own page, in a new window, only when the reader asks for it.
// The protocol: https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui
(() => {
  "use strict";
  const ks = (globalThis.kinetoscope ??= {});

  const PERFETTO = "https://ui.perfetto.dev";
  const PING_EVERY = 100; // ms
  const SLOW = 10_000; // ms after which a message says that it takes long
  const PATIENCE = 60_000; // ms; Perfetto's page has some MB, and the connection may be slow
  const BY_HAND = "Download the trace instead, and open the file at ui.perfetto.dev.";

  /** Recorded files in base64, by "MACHINE/NAME". */
  ks.raws ??= new Map();
  /** @param {string} key @param {string} text called by a raw script */
  ks.raw ??= (key, text) => void ks.raws.set(key, text);

  /** @param {string} text base64 @returns {ArrayBuffer} */
  const bytesOf = text => Uint8Array.from(atob(text), char => char.charCodeAt(0)).buffer;

  /**
   * Wait until the page in a window answers.
   * @param {Window} target @param {(text: string) => void} say @returns {Promise<void>}
   */
  const answered = (target, say) => new Promise((resolve, reject) => {
    const begin = performance.now();
    let told = false;
    const done = error => {
      clearInterval(pinging);
      removeEventListener("message", listen);
      if (error) reject(new Error(error));
      else resolve();
    };
    const listen = event => {
      // Any window can send a message; only the one that was opened, showing Perfetto, counts.
      if (event.source === target && event.origin === PERFETTO && event.data === "PONG") done("");
    };
    const ping = () => {
      const waited = performance.now() - begin;
      if (target.closed) return done("The window of Perfetto was closed before it had the trace.");
      if (waited > PATIENCE) {
        return done(`ui.perfetto.dev did not answer. It may be out of reach from here. ${BY_HAND}`);
      }
      if (waited > SLOW && !told) {
        told = true;
        say("Perfetto has not answered yet. Still waiting…");
      }
      // The message holds nothing secret, so any page may read it.  Addressed to Perfetto, the browser would
      // log an error for each one sent while the window is still empty.
      target.postMessage("PING", "*");
    };
    addEventListener("message", listen);
    const pinging = setInterval(ping, PING_EVERY);
    ping();
  });

  /**
   * @param {HTMLElement} tools with data-trace, and data-raw if the page does not hold the file
   * @param {(text: string) => void} say
   */
  const hand = async (tools, say) => {
    const key = tools.dataset.trace;
    // Open the window at once: later the browser would no longer take it for the result of a click.
    const target = globalThis.open(`${PERFETTO}/`, "_blank");
    if (!target) {
      say(`Your browser blocked the new window. Allow pop-ups for this page and press the button again. Or: ${BY_HAND}`);
      return;
    }
    say("Opening Perfetto…");
    try {
      if (!ks.raws.has(key)) await ks.load(tools.dataset.raw);
    } catch {
      target.close();
      say("The trace could not be loaded from this site. Load the page again.");
      return;
    }
    try {
      await answered(target, say);
    } catch (error) {
      say(error.message);
      return;
    }
    const buffer = bytesOf(ks.raws.get(key));
    const name = key.slice(key.indexOf("/") + 1);
    const title = `${name} (${key.slice(0, key.indexOf("/"))})`;
    target.postMessage({ perfetto: { buffer, title, fileName: `${name}.json.gz` } }, PERFETTO, [buffer]);
    say("The trace is with Perfetto, in the other window. It may ask whether you trust this page. It stays in your browser.");
  };

  ks.parts.push(figure => {
    const { make } = ks;
    const { tools } = figure;
    const key = tools.dataset.trace;
    if (!key || !(tools.dataset.raw || ks.raws.has(key))) return;
    const said = make("p", { class: "ks-said", role: "status" });
    let busy = false;
    const button = make("button", {
      type: "button",
      class: "ks-perfetto",
      "aria-label": `Open in Perfetto: trace ${key.slice(key.indexOf("/") + 1)}`,
      title: "Opens ui.perfetto.dev in a new window and gives it this trace. Nothing is sent before.",
    }, "Open in Perfetto");
    button.addEventListener("click", async () => {
      if (busy) return;
      busy = true;
      await hand(tools, text => (said.textContent = text));
      busy = false;
    });
    tools.append(button, said);
  });
})();
