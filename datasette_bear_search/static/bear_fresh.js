/* Keeps the line about the index's freshness up to date, and lets its button work without a new page. */
(() => {
  "use strict";

  const line = () => document.getElementById("bear-fresh");

  async function renew(options) {
    try {
      const response = await fetch(line().dataset.url, options);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (!page.getElementById("bear-fresh")) return;
      for (const id of ["bear-fresh", "bear-problems"]) {
        document.getElementById(id)?.replaceWith(page.getElementById(id));
      }
    } catch {} // the server was stopped, so keep the line
  }

  let timer;
  function follow() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (!document.hidden) await renew();
      follow();
    }, line().querySelector("[role=status]") ? 1000 : 30000);
  }

  document.addEventListener("submit", async (event) => {
    if (!event.target.closest("#bear-fresh")) return;
    event.preventDefault();
    await renew({ method: "POST", body: new URLSearchParams(new FormData(event.target)) });
    follow();
  });
  follow();
})();
