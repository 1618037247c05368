"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const text = (index) => data.texts[index];
  const panel = byId("panel");
  const table = document.querySelector("table");
  const buttons = [...table.querySelectorAll("button.mark")];
  const lines = [...table.tBodies[0].rows];
  const numberOf = (button) => Number(button.dataset.number);
  const named = (hash) => buttons.find((button) => hash === `#cell-${button.dataset.number}`);
  const BAD = new Set(data.bad);
  let opened = null;
  let current = buttons.find((button) => BAD.has(data.cells[numberOf(button)].status)) || buttons[0];

  // All content is text: nothing of a run is ever read as markup.
  function make(tag, content, name) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    for (const each of [content].flat()) {
      if (each !== null && each !== undefined) element.append(each);
    }
    return element;
  }

  function entries(pairs) {
    const list = make("dl", null);
    for (const [label, value] of pairs) {
      if (value === "" || value === null || value === undefined) continue;
      list.append(make("dt", label), make("dd", value));
    }
    return list;
  }

  function folded(title, content, open) {
    const element = make("details", [make("summary", title), make("pre", content)]);
    element.open = open;
    return element;
  }

  function place(line) {
    const parts = [line.place];
    if (line.text.trim()) parts.push(make("code", `${line.number} | ${line.text}`, "source"));
    return parts;
  }

  function finding(each) {
    const parts = [make("h3", each.kind), make("p", each.title, "title"), entries([
      ["known", each.known],
      ["sample", each.sample],
      ["expected", each.expected],
      ["got", each.got],
      ...each.places.map(([label, line]) => [label, place(line)]),
      ["fix", each.fix],
      ["repro", each.repro],
    ])];
    if (each.script) parts.push(folded("lines that show it", each.script, true));
    if (each.trace) parts.push(folded("traceback", each.trace, false));
    return make("div", parts, "finding");
  }

  function show(number) {
    const cell = data.cells[number];
    const operator = data.operators[cell.operator];
    const row = data.rows[cell.row];
    const close = make("button", "close");
    close.addEventListener("click", shut);
    const next = make("button", "next failure");
    next.addEventListener("click", nextFailure);
    const title = make("div", [
      make("h3", `${operator.name} · ${row.name} [${cell.column}]`),
      make("div", [make("span", data.marks[cell.status].mark, `mark ${data.marks[cell.status].css}`), ` ${cell.status}`]),
    ]);
    const parts = [
      make("div", [title, make("div", [next, close], "buttons")], "top"),
      make("p", `${row.name}: ${row.title}`, "soft"),
      entries([
        ["operator", operator.schema],
        ["declared", operator.place],
        ["reason", text(cell.reason)],
        ["time", `${cell.seconds.toFixed(3)} s, ${cell.calls} calls of the operator`],
      ]),
    ];
    for (const each of cell.findings) parts.push(finding(each));
    if (cell.samples.length) {
      const list = make("ul", cell.samples.map((index) => make("li", text(index))));
      parts.push(make("section", [make("h3", "samples that were run"), list]));
    }
    for (const [name, index] of cell.details) parts.push(folded(text(name), text(index), cell.details.length === 1));
    panel.replaceChildren(...parts);
    panel.scrollTop = 0;
    panel.hidden = false;
    document.body.classList.add("opened");
    if (opened) opened.setAttribute("aria-expanded", "false");
    opened = named(`#cell-${number}`);
    opened.setAttribute("aria-expanded", "true");
    history.replaceState(null, "", `#cell-${number}`);
  }

  function shut() {
    if (!opened) return;
    opened.setAttribute("aria-expanded", "false");
    panel.hidden = true;
    document.body.classList.remove("opened");
    history.replaceState(null, "", location.pathname + location.search);
    const from = opened;
    opened = null;
    from.focus();
  }

  function go(button, opens) {
    current.tabIndex = -1;
    current = button;
    current.tabIndex = 0;
    if (opens || opened) show(numberOf(button));
    current.focus({ preventScroll: true });
    reveal(button);
  }

  // Sticky headers cover what scrollIntoView takes for visible.
  function reveal(button) {
    const frame = button.closest(".frame");
    const box = button.getBoundingClientRect();
    const bounds = frame.getBoundingClientRect();
    const left = bounds.left + lines[0].cells[0].offsetWidth;
    const top = Math.max(bounds.top + table.tHead.offsetHeight, 0);
    if (box.left < left) frame.scrollLeft -= left - box.left;
    if (box.right > bounds.right) frame.scrollLeft += box.right - bounds.right + 8;
    if (box.top < top) frame.scrollTop -= top - box.top;
    if (box.bottom > bounds.bottom) frame.scrollTop += box.bottom - bounds.bottom + 8;
    button.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  const isShown = (button) => !button.closest("tr").hidden && !button.classList.contains("hidden");

  function nextFailure() {
    const bad = buttons.filter((button) => BAD.has(data.cells[numberOf(button)].status) && isShown(button));
    if (!bad.length) return;
    const at = buttons.indexOf(current);
    go((opened || document.activeElement === current ? bad.find((button) => buttons.indexOf(button) > at) : null) || bad[0], true);
  }

  function moved(key) {
    const cell = current.closest("td");
    const row = cell.parentElement;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const step = key === "ArrowLeft" ? "previousElementSibling" : "nextElementSibling";
      for (let next = cell[step]; next; next = next[step]) {
        const found = next.querySelector("button.mark");
        if (found) return found;
      }
      return null;
    }
    const step = key === "ArrowUp" ? "previousElementSibling" : "nextElementSibling";
    for (let next = row[step]; next; next = next[step]) {
      const found = next.hidden ? null : next.cells[cell.cellIndex].querySelector("button.mark");
      if (found) return found;
    }
    return null;
  }

  const chips = [...document.querySelectorAll(".chip")];
  const said = data.cells.map((cell) => [
    data.operators[cell.operator].name, data.rows[cell.row].name, cell.column, text(cell.reason),
    ...cell.findings.flatMap((each) => [each.kind, each.title, each.expected, each.got, each.fix, each.sample]),
  ].join(" ").toLowerCase());

  function filter() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.status));
    const isWanted = (number) => wanted.has(data.cells[number].status) && words.every((word) => said[number].includes(word));
    const isAll = !words.length && wanted.size === chips.length;
    let operators = 0;
    let cells = 0;
    for (const line of lines) {
      let found = 0;
      for (const button of line.querySelectorAll("button.mark")) {
        const hit = isWanted(numberOf(button));
        button.classList.toggle("hidden", !hit);
        found += hit;
      }
      line.hidden = !isAll && !found;
      operators += !line.hidden;
      cells += found;
    }
    for (const article of document.querySelectorAll("article")) article.hidden = !isWanted(Number(article.dataset.cell));
    byId("count").textContent = isAll ? "" : `${cells} cells, ${operators} operators`;
  }

  table.addEventListener("click", (event) => {
    const button = event.target.closest("button.mark");
    if (!button) return;
    if (button === opened) shut();
    else go(button, true);
  });
  for (const chip of chips) {
    chip.addEventListener("click", (event) => {
      const pressed = (each) => each.getAttribute("aria-pressed") === "true";
      // A first click shows what it names alone, the last one all again; with Ctrl it adds or removes.
      if (event.ctrlKey || event.metaKey) chip.setAttribute("aria-pressed", String(!pressed(chip)));
      else {
        const alone = pressed(chip) && chips.filter(pressed).length === 1;
        for (const each of chips) each.setAttribute("aria-pressed", String(alone || each === chip));
      }
      filter();
    });
  }
  byId("filter").addEventListener("input", filter);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (opened) shut();
      else if (event.target === byId("filter")) event.target.blur();
      return;
    }
    if (event.target instanceof HTMLInputElement || !current) return;
    if (event.key === "/") byId("filter").focus();
    else if (event.key === "n") nextFailure();
    else if (event.key.startsWith("Arrow") && (document.activeElement === current || document.activeElement === document.body)) {
      const next = moved(event.key);
      if (next) go(next, false);
    } else return;
    event.preventDefault();
  });
  function openNamed() {
    const button = named(location.hash);
    if (button) go(button, true);
  }
  window.addEventListener("hashchange", openNamed);
  document.body.classList.add("running");
  if (current) current.tabIndex = 0;
  openNamed();
})();
