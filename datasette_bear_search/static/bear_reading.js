/* Makes a note interactive, on its own page and beside the results: links to its headings, copy buttons, matches. */
(() => {
  "use strict";

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

  /* n and N go from match to match. */
  document.addEventListener("keydown", (event) => {
    if (!/^n$/i.test(event.key) || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches?.("input, textarea, select") || document.querySelector("dialog[open]")) return;
    const marks = [...document.querySelectorAll(".bear-text mark:not(.bear-highlight)")].filter((mark) => mark.offsetParent);
    const old = marks.findIndex((mark) => mark.ariaCurrent);
    const mark = event.key === "n" ? marks[(old + 1) % marks.length] : marks.at(Math.max(old, 0) - 1);
    if (!mark) return;
    if (marks[old]) marks[old].ariaCurrent = null;
    mark.ariaCurrent = "true";
    mark.scrollIntoView({ block: "center" });
  });
})();
