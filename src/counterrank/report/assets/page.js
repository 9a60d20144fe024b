(() => {
  "use strict";
  const root = document.documentElement;
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  /* the selector shows one of the tables that the page holds */
  const pick = (changed) => {
    const section = changed.closest("section");
    const picks = all(".pick", section);
    const boards = all(".board", section);
    const wanted = picks.map((one) => one.value);
    const place = picks.indexOf(changed);
    const parts = (board) => board.dataset.key.split("|");
    const fit = (board) => parts(board).filter((part, n) => part === wanted[n]).length;
    const able = boards.filter((board) => parts(board)[place] === wanted[place]);
    const best = able.sort((a, b) => fit(b) - fit(a))[0];
    for (const board of boards) board.hidden = board !== best;
    picks.forEach((one, n) => { one.value = parts(best)[n]; });
    const units = section.querySelector("fieldset");
    if (units) units.hidden = !best.querySelector(".rel");
    section.querySelector("[aria-live]").textContent = best.querySelector("caption").textContent;
  };

  const quoted = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? "'" + text : text;
    return /[",\n\r]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  const told = (cell) => {
    if (cell.dataset.v !== undefined) return cell.dataset.v;
    const name = cell.querySelector("[title]");
    return name ? name.title : cell.textContent;
  };
  const save = (id) => {
    const lines = [...document.getElementById(id).rows].map((row) => [...row.cells].map(told));
    const text = lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = id + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  const key = (cell) => {
    if (cell.dataset.v === undefined) return cell.textContent;
    return cell.dataset.v === "" ? -Infinity : Number(cell.dataset.v);
  };
  const sort = (heading) => {
    const body = heading.closest("table").tBodies[0];
    const place = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of heading.parentNode.children) {
      if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    }
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (a, b) => {
      const [x, y] = [key(a.cells[place]), key(b.cells[place])];
      const rise = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -rise : rise;
    };
    body.append(...[...body.rows].sort(order));
  };

  const detail = (button) => {
    const table = button.closest("table");
    for (const other of all("button", table)) other.setAttribute("aria-pressed", other === button);
    table.closest("div").nextElementSibling.textContent = button.dataset.detail;
  };
  /* rows of an index that hold every word that was typed and what was chosen */
  const filter = () => {
    const words = document.getElementById("search").value.toLowerCase();
    const chosen = all("select.narrow").map((one) => one.value);
    const rows = all("#index tbody tr");
    for (const row of rows) {
      const own = row.dataset.of.split("|");
      const fits = chosen.every((value) => !value || own.includes(value));
      row.hidden = !(fits && row.textContent.toLowerCase().includes(words));
    }
    const left = rows.filter((row) => !row.hidden).length;
    document.getElementById("count").textContent = `${left} of ${rows.length} results`;
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.id === "theme") root.dataset.theme = dark() ? "light" : "dark";
    else if (button.classList.contains("csv")) save(button.dataset.for);
    else if (button.classList.contains("all")) {
      all(".lb", button.closest("section")).forEach((table) => table.classList.add("every"));
      button.hidden = true;
    } else if (button.dataset.detail) detail(button);
    else if (button.classList.contains("so")) sort(button.closest("th"));
  });
  document.addEventListener("change", (event) => {
    const one = event.target;
    if (one.classList.contains("pick")) pick(one);
    else if (one.type === "radio") all(".board", one.closest("article")).forEach((b) => b.classList.toggle("absolute", one.value === "abs"));
    else if (one.classList.contains("narrow")) filter();
  });
  document.addEventListener("input", (event) => { if (event.target.id === "search") filter(); });
  window.addEventListener("beforeprint", () => all("details:not(.in)").forEach((one) => { one.open = true; }));
  root.dataset.ready = "yes";
})();
