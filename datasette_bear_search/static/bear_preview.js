/* Shows the selected note beside the results, at the matching passage. The hash of the URL is the selected card. */
(() => {
  "use strict";

  const results = document.getElementById("bear-results");
  const pane = document.getElementById("bear-preview");
  if (!results || !pane) return;

  // Milliseconds that a card must stay selected before its note is fetched.
  const REST = 120;
  const AGAIN = 2000; // milliseconds until a note that couldn't be loaded is requested again
  const KEPT = 30; // notes

  const isWide = matchMedia("(min-width: 1100px)");
  // Without a pointer that hovers, Enter opens nothing, so nothing is selected beforehand.
  const hovers = matchMedia("(hover: hover)");
  const notes = new Map(); // address → HTML
  let wanted; // address of the note that is shown or being fetched
  let timer, underWay, html;

  function select(card, isByPerson) {
    for (const other of results.querySelectorAll(".bear-card[aria-current]")) if (other !== card) other.removeAttribute("aria-current");
    if (isByPerson && location.hash !== `#${card.id}`) history.replaceState(history.state, "", `#${card.id}`);
    if (results.querySelector(".bear-home")) return;
    if (isWide.matches || hovers.matches) card?.setAttribute("aria-current", "true");
    if (!isWide.matches) return;
    const url = card?.querySelector(".bear-title").href.split("#")[0];
    if (url && url === wanted) return;
    wanted = url;
    clearTimeout(timer);
    underWay?.abort();
    if (!url) pane.replaceChildren((html = ""));
    else timer = setTimeout(() => show(url), notes.has(url) ? 0 : REST);
  }

  async function show(url) {
    const own = (underWay = new AbortController());
    try {
      if (!notes.has(url)) {
        const response = await fetch(url, { signal: own.signal, headers: { "Bear-Search-Preview": "1" } });
        if (!response.ok) throw new Error(response.status);
        notes.set(url, await response.text());
        if (notes.size > KEPT) notes.delete(notes.keys().next().value);
      }
    } catch {
      if (own.signal.aborted) return;
      empty();
      timer = setTimeout(() => show(url), AGAIN);
      return;
    }
    if (own !== underWay || html === notes.get(url)) return;
    html = notes.get(url);
    pane.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
    pane.scrollTop = 0;
    const start = pane.querySelector("#passage")?.getBoundingClientRect().top - pane.getBoundingClientRect().top;
    // A passage that is in sight below the title needs no scrolling, which would cut the title.
    if (start > pane.clientHeight / 2) pane.scrollTop = start - pane.clientHeight / 4;
    document.dispatchEvent(new Event("bear-note"));
  }

  /* Never leave another note beside the selected result. */
  function empty() {
    wanted = html = "";
    pane.replaceChildren(Object.assign(document.createElement("p"), { className: "bear-notice", textContent: "Can't load this note right now." }));
  }

  document.addEventListener("bear-offline", () => pane.hasChildNodes() && empty());
  document.addEventListener("bear-updated", () => {
    notes.clear();
    wanted = "";
  });

  const atAddress = () => results.querySelector(`.bear-card[id="${CSS.escape(location.hash.slice(1))}"]`);
  // Nothing is selected beforehand that is merely near, because Enter opens what is selected.
  const first = () => results.querySelector(".bear-nothing") ? null : results.querySelector("#bear-cards > .bear-card");

  document.addEventListener("bear-shown", ({ detail }) => {
    const card = atAddress() || first();
    // While somebody types, don't fetch the note until all results are loaded.
    if (!detail.isPartial) select(card);
    else if (hovers.matches) card?.setAttribute("aria-current", "true");
  });
  addEventListener("hashchange", () => atAddress() && select(atAddress()));
  isWide.addEventListener("change", () => select(atAddress() || first()));

  results.addEventListener("focusin", ({ target }) => {
    const card = target.closest(".bear-card");
    if (card) select(card, true);
  });
  results.addEventListener("click", ({ target }) => {
    const card = target.closest(".bear-card");
    if (card && !target.closest("a, button, details") && getSelection().isCollapsed) {
      card.querySelector(".bear-title").focus({ preventScroll: true });
    }
  });
  results.addEventListener("keydown", (event) => {
    if (event.key !== " " || !event.target.matches(".bear-title") || !isWide.matches) return;
    event.preventDefault();
    pane.scrollBy({ top: (event.shiftKey ? -0.8 : 0.8) * pane.clientHeight, behavior: "smooth" });
  });

  select(atAddress() || first());
  const focus = () => atAddress()?.querySelector(".bear-title").focus({ preventScroll: true });
  focus();
  // Browsers jump to the fragment later, which removes the focus.
  addEventListener("load", () => setTimeout(() => document.activeElement === document.body && focus(), 50));
})();
