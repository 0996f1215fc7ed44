/* The search page under the fingers: results follow the box and the filters, keys move over them. Without this script the
   page is a form with links that does all of it. What is shown is always the HTML that the server made. */
(() => {
  "use strict";

  const form = document.querySelector("form.bear-form");
  const box = document.getElementById("bear-q");
  const results = document.getElementById("bear-results");
  if (!form || !box || !results) return;

  // All times are milliseconds. Keys that follow each other faster than this, such as one held down, are one search; and
  // so long a search that is under way may still be answered before the next one takes its place.
  const BURST = 30;
  // While somebody types, only the first results come. After such a rest the others follow.
  const PAUSE = 200;
  // After such a rest, what is on the screen is an entry of the history, and its count is read out.
  const REST = 1000;
  // After a search that took longer, the next is preceded by one for words alone, unless that took as long or is all.
  const SLOW = 150;
  // While the model is loading, results by meaning are asked for again so often.
  const RETRIES = 30;
  const RETRY_AFTER = 1000;
  const LOADING = "model is still loading";
  const BY_WORDS = "by their words only";

  const UNANSWERED = "Can't reach the server. These are your previous results. Press Enter to retry.";

  // The count is read out, not the whole list.
  results.removeAttribute("aria-live");
  const announcement = element("p", { className: "bear-hidden" });
  const failure = element("p", { className: "bear-notice bear-failure" });
  for (const line of [announcement, failure]) line.setAttribute("role", "status");
  results.before(announcement, failure);

  // Searching

  let shown = searchOf(location); // what the results on the screen answer; null if only by words
  let isPartial = false; // whether that are the first results only
  let underWay = null; // AbortController of the search that is under way
  const took = { meaning: 0, words: 0 }; // ms; the rest needs no new vector
  let isSettled = true; // whether the current entry of the history stays as it is
  let lastKey = 0;
  let burst, pause, rest, retry; // timers

  /* Show the results at an address.
     isTyping: the search may change with the next key, so that it is not yet an entry of the history of its own.
     isPast: the history has the address already.
     isRest: its first results are on the screen.
     retries: how often the same was asked for before, because the model was loading. */
  async function search(url, { isTyping = false, isPast = false, isRest = false, retries = 0 } = {}) {
    cancel(isRest);
    const own = (underWay = new AbortController());
    const typedBefore = box.value;
    results.setAttribute("aria-busy", "true");
    try {
      const isSlow = took.meaning > SLOW && took.words < took.meaning / 2;
      const isQuery = url.searchParams.has("q") && !isRest;
      if (isSlow && isQuery && !url.searchParams.has("mode") && !says(BY_WORDS)) {
        const page = await load(url, own.signal, "words", true);
        if (own !== underWay) return;
        show(page);
        shown = null;
      }
      const isFirst = isTyping && isQuery;
      const page = await load(url, own.signal, isRest ? "rest" : "meaning", isFirst);
      if (own !== underWay) return;
      if (!isPast) remember(url);
      show(page);
      if (!isTyping && !retries) copyForm(page, typedBefore);
      failure.textContent = "";
      shown = searchOf(url);
      document.dispatchEvent(new CustomEvent("bear-shown", { detail: { isPartial } }));
      if (!isTyping) settle();
      else if (!isRest) awaitRest(url);
      if (!isPartial) retryWhileLoading(url, retries + 1);
    } catch (error) {
      if (own !== underWay) return;
      if (!(error instanceof Failure)) throw error;
      failure.textContent = error.message;
    } finally {
      if (own === underWay) {
        underWay = null;
        results.removeAttribute("aria-busy");
      }
    }
  }

  function cancel(isRest) {
    underWay?.abort();
    underWay = null;
    for (const timer of [burst, pause, retry, !isRest && rest]) clearTimeout(timer);
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
    // Another page, such as one to log in, is the browser's to show.
    if (!fresh) location.assign(url);
    return fresh ? page : new Promise(() => {});
  }

  function show(page) {
    const fresh = page.getElementById("bear-results");
    document.title = page.title;
    const focusAgain = keepFocus();
    const openAgain = keepOpen();
    isPartial = fresh.hasAttribute("data-first");
    const isRestKept = isPartial && part("bear-found");
    if (isRestKept) for (const id of ["bear-count", "bear-notices", "bear-found"]) patch(part(id), part(id, fresh));
    else patch(results, fresh);
    // What narrows a search is that of the search before, until it follows: it keeps its place, but can't be used.
    for (const id of ["bear-menus", "bear-formats"]) if (part(id)) part(id).inert = isRestKept;
    openAgain();
    focusAgain();
  }

  function part(id, within = results) {
    return within.querySelector(`#${id}`);
  }

  /* Make something what it is on another page. Within it, what stays the same isn't touched, if it has an id. */
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

  /* What somebody unfolded in the results; call it to unfold the same in those that took their place. */
  function keepOpen() {
    const nameOf = (details) => {
      const summary = details.querySelector("summary").textContent.replace(/\d/g, "").trim();
      return details.id || `${details.parentElement.closest("[id]").id} ${summary}`;
    };
    const names = new Set([...results.querySelectorAll("details[open]")].map(nameOf));
    return () => {
      for (const details of results.querySelectorAll("details")) {
        details.open ||= names.has(nameOf(details));
      }
    };
  }

  /* What has the focus in the results; call it to focus the same thing in those that took their place. */
  function keepFocus() {
    const focused = document.activeElement;
    if (!results.contains(focused) || focused === results) return () => {};
    const card = focused.closest("[id]");
    const same = (other) => other.className === focused.className && other.textContent === focused.textContent;
    return () => {
      if (document.activeElement === focused) return;
      const place = (card?.id && results.querySelector(`[id="${CSS.escape(card.id)}"]`)) || results;
      const candidates = [...place.querySelectorAll(focused.localName)];
      results.tabIndex = -1;
      (candidates.find(same) || results).focus({ preventScroll: true });
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
    // The first choice is what holds without one.
    for (const select of form.querySelectorAll("select")) {
      if (select.selectedIndex === 0) data.delete(select.name);
    }
    for (const [name, value] of data) {
      if (value.trim()) url.searchParams.append(name, value.trim());
    }
    return url;
  }

  function searchOf(url) {
    return new URLSearchParams(url.search).toString();
  }

  /* The form as it is on another page, but for what somebody is typing just now. */
  function copyForm(page, typedBefore) {
    const fresh = page.querySelector("form.bear-form");
    for (const field of form.querySelectorAll("[type=hidden]")) field.remove();
    form.append(...fresh.querySelectorAll("[type=hidden]"));
    for (const error of fresh.querySelectorAll(".bear-error")) {
      const own = document.getElementById(error.id);
      own.textContent = error.textContent;
      own.previousElementSibling.toggleAttribute("aria-invalid", own.textContent);
    }
    const key = (field) => `${field.name} ${field.type === "checkbox" && field.value}`;
    const others = new Map([...fresh.elements].map((field) => [key(field), field]));
    for (const field of form.elements) {
      const other = others.get(key(field));
      if (!field.name || !other || field.type === "hidden") continue;
      const isBusy = field === box ? field.value !== typedBefore : field === document.activeElement;
      if (field.type === "checkbox") {
        field.checked = other.checked;
      } else if (field.localName === "select") {
        const value = other.value;
        field.replaceChildren(...other.options);
        field.value = value;
      } else if (!isBusy && field.value.trim() !== other.value.trim()) {
        field.value = other.value;
      }
    }
  }

  // History: one entry for each thing that was looked for, not for each key

  function remember(url) {
    if (url.pathname === location.pathname && searchOf(url) === searchOf(location)) return; // perhaps at a card
    try {
      if (isSettled) history.pushState(null, "", url);
      else history.replaceState(null, "", url);
      isSettled = false;
    } catch {
      // Safari allows a hundred in thirty seconds; the address then follows a little later.
    }
  }

  function settle() {
    isSettled = true;
    const count = results.querySelector(".bear-nothing h2") ?? part("bear-count");
    announcement.textContent = count ? count.textContent.replace(/\s+/g, " ").trim() : "";
  }

  addEventListener("popstate", () => {
    if (searchOf(location) === shown && !underWay) return; // only another place on the same page
    isSettled = true;
    const url = new URL(location);
    box.value = url.searchParams.get("q") ?? "";
    search(url, { isPast: true });
  });

  // What starts a search

  function typed() {
    const isAlone = !underWay && performance.now() - lastKey > BURST;
    lastKey = performance.now();
    for (const timer of [burst, pause, retry]) clearTimeout(timer); // nothing may come between a key and its search
    burst = setTimeout(followBox, isAlone ? 0 : BURST);
  }

  function followBox() {
    const url = addressOfForm();
    if (searchOf(url) !== shown) search(url, { isTyping: true });
    else {
      cancel();
      awaitRest(url);
    }
  }

  // Of the document, since a field of the form may stand elsewhere on the page.
  document.addEventListener("input", ({ target, isComposing }) => {
    const follows = target === box || (target.form === form && target.type === "range");
    if (follows && !isComposing) typed();
  });
  box.addEventListener("compositionend", typed);

  document.addEventListener("change", ({ target }) => {
    if (target === box || target.form !== form) return;
    isSettled = true;
    search(addressOfForm());
  });

  const used = () => document.dispatchEvent(new Event("bear-used"));
  results.addEventListener("click", ({ target }) => target.closest(".bear-title, .bear-open") && used());

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    used();
    const url = addressOfForm();
    if (url.href === location.href) isSettled = true; // also if the next key comes before the answer
    search(url);
    if (matchMedia("(hover: none)").matches) box.blur(); // so that the keyboard leaves the screen
  });

  /* Chips, facets, months, more notes: links to other searches are followed without leaving the page. */
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || hasModifier(event) || event.shiftKey) return;
    const link = event.target.closest?.("a[href]");
    if (!link?.closest("main") || link.hasAttribute("target")) return;
    const url = new URL(link.getAttribute("href"), document.baseURI);
    const home = new URL(form.action);
    if (url.origin !== home.origin || url.pathname !== home.pathname || url.hash) return;
    event.preventDefault();
    isSettled = true;
    const isNextPage = url.searchParams.has("_next");
    search(url).then(() => isNextPage && results.scrollIntoView());
  });

  /* A click elsewhere folds up our menus; Datasette before 1.0 would fold up all details. */
  let unfolded = [];
  addEventListener("click", () => (unfolded = document.querySelectorAll(".content details[open]")), true);
  addEventListener("click", ({ target, detail }) => {
    // Enter in a field clicks the form's first button, too, but no mouse was there.
    for (const each of unfolded) each.open = !each.matches(".bear-menu") || !detail || !target.isConnected || each.contains(target);
  });

  document.addEventListener("input", ({ target }) => {
    if (!target.matches(".bear-tag-search")) return;
    const wanted = target.value.trim().toLowerCase();
    const panel = target.parentElement;
    for (const item of panel.querySelectorAll("li")) item.hidden = !item.textContent.toLowerCase().includes(wanted);
    for (const details of panel.querySelectorAll("details")) details.open = wanted;
  });

  /* A judgment or a search is stored without leaving the page. */
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

  /* Before Datasette hears of it, whose own jump menu is on the same key elsewhere. */
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

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isElsewhere(event)) return;
    const isBox = event.target === box;
    const menu = event.target.closest?.(".bear-menu[open]");
    if (isField(event.target) && !isBox && event.key !== "Escape") return;
    const card = event.target.closest?.(".bear-card");
    const act = {
      ArrowDown: (isBox || card) && (() => move(card, 1)),
      ArrowUp: card && (() => move(card, -1)),
      j: !isBox && (() => move(card, 1)),
      k: card && (() => move(card, -1)),
      o: card && (() => card.querySelector("a.bear-open")?.click()),
      i: !isBox && (() => results.classList.toggle("bear-ranks")),
      Enter: isBox && canOpen() && (() => results.querySelector(".bear-card[aria-current] .bear-title").click()),
      Escape: menu ? () => close(menu) : !isBox && (() => box.focus()),
      "?": !isBox && (() => help.querySelector("summary").click()),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  const help = document.getElementById("bear-help");

  function close(menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }

  /* Whether what is highlighted is what was asked for: then Enter opens it. */
  function canOpen() {
    const isShown = searchOf(addressOfForm()) === shown && !underWay && !isPartial;
    return isShown && matchMedia("(min-width: 1100px)").matches && results.querySelector(".bear-card[aria-current]");
  }

  function isElsewhere(event) {
    return hasModifier(event) || event.isComposing || document.querySelector("dialog[open]");
  }

  function hasModifier(event) {
    return event.ctrlKey || event.metaKey || event.altKey;
  }

  function isField(target) {
    const isButton = ["button", "checkbox", "radio", "submit"].includes(target.type);
    return target.isContentEditable || (target.matches?.("input, textarea, select") && !isButton);
  }

  /* To the next card or the one before; above the first is the box. */
  function move(card, step) {
    const cards = [...results.querySelectorAll(".bear-card")].filter((each) => each.offsetParent);
    const next = cards[cards.indexOf(card) + step];
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

  // Browsers focus it with the first frame only, and lose the keys before.
  if (document.activeElement === document.body && !location.hash) box.focus({ preventScroll: true });
  // Where one would go on typing; browsers put the cursor of a box that has the focus from the start before its text.
  box.setSelectionRange(box.value.length, box.value.length);
  // What was typed before this script came.
  if (searchOf(addressOfForm()) !== shown && box.value !== box.defaultValue) typed();
  retryWhileLoading(new URL(location), 1);
})();
