// The playground's Python in Node: node tests/playground.mjs PYODIDE ARCHIVE PACKAGES PROGRAM, each a path.
// PACKAGES is a folder with what Python alone can import; Pyodide's own wheels, NumPy's too, come from the network.

import { readdir, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { prepare } from "../docs/playground/python.js";

const [pyodide, archive, packages, program] = process.argv.slice(2).map(path => resolve(path));
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const cell = await prepare(
  () => loadPyodide({ indexURL: `${pyodide}/` }),
  async () => (await readFile(archive)).buffer,
  "",
  () => {},
  async python => {
    const wheels = ["numpy", "ml-dtypes"];
    if ((await readdir(pyodide)).some(name => name.startsWith("numpy-"))) await python.loadPackage(wheels);
    python.FS.mkdirTree("/packages");
    python.FS.mount(python.FS.filesystems.NODEFS, { root: packages }, "/packages");
    python.runPython(`import sys; sys.path.append("/packages")`);
  },
);
console.log(cell(await readFile(program, "utf8")));
