// Asks QMD's index: node peer_qmd.mjs PREFIX INDEX FOLDER, where PREFIX is where npm put QMD, FOLDER what is indexed.
//
// Brings the index up to date, says so in a line of JSON with the seconds it took, then takes a query a line and answers with a
// line of JSON: milliseconds, rows. It is the search by words (BM25) of QMD's own library; no model takes part.

import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [prefix, index, folder] = process.argv.slice(2);
const qmd = join(prefix, "node_modules", "@tobilu", "qmd", "dist", "index.js");
const { createStore } = await import(pathToFileURL(qmd));

const ROWS = 20;

const store = await createStore({
  dbPath: index,
  config: { collections: { notes: { path: folder, pattern: "**/*.md" } } },
});
const started = performance.now();
await store.update();
console.log(JSON.stringify([(performance.now() - started) / 1000]));
for await (const query of createInterface({ input: process.stdin })) {
  const started = performance.now();
  const rows = await store.searchLex(query, { limit: ROWS });
  console.log(JSON.stringify([performance.now() - started, rows.length]));
}
await store.close();
