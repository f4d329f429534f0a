// Python with tilewright, away from the page: it stays usable while a program runs, and can stop it.

import { prepare } from "./python.js";

let python = null;

self.onmessage = async ({ data }) => {
  const say = state => self.postMessage({ state });
  try {
    if (python === null) {
      say("loading Python");
      const { loadPyodide } = await import(`${data.pyodide}pyodide.mjs`);
      python = prepare(() => loadPyodide({ indexURL: data.pyodide }), async () => {
        const answer = await fetch(data.archive);
        if (!answer.ok) throw new Error(`${data.archive}: ${answer.status}`);
        return answer.arrayBuffer();
      }, data.xdsl, say);
      python.catch(() => { python = null; });
    }
    const cell = await python;
    say("running");
    const begin = performance.now();
    const items = JSON.parse(cell(data.source));
    self.postMessage({ items, done: `${((performance.now() - begin) / 1000).toFixed(1)} s` });
  } catch (error) {
    self.postMessage({ items: [{ error: `${python === null ? "Python cannot be loaded: " : ""}${error.message ?? error}` }], done: "" });
  }
};
