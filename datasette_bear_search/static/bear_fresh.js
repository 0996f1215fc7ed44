/* Keeps the line about the index's freshness up to date, and lets its button work without a new page. */
(() => {
  "use strict";

  const line = () => document.getElementById("bear-fresh");
  if (!line()?.dataset.url) return;

  let isOffline = false;

  async function renew(options) {
    const before = line().dataset.indexed;
    try {
      const response = await fetch(line().dataset.url, options);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (!page.getElementById("bear-fresh")) return;
      for (const id of ["bear-fresh", "bear-problems"]) {
        document.getElementById(id)?.replaceWith(page.getElementById(id));
      }
      if (isOffline || line().dataset.indexed !== before) document.dispatchEvent(new Event("bear-updated"));
      isOffline = false;
    } catch {
      isOffline = true;
      line().replaceChildren(Object.assign(document.createElement("span"), { role: "status", textContent: "Can't reach the server" }));
      document.dispatchEvent(new Event("bear-offline"));
    }
  }

  let timer;
  function follow() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (!document.hidden) await renew();
      follow();
    }, line().querySelector("[role=status]") ? 1000 : 5000);
  }

  // Somebody who comes back from another program may have saved a note there.
  addEventListener("focus", () => renew().then(follow));

  document.addEventListener("submit", async (event) => {
    if (!event.target.closest("#bear-fresh")) return;
    event.preventDefault();
    await renew({ method: "POST", body: new URLSearchParams(new FormData(event.target)) });
    follow();
  });
  follow();
})();
