// Which plot is shown, and which point is looked at: the same one in plots, lines and tables.
(() => {
  const across = document.getElementById("across"), plots = [...document.querySelectorAll("figure.plot")];
  across?.addEventListener("change", () => plots.forEach((plot, n) => { plot.hidden = n !== Number(across.value); }));

  const places = new Map();
  for (const place of document.querySelectorAll("[data-point]")) {
    const number = place.dataset.point, lit = place.closest("tr") ?? place;
    if (!places.has(number)) places.set(number, []);
    places.get(number).push(lit);
    lit.addEventListener("mouseenter", () => light(number, true));
    lit.addEventListener("mouseleave", () => light(number, false));
    lit.addEventListener("focusin", () => light(number, true));
    lit.addEventListener("focusout", () => light(number, false));
  }
  function light(number, on) {
    for (const place of places.get(number) ?? []) place.classList.toggle("lit", on);
  }
  document.documentElement.dataset.ready = "yes";
})();
