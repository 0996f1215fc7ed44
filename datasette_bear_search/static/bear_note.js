/* Makes a note interactive: links to its headings, copy buttons, the current heading in the outline, keys. */
(() => {
  "use strict";

  const page = document.querySelector("body.bear-note");

  /* Add a link to each heading, also of a note that is shown beside results. */
  function addAnchors() {
    for (const heading of document.querySelectorAll(".bear-text :is(h2, h3, h4, h5, h6)[id]")) {
      const label = `Copy link to ${heading.textContent}`;
      heading.append(Object.assign(document.createElement("a"), { className: "bear-anchor", href: `#${heading.id}`, textContent: "#", ariaLabel: label }));
    }
  }

  addAnchors();
  document.addEventListener("bear-note", addAnchors);

  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.(".bear-copy, .bear-anchor");
    if (!link || !navigator.clipboard || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const label = link.textContent;
    try {
      let text = new URL(link.getAttribute("href"), link.closest("article").querySelector(".bear-copy").href).href;
      if (link.matches(".bear-markdown")) text = await (await fetch(text)).text();
      await navigator.clipboard.writeText(text);
      link.textContent = "Copied";
    } catch {
      location.assign(link.href);
    }
    setTimeout(() => (link.textContent = label), 1500);
  });

  const isField = (target) => target.matches?.("input, textarea, select");

  /* n and N go from match to match, on a note's page and beside the results. */
  document.addEventListener("keydown", (event) => {
    const isBusy = event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || isField(event.target);
    if (isBusy || !["n", "N"].includes(event.key) || document.querySelector("dialog[open]")) return;
    const marks = [...document.querySelectorAll(".bear-text mark:not(.bear-highlight)")].filter((mark) => mark.offsetParent);
    if (!marks.length) return;
    const step = event.key === "n" ? 1 : -1;
    const old = marks.findIndex((mark) => mark.ariaCurrent);
    marks[old]?.removeAttribute("aria-current");
    const mark = marks[(old < 0 && step < 0 ? marks.length : old) + step] ?? marks[step > 0 ? 0 : marks.length - 1];
    mark.ariaCurrent = "true";
    mark.scrollIntoView({ block: "center" });
  });

  if (!page) return;

  const headings = [...document.querySelectorAll(".bear-text :is(h2, h3, h4, h5, h6)[id]")];
  const links = document.querySelectorAll(".bear-outline a");

  function follow() {
    const here = headings.findLast((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
    for (const link of links) link.toggleAttribute("aria-current", link.getAttribute("href") === `#${here?.id}`);
  }

  if (links.length) {
    addEventListener("scroll", follow, { passive: true });
    follow();
  }

  const box = document.getElementById("bear-q");
  const click = (selector) => document.querySelector(selector)?.click();
  addEventListener(
    "keydown",
    (event) => {
      const isCommand = event.key === "k" && (event.metaKey || event.ctrlKey);
      const isApp = event.key === "Enter" && (event.metaKey || event.ctrlKey);
      const isInBox = event.key === "Escape" && event.target === box;
      const isBusy = event.altKey || event.ctrlKey || event.metaKey || isField(event.target) || document.querySelector("dialog[open]");
      if (isBusy && !isCommand && !isApp && !isInBox) return;
      const act = isCommand
        ? () => box.select()
        : isInBox
        ? () => box.blur() // an Escape in a search field would erase its text
        : {
            Enter: isApp && (() => click(".bear-open")),
            "/": () => box.select(),
            Escape: () => (document.querySelector(".bear-to-results") ?? document.querySelector(".bear-crumb a")).click(),
            j: () => click(".bear-next"),
            k: () => click(".bear-previous"),
            o: () => click(".bear-open"),
          }[event.key];
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    },
    true
  );
})();
