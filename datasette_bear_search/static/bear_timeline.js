/* Dragging over the histogram narrows the search to the time from the first to the last bar under the pointer. */
(() => {
  "use strict";

  // Pixels. A shorter drag counts as a click.
  const LEAST = 6;

  let drag = null;
  let isEnding = false;

  document.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest?.(".bear-time svg");
    if (!svg || event.button || !event.isPrimary) return;
    const range = svg.parentElement.querySelector(".bear-range");
    drag = { svg, range, hint: range.textContent, start: event.clientX, bars: null };
  });

  document.addEventListener("pointermove", ({ clientX, pointerId, isPrimary }) => {
    if (!drag || !isPrimary || drag.isOver) return;
    if (!drag.bars) {
      if (Math.abs(clientX - drag.start) < LEAST) return;
      drag.svg.setPointerCapture(pointerId);
    }
    const [from, to] = [Math.min(drag.start, clientX), Math.max(drag.start, clientX)];
    pick((bar) => {
      const { left, right } = bar.getBoundingClientRect();
      return left < to && right > from;
    });
    const names = [...new Set([drag.bars[0], drag.bars.at(-1)])].map((bar) => bar?.querySelector("title").textContent.split(":")[0]);
    drag.range.textContent = names.join(" – ");
  });

  for (const type of ["pointerup", "pointercancel"]) document.addEventListener(type, finish);

  for (const type of ["click", "dragstart", "keydown"]) addEventListener(type, keepToDrag, true);

  /* While dragging, keep the bars, which are links, from being followed or dragged, and keys from scrolling the page. */
  function keepToDrag(event) {
    if (event.type === "click" ? !isEnding : !drag) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key !== "Escape") return;
    clear();
    drag.isOver = true;
  }

  function finish({ type, isPrimary }) {
    if (!drag || !isPrimary) return;
    const { svg, bars } = drag;
    clear();
    drag = null;
    if (!bars) return;
    // The end of a drag isn't a click on the bar below it.
    isEnding = true;
    setTimeout(() => {
      isEnding = false;
      if (type === "pointerup" && bars.length && svg.isConnected) follow(bars, svg);
    });
  }

  function pick(isCovered) {
    const bars = [...drag.svg.querySelectorAll("a")];
    for (const bar of bars) bar.classList.toggle("bear-picked", isCovered(bar));
    drag.bars = bars.filter((bar) => bar.matches(".bear-picked"));
  }

  function clear() {
    pick(() => false);
    drag.range.textContent = drag.hint;
  }

  function follow(bars, svg) {
    const [url, last] = [bars[0], bars.at(-1)].map((bar) => new URL(bar.getAttribute("href"), document.baseURI));
    url.searchParams.set("modified_before", last.searchParams.get("modified_before"));
    const bar = bars[0].cloneNode();
    bar.setAttribute("href", url);
    svg.append(bar);
    bar.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    bar.remove();
  }
})();
