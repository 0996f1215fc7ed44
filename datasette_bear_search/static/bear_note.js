/* Makes a note's own page interactive: the current heading in the outline, keys. */
(() => {
  "use strict";

  const headings = [...document.querySelectorAll(".bear-text :is(h2, h3, h4, h5, h6)[id]")];
  const links = document.querySelectorAll(".bear-outline a");

  function follow() {
    const here = headings.findLast((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
    for (const link of links) link.ariaCurrent = link.getAttribute("href") === `#${here?.id}` ? "true" : null;
  }

  if (links.length) {
    addEventListener("scroll", follow, { passive: true });
    follow();
  }

  const box = document.getElementById("bear-q");
  const toBox = () => box.select();
  const click = (selector) => () => document.querySelector(selector)?.click();
  const open = click(".bear-head .bear-open");
  const back = () => click(document.querySelector(".bear-to-results") ? ".bear-to-results" : ".bear-crumb a")();
  addEventListener(
    "keydown",
    (event) => {
      const isCommand = event.metaKey || event.ctrlKey;
      const isBusy = event.altKey || event.target.matches?.("input, textarea, select") || document.querySelector("dialog[open]");
      const keys = isCommand
        ? { k: toBox, Enter: open }
        : !isBusy
        ? { "/": toBox, Escape: back, j: click(".bear-next"), k: click(".bear-previous"), o: open }
        : event.target === box && { Escape: () => box.blur() }; // an Escape in a search field would erase its text
      const act = keys[event.key];
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    },
    true
  );
})();
