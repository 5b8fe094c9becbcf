"use strict";
// Tables: a click on a heading sorts by that column, a second click turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      const key = (row) => row.cells[column].dataset.sort;
      const numeric = rows.every((row) => key(row) === "" || !Number.isNaN(Number(key(row))));
      rows.sort((first, second) => {
        const [a, b] = [key(first), key(second)];
        // Rows without a value stay at the bottom either way.
        if (a === "" || b === "") return (a === "") - (b === "");
        const order = numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true });
        return ascending ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}

// Curves: the values of every method at the step under the pointer.
const nearest = (steps, step) => {
  let best = 0;
  for (let i = 1; i < steps.length; i++) {
    if (Math.abs(steps[i] - step) < Math.abs(steps[best] - step)) best = i;
  }
  return best;
};
const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
const inside = (area, x, y) =>
  x > area.left - 0.01 && x < area.right + 0.01 && y > area.top && y < area.bottom;
const describe = (area, step) => {
  const text = (value) =>
    (area.digits === null ? String(Number(value.toPrecision(3))) : value.toFixed(area.digits)).replace("-", "−");
  const first = document.createElement("div");
  first.textContent = `${step.toLocaleString("en").replaceAll(",", "\u202f")} ${area.unit}`;
  const lines = area.series.map((series) => {
    const at = nearest(series.steps, step);
    const line = document.createElement("div");
    const dot = document.createElement("i");
    dot.style.background = series.colour;
    const seeds = series.single.filter((values) => at < values.length).map((values) => text(values[at]));
    const band = series.low ? ` [${text(series.low[at])}, ${text(series.high[at])}]` : "";
    const single = seeds.length ? ` (seeds: ${seeds.join("; ")})` : "";
    line.append(dot, `${series.label}: ${text(series.values[at])}${band}${single}`);
    return line;
  });
  return [first, ...lines];
};
for (const box of document.querySelectorAll(".drawing-box:has(.cursor)")) {
  const drawing = box.querySelector("svg");
  const [cursor, tooltip] = [box.querySelector(".cursor"), box.querySelector(".tooltip")];
  const areas = JSON.parse(box.querySelector("script").textContent);
  const hide = () => {
    tooltip.hidden = cursor.hidden = true;
  };
  const show = (event) => {
    const frame = drawing.getBoundingClientRect();
    const [x, y] = [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
    const area = areas.find((one) => inside(one, x, y));
    if (area === undefined) return hide();
    const share = clamp((x - area.left) / (area.right - area.left), 0, 1);
    const longest = area.series.reduce((a, b) => (a.steps.at(-1) >= b.steps.at(-1) ? a : b));
    const step = longest.steps[nearest(longest.steps, share * area.longest)];
    const at = (area.left + (step / area.longest) * (area.right - area.left)) * frame.width;
    cursor.style.left = `${at}px`;
    cursor.style.top = `${area.top * frame.height}px`;
    cursor.style.height = `${(area.bottom - area.top) * frame.height}px`;
    tooltip.replaceChildren(...describe(area, step));
    tooltip.hidden = cursor.hidden = false;
    const [width, height] = [tooltip.offsetWidth, tooltip.offsetHeight];
    const left = at + 12 + width > frame.width ? at - 12 - width : at + 12;
    tooltip.style.left = `${clamp(left, 0, frame.width - width)}px`;
    const middle = ((area.top + area.bottom) / 2) * frame.height;
    tooltip.style.top = `${clamp(middle - height / 2, 0, frame.height - height)}px`;
  };
  drawing.addEventListener("pointermove", show);
  drawing.addEventListener("pointerdown", show);
  drawing.addEventListener("pointerleave", hide);
}
