/* Suggestions below the search box: operators, their values, tags, folders. The server chooses them
   (query/suggest.py). This is an editable combobox with a listbox, as in the ARIA Authoring Practices. */
(() => {
  "use strict";

  const box = document.getElementById("bear-q");
  if (!box?.form) return;

  // Milliseconds: longer than between the keys of a fluent typist, whose next search would wait for suggestions.
  const BURST = 150;

  const endpoint = new URL(box.form.action);
  endpoint.pathname += "/suggest.json";

  const list = element("ul", { id: "bear-suggestions", hidden: true, role: "listbox", ariaLabel: "Suggestions" });
  box.after(list);
  Object.assign(box, { role: "combobox", ariaAutoComplete: "list", ariaExpanded: "false" });
  box.setAttribute("aria-controls", list.id);

  // Recent searches: those whose results were opened, or that were submitted. They are stored in this browser only.
  const MAX_RECENT = 6;
  function recent() {
    try {
      return JSON.parse(localStorage.getItem("bear-searches")) ?? [];
    } catch {
      return []; // the browser doesn't store anything
    }
  }
  document.addEventListener("bear-used", () => {
    const text = box.value.trim();
    if (!text) return;
    const texts = [text, ...recent().filter((other) => other !== text)].slice(0, MAX_RECENT);
    localStorage.setItem("bear-searches", JSON.stringify(texts));
  });

  /* List the recent searches on the start page. */
  function listRecent() {
    const section = document.getElementById("bear-recent-searches");
    if (!section) return;
    const links = recent().map((text) => {
      const item = element("li");
      item.append(element("a", { href: `?${new URLSearchParams({ q: text })}`, textContent: text, dir: "auto" }));
      return item;
    });
    section.hidden = !links.length;
    section.querySelector("ul").replaceChildren(...links);
    section.querySelector("button").onclick = () => {
      localStorage.removeItem("bear-searches");
      listRecent();
      box.focus();
    };
  }
  document.addEventListener("bear-shown", listRecent);
  listRecent();

  let offered = null; // the server's response, and the text that it is for
  let active = -1;
  let isEntered = false; // whether the arrow keys move through the list; otherwise they move through the results
  let underWay = null;
  let burst;

  async function ask(isWanted) {
    cancel();
    const text = box.value;
    const own = (underWay = new AbortController());
    endpoint.searchParams.set("q", text);
    endpoint.searchParams.set("cursor", [...text.slice(0, box.selectionStart)].length);
    try {
      const response = await fetch(endpoint, { signal: own.signal });
      const answer = await response.json();
      if (own !== underWay) return;
      if (!text.trim()) answer.suggestions.unshift(...recent().map((insert) => ({ label: insert, detail: "searched before", insert })));
      if (answer.ok && answer.suggestions.length) open(answer, text, isWanted);
      else close();
    } catch {
      if (own === underWay) close();
    }
  }

  function open(answer, text, isWanted) {
    offered = { ...answer, text };
    isEntered = isWanted || /[#:]/.test([...text].slice(answer.start, answer.end).join(""));
    list.classList.toggle("bear-aside", !isEntered); // where it hides no results
    list.replaceChildren(...answer.suggestions.map(option));
    list.hidden = false;
    box.ariaExpanded = "true";
    activate(-1);
  }

  function cancel() {
    clearTimeout(burst);
    underWay?.abort();
    underWay = null;
  }

  function close() {
    cancel();
    offered = null;
    list.hidden = true;
    box.ariaExpanded = "false";
    activate(-1);
  }

  function option({ label, detail }, index) {
    const item = element("li", { id: `bear-suggestion-${index}`, role: "option" });
    item.append(element("bdi", { textContent: label }), " ", element("bdi", { textContent: detail }));
    return item;
  }

  function element(name, properties) {
    return Object.assign(document.createElement(name), properties);
  }

  function activate(index) {
    active = index;
    [...list.children].forEach((item, place) => (item.ariaSelected = place === active));
    const item = list.children[active];
    box.setAttribute("aria-activedescendant", item?.id ?? "");
    item?.scrollIntoView({ block: "nearest" });
  }

  function choose(index) {
    const { start, end, text, suggestions } = offered;
    const { insert } = suggestions[index];
    close();
    if (box.value !== text) return; // more was typed in the meantime
    // The server counts characters, the browser UTF-16 code units.
    const units = (count) => [...text].slice(0, count).join("").length;
    box.setRangeText(insert, units(start), units(end), "end");
    box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }

  box.addEventListener("input", (event) => {
    if (event.isComposing) return;
    cancel();
    activate(-1);
    const before = box.value.slice(0, box.selectionStart);
    if (/\S$/.test(before)) burst = setTimeout(ask, BURST, false);
    else close();
  });

  box.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey) return; // 229: in Safari
    if (event.key === "ArrowDown" && !offered && (event.altKey || !box.value)) {
      event.preventDefault();
      ask(true);
      return;
    }
    isEntered ||= event.altKey;
    if (event.key === "Enter" && active < 0) close(); // and let the form search
    if (!offered) return;
    const last = offered.suggestions.length - 1;
    if (event.key === "ArrowDown" && isEntered && active < last) activate(active + 1);
    else if (event.key === "ArrowDown") return close(); // and let the key move to the results
    else if (event.key === "ArrowUp" && active >= 0) activate(active - 1);
    else if (event.key === "Enter") choose(active);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });

  box.addEventListener("blur", close);
  list.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus in the box
  list.addEventListener("click", (event) => {
    const item = event.target.closest("[role=option]");
    if (item) choose([...list.children].indexOf(item));
  });
})();
