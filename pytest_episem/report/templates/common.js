"use strict";
// What both browsers of the page, that of trials and that of workflow cases, are made of. All text comes from packed data
// and reaches the page as text nodes only.
const episem = (() => {
  const HIDDEN_CHARACTERS =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  const visible = (text) =>
    String(text).replace(HIDDEN_CHARACTERS, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, visible(value));
    }
    append(node, children);
    return node;
  }

  function append(node, children) {
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false || child === "") continue;
      node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
    }
  }

  // Puts children in the place of whatever a node holds; what is nothing is left out.
  function fill(node, ...children) {
    node.replaceChildren();
    append(node, children);
  }

  const bdi = (text) => el("bdi", null, text);
  const code = (text) => el("code", null, text);
  const count = (number) => number.toLocaleString("en-US");
  const plural = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;

  async function unpack(id) {
    const text = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function decoded(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }

  const TONES = ["good", "bad", "warn", "none"];
  const SIGNS = { good: "✓", bad: "✗", warn: "!", none: "—" };
  const badge = (tone, text) => el("span", { class: `tone ${tone}` }, el("span", { "aria-hidden": "true" }, `${SIGNS[tone]} `), text);

  const title = document.title;
  const browsers = ["browser", "cases-browser"].filter((id) => document.getElementById(id));
  let ready = 0;

  const own = (view, hash) => hash.startsWith(`#${view.one}`);
  const foreign = (view, hash) => /^#(trial|case)/.test(hash) && !own(view, hash);

  function filter(view, query) {
    for (const key of view.names) view.filters[key] = query.get(key) || "";
    view.draw();
    view.search();
  }

  function change(view, name, value) {
    view.filters[name] = value;
    const chosen = view.names.filter((key) => view.filters[key]).map((key) => [key, view.filters[key]]);
    const query = new URLSearchParams(chosen);
    history.replaceState(null, "", query.size ? `#${view.list}?${query}` : `#${view.list}`);
    view.search();
  }

  function clear(view) {
    history.replaceState(null, "", `#${view.list}`);
    filter(view, new URLSearchParams());
  }

  // Does what an address says: `#trials?world=safe` filters a browser's list, `#trial/…` opens one of it.
  function route(view) {
    const hash = location.hash;
    const row = hash.startsWith(`#${view.one}/`) ? view.find(decoded(hash.slice(view.one.length + 2))) : undefined;
    if (row !== undefined) return view.open(row);
    const returning = view.shown >= 0;
    view.shown = -1;
    if (foreign(view, hash)) return undefined;
    if (returning || own(view, hash)) show("report");
    if (hash.startsWith(`#${view.list}`)) {
      if (hash.includes("?")) filter(view, new URLSearchParams(hash.slice(hash.indexOf("?") + 1)));
      document.getElementById(view.list).scrollIntoView({ behavior: "instant" });
    } else if (hash.length > 1 && returning) {
      document.getElementById(decoded(hash.slice(1)))?.scrollIntoView();
    }
    return undefined;
  }

  // A key of no browser's own page is for the first one.
  function keys(view, event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const hash = location.hash;
    if (view.shown < 0 && (foreign(view, hash) || (!own(view, hash) && view.home !== browsers[0]))) return;
    if (event.key === "/") {
      event.preventDefault();
      if (view.shown >= 0) location.hash = `#${view.list}`;
      setTimeout(() => document.getElementById(view.field).focus(), 0);
    } else if (view.shown >= 0 && event.key === "Escape") {
      location.hash = `#${view.list}`;
    } else if (view.shown >= 0 && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      if (event.target.closest(".scroll, .columns")) return;
      document.querySelector(`#${view.one} .crumbs a[rel=${event.key === "ArrowLeft" ? "prev" : "next"}]`)?.click();
    }
  }

  // Starts a browser. `view` names one thing and the list, and the ids of its home, data and search field; `shown` is
  // the row that is open or −1, `names` those of its filters. It can take its data, draw its form, search by its filters,
  // find a row by its id and open one.
  async function browse(view) {
    if (!("DecompressionStream" in window)) {
      document.getElementById(view.home).textContent = "This browser is too old to unpack the transcripts.";
      return;
    }
    view.take(await unpack(view.data));
    filter(view, new URLSearchParams());
    route(view);
    window.addEventListener("hashchange", () => route(view));
    document.addEventListener("keydown", (event) => keys(view, event));
    ready += 1;
    if (ready === browsers.length) document.documentElement.dataset.ready = "yes";
  }

  // The report, or the page of one trial or of one case, and nothing beside it.
  function show(id) {
    for (const name of ["report", "trial", "case"]) {
      const node = document.getElementById(name);
      if (node) node.hidden = name !== id;
    }
    if (id === "report") document.title = title;
  }

  // Long tables and the numbers of figures are folded on screen and whole on paper.
  window.addEventListener("beforeprint", () => {
    for (const node of document.querySelectorAll("#report details:not([open])")) {
      if (node.closest("figure") && node.querySelectorAll("tr").length > 25) continue;
      node.dataset.folded = "yes";
      node.open = true;
    }
  });
  window.addEventListener("afterprint", () => {
    for (const node of document.querySelectorAll("details[data-folded]")) node.open = false;
  });

  return { el, fill, bdi, code, count, plural, unpack, badge, TONES, SIGNS, show, change, clear, browse };
})();
