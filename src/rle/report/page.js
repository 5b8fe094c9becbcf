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
for (const box of document.querySelectorAll(".chart-box")) {
  const chart = box.querySelector("svg");
  const tooltip = box.querySelector(".tooltip");
  const cursor = chart.querySelector(".cursor");
  const data = JSON.parse(box.querySelector("script").textContent);
  const text = (value) => value.toFixed(data.digits).replace("-", "−");
  const show = (event) => {
    const frame = chart.getBoundingClientRect();
    const pointer = ((event.clientX - frame.left) / frame.width) * data.width;
    const share = Math.min(1, Math.max(0, (pointer - data.left) / (data.right - data.left)));
    const longest = data.series.reduce((a, b) => (a.steps.at(-1) >= b.steps.at(-1) ? a : b));
    const step = longest.steps[nearest(longest.steps, share * data.longest)];
    const x = data.left + (step / data.longest) * (data.right - data.left);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    const lines = [document.createElement("div")];
    lines[0].textContent = `${step.toLocaleString("en").replaceAll(",", "\u202f")} ${data.unit}`;
    for (const series of data.series) {
      const at = nearest(series.steps, step);
      const line = document.createElement("div");
      const dot = document.createElement("i");
      dot.style.background = series.colour;
      const band = series.low ? ` [${text(series.low[at])}, ${text(series.high[at])}]` : "";
      line.append(dot, `${series.label}: ${text(series.values[at])}${band}`);
      lines.push(line);
    }
    tooltip.replaceChildren(...lines);
    tooltip.hidden = false;
    const at = (x / data.width) * frame.width;
    const left = at + 12 + tooltip.offsetWidth > frame.width ? at - 12 - tooltip.offsetWidth : at + 12;
    tooltip.style.left = `${Math.max(0, Math.min(left, frame.width - tooltip.offsetWidth))}px`;
    tooltip.style.top = `${Math.max(0, frame.height * 0.5 - tooltip.offsetHeight / 2)}px`;
  };
  const hide = () => {
    tooltip.hidden = true;
    cursor.setAttribute("visibility", "hidden");
  };
  chart.addEventListener("pointermove", show);
  chart.addEventListener("pointerdown", show);
  chart.addEventListener("pointerleave", hide);
}
