// On a phone the table of contents covers the page; it closes when the reader chooses a heading.
document.addEventListener("click", event => {
  "use strict";
  const link = event.target instanceof Element && event.target.closest("dialog a[href^='#']");
  if (link) link.closest("dialog").close();
});
