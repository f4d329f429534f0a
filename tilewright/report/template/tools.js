"use strict";
// The theme, the search, the list of sections, and files to take away. The pictures and tables themselves work without this script.
(() => {
  const byId = (id) => document.getElementById(id);
  const KEY = "tilewright-theme";

  // Theme: the system's, or one that is kept for all reports.

  const theme = byId("theme");
  function setTheme(name) {
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    theme.value = name;
    document.dispatchEvent(new Event("themechange"));
  }
  theme.addEventListener("change", () => {
    try { localStorage.setItem(KEY, theme.value); } catch { /* a page that may not keep anything */ }
    setTheme(theme.value);
  });
  try { setTheme(localStorage.getItem(KEY) ?? ""); } catch { setTheme(""); }

  // Search: rows of tables that have all of the words; others are put away. A line of source stays with its operations.

  const search = byId("search"), found = byId("found");
  let hits = [], at = -1;
  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = [];
    at = -1;
    for (const table of document.querySelectorAll("main table:has(tbody)")) markRows(table, words);
    for (const tile of document.querySelectorAll("svg.array .tile")) {
      const text = (tile.getAttribute("aria-label") ?? "").toLowerCase();
      tile.classList.toggle("dim", words.length > 0 && !words.every((word) => text.includes(word)));
    }
    found.textContent = words.length ? `${hits.length.toLocaleString("en")} row${hits.length === 1 ? "" : "s"}` : "";
  }

  function markRows(table, words) {
    let source = null;
    for (const row of [...table.tBodies].flatMap((body) => [...body.rows])) {
      const text = row.textContent.toLowerCase(), isSource = row.classList.contains("source");
      const own = words.every((word) => text.includes(word));
      if (isSource) source = { row, own };
      row.hidden = words.length > 0 && !own && !(source?.own && !isSource);
      if (words.length && own && !isSource) {
        hits.push(row);
        if (source) source.row.hidden = false;
        for (let box = row.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
      }
    }
  }

  function step(by) {
    if (!hits.length) return;
    hits[at]?.classList.remove("hit");
    at = (at + by + hits.length) % hits.length;
    hits[at].classList.add("hit");
    hits[at].scrollIntoView({ block: "center" });
    found.textContent = `${at + 1} of ${hits.length}`;
  }
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") { search.value = ""; find(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select, textarea")) { event.preventDefault(); search.focus(); }
  });

  // Files: tables as CSV, pictures as SVG whose colours are those of now.

  const title = document.title.split(" · ")[0].replace(/[^\w.-]+/g, "_");
  function save(name, text, kind) {
    const link = Object.assign(document.createElement("a"), { download: `${title}-${name}`, href: URL.createObjectURL(new Blob([text], { type: kind })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const quoted = (cell) => {
    const text = String(cell), safe = /^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text;  // a sheet takes these for formulas
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  const number = (text) => /^-?\d{1,3}(,\d{3})+$/.test(text) ? text.replaceAll(",", "") : text;
  function tableRows(table) {
    return [...table.rows].filter((row) => !row.hidden).map((row) => [...row.cells].map((cell) => number(cell.textContent.trim())));
  }

  const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "font-size", "font-weight", "font-family", "text-anchor"];
  const known = new Map(), pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  function plainColour(value) {  // as every program reads it: a mixture is not
    if (!/^(ok|color|lab)/.test(value)) return value;
    if (!known.has(value)) {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = value;
      pixel.fillRect(0, 0, 1, 1);
      known.set(value, `rgb(${[...pixel.getImageData(0, 0, 1, 1).data.slice(0, 3)].join(", ")})`);
    }
    return known.get(value);
  }
  function svgText(picture) {
    const copy = picture.cloneNode(true), from = [picture, ...picture.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((element, n) => {
      const style = getComputedStyle(element);
      for (const name of STYLES) to[n].setAttribute(name, plainColour(style.getPropertyValue(name)));
      for (const name of ["class", "style", "tabindex"]) to[n].removeAttribute(name);
    });
    const [, , width, height] = picture.getAttribute("viewBox").split(" ");
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.style.background = getComputedStyle(picture.closest("section")).backgroundColor;
    return new XMLSerializer().serializeToString(copy);
  }

  function button(text, label, act) {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: text, className: "save", title: label });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  }
  for (const table of document.querySelectorAll("main table:has(caption)")) {
    const name = table.id || table.caption.textContent.split(/[;:]/)[0].toLowerCase().replaceAll(" ", "-");
    const label = `save the table "${table.caption.textContent}" as CSV`;
    table.caption.append(button("CSV", label, () => save(`${name}.csv`, csv(tableRows(table)), "text/csv")));
  }
  for (const picture of document.querySelectorAll("figure.picture svg")) {
    const name = picture.classList[0];
    picture.closest("figure").append(button("SVG", `save the picture of the ${name} as SVG`, () => save(`${name}.svg`, svgText(picture), "image/svg+xml")));
  }
  document.querySelectorAll("main > section").forEach((section) => {
    const link = Object.assign(document.createElement("a"), { href: "#" + section.id, textContent: section.querySelector("h2").textContent });
    const item = document.createElement("li");
    item.append(link);
    byId("sections").append(item);
  });

  window.tilewrightTools = { save, csv, svgText, tableRows };
})();
