(() => {
  "use strict";
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const read = (figure, kind) => JSON.parse(figure.querySelector("script." + kind).textContent);

  const colours = () => {
    const style = getComputedStyle(root);
    const ink = style.getPropertyValue("--ink").trim();
    const line = style.getPropertyValue("--line").trim();
    return {
      background: "transparent", font: "system-ui, sans-serif",
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line,
        labelFontSize: 12, titleFontSize: 12, labelFlush: false },
      axisX: { tickCount: window.innerWidth < 600 ? 4 : 8 },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, symbolOpacity: 1,
        columns: window.innerWidth < 600 ? 1 : 3 }, view: { stroke: "transparent" },
    };
  };

  const draw = async (figure) => {
    if (!window.vegaEmbed) return;
    const spec = read(figure, "chart-of");
    spec.datasets = { ...(spec.datasets || {}), rows: read(figure, "rows-of") };
    spec.description = figure.querySelector("h3").textContent;
    spec.config = { ...(spec.config || {}), ...colours() };
    const options = { actions: false, renderer: "svg", tooltip: { theme: dark() ? "dark" : "light" } };
    const made = await window.vegaEmbed(figure.querySelector(".chart"), spec, options);
    const picture = figure.querySelector(".chart svg");
    if (picture) {
      picture.setAttribute("role", "img");
      picture.setAttribute("aria-label", spec.description);
    }
    figure.view = made.view;
  };
  const drawAll = () => Promise.all([...document.querySelectorAll("figure")].map(draw));

  const quoted = (value) => {
    if (value === null || value === undefined) return "";
    let text = typeof value === "object" ? JSON.stringify(value) : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const save = (figure) => {
    const rows = read(figure, "rows-of");
    const names = [...new Set(rows.flatMap(Object.keys))];
    const lines = [names, ...rows.map((row) => names.map((key) => row[key]))];
    const text = lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = figure.id + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  const key = (cell) => {
    if (cell.dataset.sort === undefined) return cell.textContent;
    return cell.dataset.sort === "" ? -Infinity : Number(cell.dataset.sort);
  };
  const sort = (heading) => {
    const body = heading.closest("table").tBodies[0];
    const place = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of heading.parentNode.children) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (a, b) => {
      const [x, y] = [key(a.cells[place]), key(b.cells[place])];
      const rise = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -rise : rise;
    };
    body.append(...[...body.rows].sort(order));
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.id === "theme") {
      root.dataset.theme = dark() ? "light" : "dark";
      drawAll();
    } else if (button.classList.contains("csv")) {
      save(button.closest("figure"));
    } else if (button.closest("th")) {
      sort(button.closest("th"));
    }
  });
  system.addEventListener("change", drawAll);
  drawAll().then(() => { root.dataset.ready = "yes"; });
})();
