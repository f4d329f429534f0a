// The page: a list of programs, an editor, and what the worker says about them.

const root = document.getElementById("playground-root");
const [choice, run, stop, state, source, output] =
  ["choice", "run", "stop", "state", "source", "output"].map(name => document.getElementById(`playground-${name}`));
const here = new URL(".", import.meta.url);
let worker = null;

function say(text) { state.textContent = text; }

function show(item) {
  const box = document.createElement(item.html === undefined ? "pre" : "div");
  box.className = item.error === undefined ? "playground-item" : "playground-item playground-error";
  // Markup comes from reports, which escape all that is not theirs.
  if (item.html === undefined) box.textContent = item.error ?? item.text; else box.innerHTML = item.html;
  output.append(box);
}

function end(text) {
  say(text);
  run.disabled = false;
  stop.disabled = true;
}

function start() {
  worker = new Worker(new URL("worker.js", here), { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.state !== undefined) say(data.state);
    for (const item of data.items ?? []) show(item);
    if (data.done !== undefined) end(data.done);
  };
  worker.onerror = event => { discard(); show({ error: event.message || "the worker cannot be started" }); end(""); };
}

function discard() {
  worker?.terminate();
  worker = null;
}

run.onclick = () => {
  output.replaceChildren();
  run.disabled = true;
  stop.disabled = false;
  if (worker === null) start();
  worker.postMessage({ source: source.value, pyodide: root.dataset.pyodide, xdsl: root.dataset.xdsl, archive: new URL("tilewright.zip", here).href });
};
stop.onclick = () => { discard(); end("stopped; the next run begins with loading"); };
source.onkeydown = event => { if (event.key === "Enter" && event.ctrlKey && !run.disabled) run.click(); };

const programs = await (await fetch(new URL("programs.json", here))).json();
for (const { title } of programs) choice.append(new Option(title));
choice.onchange = () => { source.value = programs[choice.selectedIndex].source; };
choice.onchange();
run.disabled = false;
