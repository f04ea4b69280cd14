// On a phone the contents of a page lie over it: who has chosen from them wants to read.
document.addEventListener("click", event => {
  "use strict";
  const link = event.target instanceof Element && event.target.closest("dialog a[href^='#']");
  if (link) link.closest("dialog").close();
});
