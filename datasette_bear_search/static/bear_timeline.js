/* Dragging over the histogram narrows the search to the time from the first to the last bar under the pointer. */
(() => {
  "use strict";

  // Pixels. A shorter drag is a click on a bar, which is a link.
  const LEAST = 6;

  let drag = null;

  document.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest?.(".bear-time svg");
    if (!svg || event.button || !event.isPrimary) return;
    const range = svg.parentElement.querySelector(".bear-range");
    drag = { svg, range, hint: range.textContent, start: event.clientX, bars: null };
  });

  document.addEventListener("pointermove", ({ clientX, pointerId, isPrimary }) => {
    if (!drag || !isPrimary) return;
    const { svg, start } = drag;
    if (!drag.bars && Math.abs(clientX - start) < LEAST) return;
    svg.setPointerCapture(pointerId); // so that the end of a drag isn't a click on the bar below it
    drag.bars = [...svg.querySelectorAll("a")].filter((bar) => {
      const { left, right } = bar.getBoundingClientRect();
      const isCovered = left < Math.max(start, clientX) && right > Math.min(start, clientX);
      bar.classList.toggle("bear-picked", isCovered);
      return isCovered;
    });
    const names = [...new Set([drag.bars[0], drag.bars.at(-1)])].map((bar) => bar?.querySelector("title").textContent.split(":")[0]);
    drag.range.textContent = names.join(" – ");
  });

  /* End the drag, and return the bars that it covered. */
  function end() {
    const { svg, range, hint, bars } = drag;
    for (const bar of svg.querySelectorAll(".bear-picked")) bar.classList.remove("bear-picked");
    range.textContent = hint;
    drag = null;
    return bars ?? [];
  }

  document.addEventListener("pointercancel", ({ isPrimary }) => drag && isPrimary && end());
  document.addEventListener("pointerup", ({ isPrimary }) => {
    if (!drag || !isPrimary) return;
    const bars = end();
    if (!bars.length) return;
    const [url, last] = [bars[0], bars.at(-1)].map((bar) => new URL(bar.getAttribute("href"), document.baseURI));
    url.searchParams.set("modified_before", last.searchParams.get("modified_before"));
    const bar = bars[0].cloneNode();
    bar.setAttribute("href", url);
    bars[0].after(bar);
    bar.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    bar.remove();
  });

  /* While dragging, keep the bars, which are links, from being dragged, and keys from scrolling the page. */
  for (const type of ["dragstart", "keydown"]) {
    addEventListener(type, (event) => {
      if (!drag) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "Escape") end();
    }, true);
  }
})();
