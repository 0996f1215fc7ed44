/* Makes the search page interactive: results update while you type or choose filters, and keys move through them.
   Without this script, the page is a form with links that does the same. All HTML comes from the server. */
(() => {
  "use strict";

  const form = document.querySelector("form.bear-form");
  const box = document.getElementById("bear-q");
  const results = document.getElementById("bear-results");
  const developers = document.getElementById("bear-developers");
  if (!form || !box || !results) return;

  // All times are in milliseconds. Keys that follow each other faster than this, such as one held down, start one
  // search. A running search gets this much time to finish before the next one replaces it.
  const BURST = 30;
  // While you type, only the first results are loaded. The others are loaded after a pause of this length.
  const PAUSE = 200;
  // After a pause of this length, the results get a history entry, and screen readers announce their number.
  const REST = 1000;
  // If a search took longer than this, the next one first shows the results for words alone, if they come faster.
  const SLOW = 150;
  // How often to search again while the model is loading.
  const RETRIES = 30;
  const RETRY_AFTER = 1000;
  // After scrolling for this long, the place is kept.
  const SCROLLED = 150;
  const LOADING = "model is still loading";
  const BY_WORDS = "by their words only";

  const UNANSWERED = "Can't reach the server. These are your previous results; new ones follow as soon as it answers.";

  // Screen readers announce the number of results, not the whole list.
  results.removeAttribute("aria-live");
  const announcement = element("p", { className: "bear-hidden" });
  const failure = element("p", { className: "bear-notice bear-failure" });
  for (const line of [announcement, failure]) line.setAttribute("role", "status");
  const offer = element("button", { className: "bear-new", type: "button", hidden: true });
  results.before(announcement, failure, offer);

  // Searching

  let shown = searchOf(location); // the search whose results are shown; null if by words only
  let isPartial = false; // whether only the first results are shown
  let atTop = shown; // the last search that the page was scrolled up for
  // Running searches, oldest first. The oldest is never aborted, so that results change while somebody types, even if
  // a response takes longer than the time between two keys. The second makes room for the newest.
  const running = [];
  let newest = 0; // number of the newest search
  let newestShown = 0;
  const took = { meaning: 0, words: 0 }; // ms
  let isSettled = true; // whether the next search gets a history entry of its own
  let lastKey = 0;
  let burst, pause, rest, retry; // timers

  /* Show the results at a URL.
     isTyping: the next key may change the search, so it doesn't get a history entry of its own yet.
     isPast: the history has the URL already.
     isRest: the first results are already shown.
     place: where to scroll to.
     retries: how often the same search was repeated because the model was loading. */
  async function search(url, options = {}) {
    const { isTyping, isPast, isRest, place, retries = 0 } = options;
    for (const timer of [burst, pause, retry, !isRest && rest]) clearTimeout(timer);
    const own = { number: ++newest, isRest, controller: new AbortController() };
    const { signal } = own.controller;
    const isInPlace = isTyping && !isRest;
    abort(...running.filter((other, place) => !isInPlace || other.isRest || place));
    running.push(own);
    const isNewest = () => own.number === newest;
    const typedBefore = box.value;
    results.setAttribute("aria-busy", "true");
    try {
      const isSlow = took.meaning > SLOW && took.words < took.meaning / 2;
      const isQuery = url.searchParams.has("q") && !isRest;
      if (isSlow && isQuery && !url.searchParams.has("mode") && !says(BY_WORDS)) {
        const page = await load(url, signal, "words", true);
        if (own.number < newestShown) return;
        show(page, url, own.number);
        shown = null;
      }
      const isFirst = isTyping && isQuery;
      const page = await load(url, signal, isRest ? "rest" : "meaning", isFirst);
      if (own.number < newestShown) return;
      if (!isPast) remember(url);
      show(page, url, own.number, place);
      if (!isTyping && !retries) copyForm(page, typedBefore);
      failure.textContent = "";
      shown = searchOf(url);
      document.dispatchEvent(new CustomEvent("bear-shown", { detail: { isPartial: isPartial || !isNewest() } }));
      abort(...running.filter((other) => other.number < own.number));
      if (!isNewest()) return;
      if (awaited && !isRest) openFirst();
      if (!isTyping) settle();
      else if (!isRest) awaitRest(url);
      if (!isPartial) retryWhileLoading(url, retries + 1);
    } catch (error) {
      if (signal.aborted || !isNewest()) return;
      if (!(error instanceof Failure)) throw error;
      failure.textContent = error.message;
      awaited = null;
      if (error.message !== UNANSWERED) return;
      document.dispatchEvent(new Event("bear-offline"));
      retry = setTimeout(() => search(url, options), RETRY_AFTER);
    } finally {
      if (running.includes(own)) running.splice(running.indexOf(own), 1);
      if (!running.length) results.removeAttribute("aria-busy");
    }
  }

  function abort(...some) {
    for (const each of some) {
      each.controller.abort();
      running.splice(running.indexOf(each), 1);
    }
  }

  function cancel() {
    newest++;
    abort(...running);
    for (const timer of [burst, pause, rest, retry]) clearTimeout(timer);
    results.removeAttribute("aria-busy");
  }

  function awaitRest(url) {
    const others = () => search(url, { isTyping: true, isPast: true, isRest: true });
    if (isPartial) pause = setTimeout(others, PAUSE);
    rest = setTimeout(settle, REST);
  }

  class Failure extends Error {}

  async function load(url, signal, kind, isFirst) {
    const headers = isFirst ? { "Bear-Search-First": kind } : {};
    const started = performance.now();
    let response, text;
    try {
      response = await fetch(url, { signal, headers });
      text = await response.text();
    } catch {
      throw new Failure(UNANSWERED);
    }
    took[kind] = performance.now() - started;
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = page.getElementById("bear-results");
    if (response.status >= 500) {
      throw new Failure(fresh?.querySelector(".message-error")?.textContent ?? UNANSWERED);
    }
    // Let the browser show any other page, such as a login page.
    if (!fresh) location.assign(url);
    return fresh ? page : new Promise(() => {});
  }

  function show(page, url, number, place) {
    newestShown = number;
    const fresh = page.getElementById("bear-results");
    document.title = page.title;
    const focusAgain = keepFocus();
    const openAgain = keepOpen();
    isPartial = fresh.hasAttribute("data-first");
    const isRestKept = isPartial && part("bear-found");
    if (isRestKept) for (const id of ["bear-count", "bear-notices", "bear-found"]) patch(part(id), part(id, fresh));
    else patch(results, fresh);
    // The menus still belong to the previous search: they stay visible, but can't be used until theirs are loaded.
    if (part("bear-menus")) part("bear-menus").inert = isRestKept;
    const links = page.getElementById("bear-developers");
    developers.inert = !links;
    if (links) patch(developers.querySelector("ul"), links.querySelector("ul"));
    openAgain();
    focusAgain();
    offer.hidden = true;
    const address = searchOf(url);
    if (place || address !== atTop) scrollTo(0, place ?? Math.min(scrollY, top()));
    atTop = address;
  }

  /* Where the search box is at the top of the window, with the first result below it. */
  function top() {
    return Math.ceil(form.parentElement.getBoundingClientRect().top + scrollY);
  }

  /* After notes were saved, show the new results or, if somebody has scrolled, offer them. */
  async function renew() {
    const url = new URL(location);
    const isOver = () => running.length || searchOf(url) !== shown;
    // What is under way may have been found before the notes were saved.
    if (running.length) setTimeout(renew, 500);
    if (isOver()) return;
    const own = ++newest;
    const page = await load(url, undefined, "rest").catch(() => null);
    if (!page || own !== newest || isOver()) return;
    const known = new Set(cards().map((card) => card.id));
    const added = [...page.querySelectorAll(".bear-card")].filter((card) => !known.has(card.id)).length;
    const put = () => show(page, url, own);
    failure.textContent = "";
    if (!added || scrollY <= top()) {
      put();
    } else {
      offer.textContent = `${added} new`;
      offer.hidden = false;
      offer.onclick = () => {
        put();
        box.focus();
        scrollTo(0, top());
        document.dispatchEvent(new CustomEvent("bear-shown", { detail: {} }));
      };
    }
    document.dispatchEvent(new CustomEvent("bear-shown", { detail: {} }));
  }

  document.addEventListener("bear-updated", renew);
  document.addEventListener("bear-offline", () => (failure.textContent ||= UNANSWERED));

  function cards() {
    return [...results.querySelectorAll(".bear-card")];
  }

  function part(id, within = results) {
    return within.querySelector(`#${id}`);
  }

  /* Replace an element's content by that of the element on a fresh page. Equal children with ids aren't touched. */
  function patch(old, fresh) {
    old.removeAttribute("aria-current"); // of the selected card
    if (old.isEqualNode(fresh)) return;
    const known = new Map([...old.children].map((child) => [child.id, child]));
    const nodes = [...fresh.childNodes];
    let place = old.firstChild;
    for (const node of nodes) {
      const same = node.id && known.get(node.id);
      if (same) patch(same, node);
      if (same && same === place) place = place.nextSibling;
      else old.insertBefore(same || node, place);
    }
    while (old.childNodes.length > nodes.length) old.lastChild.remove();
  }

  /* Return a function that opens the same details in new results as are open now. */
  function keepOpen() {
    const ids = [...results.querySelectorAll("details[open]")].map((details) => details.id);
    return () => ids.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
  }

  /* Return a function that focuses the same element in new results as has the focus now. */
  function keepFocus() {
    const focused = document.activeElement;
    if (!results.contains(focused) || focused === results) return () => {};
    const card = focused.closest("[id]");
    // The number beside a value of a filter changes.
    const nameOf = (link) => (link.querySelector(".bear-value") ?? link).textContent;
    const same = (other) => other.className === focused.className && nameOf(other) === nameOf(focused);
    return () => {
      if (document.activeElement === focused) return;
      const place = (card?.id && results.querySelector(`[id="${CSS.escape(card.id)}"]`)) || results;
      const candidates = [...place.querySelectorAll(focused.localName)];
      const list = part("bear-found") ?? results; // which has no box of its own in a wide window
      list.tabIndex = -1;
      // A note that was renamed has another title.
      const title = place !== results && place.querySelector(".bear-title");
      (candidates.find(same) || title || list).focus({ preventScroll: true });
    };
  }

  function retryWhileLoading(url, retries) {
    if (retries > RETRIES || !says(LOADING)) return;
    retry = setTimeout(() => search(url, { isPast: true, retries }), RETRY_AFTER);
  }

  function says(text) {
    return [...results.querySelectorAll(".bear-notice")].some((notice) => notice.textContent.includes(text));
  }

  // Addresses

  function addressOfForm() {
    const url = new URL(form.action);
    const data = new FormData(form);
    // The first choice is the default.
    for (const select of form.querySelectorAll("select")) {
      if (select.selectedIndex === 0) data.delete(select.name);
    }
    for (const [name, value] of data) {
      if (value.trim()) url.searchParams.append(name, value.trim());
    }
    return url;
  }

  function searchOf(url) {
    const parameters = new URLSearchParams(url.search);
    parameters.sort();
    return parameters.toString();
  }

  /* Copy the form of a fresh page, except for the field in which somebody is typing. */
  function copyForm(page, typedBefore) {
    const fresh = page.querySelector("form.bear-form");
    for (const field of form.querySelectorAll("[type=hidden]")) field.remove();
    form.append(...fresh.querySelectorAll("[type=hidden]"));
    for (const select of form.querySelectorAll("select")) {
      const { options, value } = fresh.elements[select.name];
      select.replaceChildren(...options);
      select.value = value;
    }
    const { q } = fresh.elements;
    if (box.value === typedBefore && box.value.trim() !== q.value.trim()) box.value = q.value;
  }

  // History: one entry for each search, not for each key

  function remember(url) {
    if (url.pathname === location.pathname && searchOf(url) === searchOf(location)) return; // the hash of a card may differ
    try {
      if (isSettled) history.pushState(null, "", url);
      else history.replaceState(null, "", url);
      isSettled = false;
    } catch {
      // Safari allows 100 changes in 30 seconds. The next search updates the address.
    }
  }

  function settle() {
    isSettled = true;
    const count = results.querySelector(".bear-nothing h2") ?? part("bear-count");
    announcement.textContent = count ? count.innerText.replace(/\s+/g, " ").trim() : "";
  }

  /* Keep where the page is scrolled to, because results come too late for the browser to restore it. */
  let scrolled;
  addEventListener("scroll", () => {
    clearTimeout(scrolled);
    scrolled = setTimeout(() => {
      if (running.length || searchOf(location) !== shown) return;
      try {
        history.replaceState({ place: scrollY }, "", location);
      } catch {} // Safari, as above
    }, SCROLLED);
  }, { passive: true });

  addEventListener("popstate", ({ state }) => {
    clearTimeout(scrolled);
    if (searchOf(location) === shown && !running.length) return; // only the hash changed
    isSettled = true;
    const url = new URL(location);
    box.value = url.searchParams.get("q") ?? "";
    search(url, { isPast: true, place: state?.place });
  });

  // Starting a search

  let isDue = false; // whether a search for the box's text is about to start

  function typed() {
    const isAlone = !running.length && performance.now() - lastKey > BURST;
    lastKey = performance.now();
    for (const timer of [burst, pause, retry]) clearTimeout(timer); // only the latest key starts a search
    burst = setTimeout(followBox, isAlone ? 0 : BURST);
    isDue = true;
  }

  function followBox() {
    isDue = false;
    const url = addressOfForm();
    if (searchOf(url) !== shown) search(url, { isTyping: true });
    else {
      cancel();
      awaitRest(url);
    }
  }

  box.addEventListener("input", ({ isComposing }) => isComposing || typed());
  box.addEventListener("compositionend", typed);

  form.addEventListener("change", ({ target }) => {
    if (target === box) return;
    isSettled = true;
    search(addressOfForm());
  });

  const used = () => document.dispatchEvent(new Event("bear-used"));
  results.addEventListener("click", ({ target }) => target.closest(".bear-title, .bear-open") && used());

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    used();
    const url = addressOfForm();
    if (url.href === location.href) isSettled = true; // even if the next key comes before the response
    search(url);
    if (matchMedia("(hover: none)").matches) box.blur(); // hides the on-screen keyboard
  });

  /* Follow links to other searches (chips, facets, months, next pages) without leaving the page. */
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || hasModifier(event) || event.shiftKey) return;
    const link = event.target.closest?.("a[href]");
    if (!link?.closest("main") || link.hasAttribute("target")) return;
    const url = new URL(link.getAttribute("href"), document.baseURI);
    const home = new URL(form.action);
    if (url.origin !== home.origin || url.pathname !== home.pathname || url.hash) return;
    event.preventDefault();
    isSettled = true;
    search(url);
  });

  /* A click elsewhere closes our menus. Datasette before 1.0 would close all details. */
  let unfolded = [];
  addEventListener("click", () => (unfolded = document.querySelectorAll(".content details[open]")), true);
  addEventListener("click", ({ target, detail }) => {
    // Enter in a field also clicks the form's first button, without a mouse (detail is 0).
    for (const each of unfolded) each.open = !each.matches(".bear-menu") || !detail || !target.isConnected || each.contains(target);
  });

  document.addEventListener(
    "toggle",
    ({ target }) => {
      const isByPerson = target.open && document.activeElement !== box;
      if (isByPerson && matchMedia("(hover: hover)").matches) target.querySelector(".bear-tag-search")?.focus();
    },
    true
  );

  const has = (item, typed) => item.textContent.toLowerCase().includes(typed.value.trim().toLowerCase());

  document.addEventListener("input", ({ target }) => {
    if (!target.matches(".bear-tag-search")) return;
    const panel = target.parentElement;
    for (const item of panel.querySelectorAll("li")) item.hidden = ![...item.querySelectorAll(".bear-value")].some((tag) => has(tag, target));
    for (const details of panel.querySelectorAll("details")) details.open = target.value.trim();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches(".bear-tag-search") || isElsewhere(event)) return;
    [...event.target.parentElement.querySelectorAll(".bear-value")].find((tag) => has(tag, event.target))?.click();
  });

  /* Store a judgment or a search without leaving the page. */
  document.addEventListener("submit", async (event) => {
    const { target, submitter } = event;
    if (!target.matches(".bear-judge, .bear-save")) return;
    event.preventDefault();
    const body = new URLSearchParams([...new FormData(target, submitter)]);
    const response = await fetch(target.action, { method: "POST", body, redirect: "manual" }).catch(() => ({}));
    if (response.type !== "opaqueredirect") return target.submit();
    const isTaken = submitter.value === "none";
    for (const button of target.querySelectorAll("button")) {
      button.value = button === submitter && !isTaken ? "none" : button.dataset.value;
      button.setAttribute("aria-pressed", button === submitter && !isTaken);
    }
    announcement.textContent = isTaken ? "Removed" : `Saved: ${submitter.textContent}`;
  });

  // Keys

  /* Captured before Datasette gets it, whose jump menu uses the same key. */
  addEventListener(
    "keydown",
    (event) => {
      const isSlash = event.key === "/" && !isElsewhere(event) && !isField(event.target);
      const isCommand = event.key === "k" && (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey;
      if (!isSlash && !isCommand) return;
      event.preventDefault();
      event.stopPropagation();
      box.focus();
      box.select();
    },
    true
  );

  // Any key or click but Enter forgets it: "open" or "app", if the first result is to be opened when it is there.
  let awaited = null;
  addEventListener("pointerdown", () => (awaited = null), true);

  /* docs/search-page.md has the table of what each key does. */
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") awaited = null;
    const isBox = event.target === box;
    const card = event.target.closest?.(".bear-card");
    const isApp = event.key === "Enter" && (event.ctrlKey || event.metaKey) && (isBox || card);
    if (event.defaultPrevented || (isElsewhere(event) && !isApp)) return;
    if (isField(event.target) && !isBox && event.key !== "Escape") return;
    const act = {
      ArrowDown: (isBox || card || event.target === part("bear-found")) && (() => move(card, 1)),
      ArrowUp: card && (() => move(card, -1)),
      j: !isBox && (() => move(card, 1)),
      k: card && (() => move(card, -1)),
      o: card && (() => open(card, "app")),
      i: !isBox && (() => results.classList.toggle("bear-ranks")),
      Enter: isBox ? () => enter(isApp ? "app" : "open") : isApp && (() => open(card, "app")),
      Escape: escape,
      "?": !isBox && (() => help.querySelector("summary").click()),
    }[event.key];
    if (!act || act() === false) return;
    event.preventDefault();
  });

  const help = document.getElementById("bear-help");

  /* Close an open menu, wherever the focus is, else go to the box. Never erase its text. */
  function escape() {
    const menu = document.querySelector(".bear-menu[open]");
    if (!menu) {
      box.focus();
      box.select();
      return;
    }
    menu.open = false;
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
  }

  /* Open the selected result of what was typed, now or when it is there. False lets the form repeat the search. */
  function enter(how) {
    if (!box.value.trim() || matchMedia("(hover: none)").matches || failure.textContent) return false;
    awaited = how;
    if (isDue) {
      clearTimeout(burst);
      followBox();
    }
    if (searchOf(addressOfForm()) === shown) return openFirst();
    if (!running.length) awaited = null;
    return Boolean(awaited);
  }

  function openFirst() {
    const card = selected();
    if (card) open(card, awaited);
    awaited = null;
    return Boolean(card);
  }

  function open(card, how) {
    ((how === "app" && card.querySelector(".bear-open")) || card.querySelector(".bear-title")).click();
  }

  /* The selected result. At first, that is the first one, unless it is merely near. */
  function selected() {
    return results.querySelector(".bear-card[aria-current]");
  }

  function isElsewhere(event) {
    // Safari ends a composition before the key that ends it, which has this code.
    const isComposing = event.isComposing || event.keyCode === 229;
    return hasModifier(event) || isComposing || document.querySelector("dialog[open]");
  }

  function hasModifier(event) {
    return event.ctrlKey || event.metaKey || event.altKey;
  }

  function isField(target) {
    const isButton = ["button", "checkbox", "radio", "submit"].includes(target.type);
    return target.isContentEditable || (target.matches?.("input, textarea, select") && !isButton);
  }

  /* Move to the next or previous card, or from the first one up to the box. */
  function move(card, step) {
    const visible = cards().filter((each) => each.offsetParent);
    const next = visible[visible.indexOf(card ?? selected()) + step] ?? (!card && selected());
    if (next) {
      next.querySelector(".bear-title")?.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    } else if (step < 0) {
      box.focus();
    }
  }

  function element(name, properties = {}) {
    return Object.assign(document.createElement(name), properties);
  }

  addEventListener("pagehide", cancel);

  // Browsers apply autofocus only with the first frame, and lose the keys before it.
  if (document.activeElement === document.body && !location.hash) box.focus({ preventScroll: true });
  // Put the cursor after the text. Browsers put it before the text of a field that has autofocus.
  box.setSelectionRange(box.value.length, box.value.length);
  // Search for what was typed before this script was loaded.
  if (searchOf(addressOfForm()) !== shown && box.value !== box.defaultValue) typed();
  retryWhileLoading(new URL(location), 1);
})();
