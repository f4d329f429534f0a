// Python made ready, in a browser or in Node: gives a function from the text of a program to what it shows, as JSON.

const PACKAGES = ["numpy", "ml-dtypes", "rich", "micropip"];

export async function prepare(load, archive, xdsl, say, install = installed) {
  const python = await load();
  await install(python, xdsl, say);
  say("unpacking tilewright");
  python.unpackArchive(await archive(), "zip", { extractDir: "/tilewright" });
  python.runPython(`import sys; sys.path.insert(0, "/tilewright")`);
  const cell = python.pyimport("cell");
  return source => cell.show(source);
}

// Wheels of Pyodide's own, then those that are Python alone, from PyPI.
async function installed(python, xdsl, say) {
  say("loading NumPy");
  await python.loadPackage(PACKAGES);
  const missing = PACKAGES.filter(name => !(name in python.loadedPackages) && !(name.replace("-", "_") in python.loadedPackages));
  if (missing.length > 0) throw new Error(`${missing.join(", ")} cannot be fetched`);
  say("loading xDSL");
  await python.pyimport("micropip").install(xdsl);
}
