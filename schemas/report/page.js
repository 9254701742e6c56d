"use strict";
// Tables that sort by a click on a column's head and have a filter; the section in view is marked in the contents.
// Without this script the page shows the same rows in the order of the report.
(() => {
  const FIRST = 20;  // rows above the fold, as in page.html
  const UNITS = { b: 1, bytes: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 };
  const NUMBER = /^([-+]?[\d,]*\.?\d+)\s*([a-z%]*)/i;
  const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const valueOf = (text) => {
    const found = NUMBER.exec(text);
    return found ? Number(found[1].replaceAll(",", "")) * (UNITS[found[2].toLowerCase()] ?? 1) : null;
  };

  // Numbers before words, sizes by their bytes, everything else as a dictionary does.
  const compare = (left, right) => {
    const [a, b] = [valueOf(left), valueOf(right)];
    if (a === null || b === null) return (a === null) - (b === null) || words.compare(left, right);
    return a - b || words.compare(left, right);
  };

  const textAt = (row, column) => row.cells[column].textContent.trim();

  const enliven = (figure) => {
    const own = (selector) => [...figure.querySelectorAll(selector)].filter((part) => part.closest("figure") === figure);
    const tables = own("table");
    const rest = own("details.rest")[0];
    const bodies = tables.map((table) => table.tBodies[0]);
    const all = bodies.flatMap((body) => [...body.rows]);
    if (all.length < 2) return;
    let shown = all;
    let order = { column: -1, down: false };
    let status = null;

    const arrange = (wanted) => {
      shown = all.filter((row) => row.textContent.toLowerCase().includes(wanted));
      if (order.column >= 0) {
        const sign = order.down ? -1 : 1;
        shown = [...shown].sort((a, b) => sign * compare(textAt(a, order.column), textAt(b, order.column)));
      }
      bodies[0].replaceChildren(...shown.slice(0, rest ? FIRST : shown.length));
      if (rest) {
        bodies[1].replaceChildren(...shown.slice(FIRST));
        rest.hidden = shown.length <= FIRST;
        rest.querySelector("summary").textContent = `${Math.max(0, shown.length - FIRST)} more rows`;
      }
      if (status) status.textContent = wanted ? `${shown.length} of ${all.length} rows` : "";
    };

    let filter = null;
    const again = () => arrange(filter ? filter.value.trim().toLowerCase() : "");
    tables.forEach((table) => [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        order = { column, down: order.column === column && !order.down };
        tables.forEach((other) => [...other.tHead.rows[0].cells].forEach((cell, place) => {
          if (place === column) cell.setAttribute("aria-sort", order.down ? "descending" : "ascending");
          else cell.removeAttribute("aria-sort");
        }));
        again();
      });
    }));
    if (all.length > 10) {
      filter = document.createElement("input");
      filter.type = "search";
      filter.placeholder = "filter rows";
      filter.setAttribute("aria-label", `Filter the rows of: ${figure.querySelector("figcaption").textContent}`);
      status = document.createElement("output");
      filter.addEventListener("input", again);
      const line = document.createElement("p");
      line.className = "filter";
      line.append(filter, status);
      figure.querySelector("figcaption").after(line);
    }
  };
  document.querySelectorAll("figure.rows").forEach(enliven);

  // What is folded on the screen is printed, and folded again afterwards.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));

  const links = new Map([...document.querySelectorAll("nav.contents li a")].map((link) => [link.hash.slice(1), link]));
  const mark = () => {
    const above = [...document.querySelectorAll("main section")].filter((part) => part.getBoundingClientRect().top < innerHeight / 3);
    const current = above.length ? above[above.length - 1].id : "";
    links.forEach((link, id) => {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
})();
