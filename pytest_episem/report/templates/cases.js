// The browser of workflow cases.
(() => {
  const { el, fill, bdi, count, plural, unpack, badge, TONES, show, change, clear, browse } = episem;
  const PAGE = 25;
  const NUMBERS = ["fee", "actions", "time"];
  const FILTERS = ["q", "run", "domain", "template", "ending", "status"];
  const filters = {};
  const blocks = new Map();
  const byId = new Map();
  let index = null;
  let matches = [];
  let page = 0;

  const at = (name, row) => index.columns[name][row];
  const word = (name, row) => index.lists[name][at(name, row)];
  const template = (row) => index.templates[at("template", row)];
  const tone = (row) => TONES[at("tone", row)];
  const caseId = (row) => `${template(row)}/${word("case", row)}`;
  const run = (row) => index.runs[at("run", row)];
  const link = (row) => `#case/${at("run", row)}/${encodeURIComponent(caseId(row)).replaceAll("%2F", "/")}`;
  // What a refuted record says of itself counts for nothing.
  const stands = (row) => word("ending", row) !== "record refuted";
  const number = (name, row) => (stands(row) ? count(at(name, row)) : "—");
  const goal = (row) => (!stands(row) ? "—" : at("goal", row) ? "reached" : el("span", { class: "dim" }, "missed"));
  const mark = (row) => badge(tone(row), bdi(word("ending", row)));

  function prepare() {
    const places = new Map();
    index.position = new Array(index.count);
    for (let row = 0; row < index.count; row++) {
      const key = `${at("run", row)} ${at("template", row)}`;
      const place = places.get(key) || 0;
      index.position[row] = place;
      places.set(key, place + 1);
      byId.set(`${at("run", row)}/${caseId(row)}`, row);
    }
  }

  async function details(row) {
    const place = at("template", row);
    if (!blocks.has(place)) blocks.set(place, unpack(`cases-block-${place}`));
    const found = await blocks.get(place);
    return { record: found.cases[at("run", row)][index.position[row]], known: found.template[run(row).bank] || null };
  }

  // The list -------------------------------------------------------------------------------------------------------

  function search() {
    const f = filters;
    const words = (f.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    matches = [];
    for (let row = 0; row < index.count; row++) {
      if (f.run && at("run", row) !== Number(f.run)) continue;
      if (f.domain && !template(row).startsWith(`${f.domain}/`)) continue;
      if (f.template && template(row) !== f.template) continue;
      if (f.ending && word("ending", row) !== f.ending) continue;
      if (f.status === "against" && !word("fault", row)) continue;
      if (f.status === "open" && tone(row) !== "warn") continue;
      if (f.status === "fine" && tone(row) !== "good") continue;
      const text = `${caseId(row)} ${word("ending", row)} ${word("fault", row)} ${run(row).name}`.toLowerCase();
      if (words.every((each) => text.includes(each))) matches.push(row);
    }
    page = 0;
    list();
  }

  function select(name, label, options) {
    if (filters[name] && !options.some(([value]) => value === filters[name])) filters[name] = "";
    const box = el("select", { name: `case-${name}`, onchange: (event) => change(view, name, event.target.value) },
      el("option", { value: "" }, "any"),
      options.map(([value, text]) => el("option", { value, selected: filters[name] === value }, text)));
    return el("label", null, el("span", null, label), box);
  }

  function browser() {
    const same = (names) => [...new Set(names)].map((name) => [name, name]);
    const form = el("form", { role: "search", "aria-label": "Filter cases", onsubmit: (e) => e.preventDefault() },
      el("label", { class: "wide" }, el("span", null, "Search"),
        el("input", {
          type: "search", id: "case-search", value: filters.q || "", autocomplete: "off", spellcheck: "false",
          placeholder: "workflow, case, ending …", oninput: (e) => change(view, "q", e.target.value),
        })),
      select("status", "Status", [["against", "counts against it"], ["open", "handed off or unknown"], ["fine", "fine"]]),
      index.runs.length > 1 && select("run", "Agent", index.runs.map((each, n) => [String(n), each.name])),
      select("domain", "Domain", same(index.templates.map((name) => name.split("/")[0]))),
      select("template", "Workflow", same(index.templates)),
      select("ending", "Ending", same([...index.lists.ending].sort())),
      el("button", { type: "button", onclick: () => clear(view) }, "Clear"));
    fill(
      document.getElementById("cases-browser"), form, el("p", { id: "cases-found", role: "status" }), el("div", { id: "cases-list" }));
  }

  function list() {
    const several = index.runs.length > 1;
    const rows = matches.slice(page * PAGE, (page + 1) * PAGE);
    document.getElementById("cases-found").textContent = `${count(matches.length)} of ${plural(index.count, "case")}`;
    const heads = ["Workflow", "Case", "Ending", "Goal", several && "Agent", "Fee", "Actions", "Time"].filter(Boolean);
    const table = el("table", { class: "trials" }, el("caption", { class: "quiet" }, "Cases"),
      el("thead", null, el("tr", null, heads.map((head) => el("th", { scope: "col", class: NUMBERS.includes(head.toLowerCase()) ? "num" : "" }, head)))),
      el("tbody", null, rows.map((row) => el("tr", null,
        el("th", { scope: "row" }, el("a", { href: link(row) }, bdi(template(row)))),
        el("td", null, bdi(word("case", row))),
        el("td", null, mark(row)),
        el("td", null, goal(row)),
        several && el("td", null, bdi(run(row).name)),
        NUMBERS.map((name) => el("td", { class: "num" }, number(name, row)))))));
    const pages = Math.max(1, Math.ceil(matches.length / PAGE));
    const turn = (step, text) => el("button", {
      type: "button", disabled: page + step < 0 || page + step >= pages,
      onclick: () => { page += step; list(); document.getElementById("cases-found").scrollIntoView(); },
    }, text);
    fill(
      document.getElementById("cases-list"),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cases" }, table),
      el("nav", { class: "pages", "aria-label": "Pages of cases" },
        turn(-1, "Previous"), el("span", null, `page ${page + 1} of ${pages}`), turn(1, "Next")));
  }

  // The page of one case -------------------------------------------------------------------------------------------

  const line = (time, who) => [el("span", { class: "turn" }, `t${time}`), " ", el("span", { class: "who" }, who), " "];

  function timeline(record, known) {
    const before = known ? known.history.map((entry) => el("li", { class: "step other" }, line(entry.at, "before"), bdi(entry.text))) : [];
    const steps = record.steps.map((step) => {
      const sends = step.kind === "attempt" || step.kind === "compensate";
      const ends = step.kind === "finish" || step.kind === "hand_off" || step.kind === "stop";
      const classes = step.refused !== null ? "invalid" : step.harm ? "commit" : step.kind === "query" ? "audit" : ends ? "end" : "";
      return el("li", { class: `step ${classes}` },
        line(step.time, step.refused !== null ? "proposes" : ends ? "ends with" : sends ? "sends" : "does"),
        el("span", { class: "signature" }, bdi(step.text)),
        step.request ? [" ", el("span", { class: "note" }, `request ${step.request}`)] : null,
        step.fee ? [" ", el("span", { class: "note" }, `fee ${step.fee}`)] : null,
        step.answer ? el("pre", { class: "observation" }, step.answer) : null,
        step.refused !== null ? el("p", { class: "why warn" }, step.refused || "refused") : null,
        step.harm ? el("p", { class: "why bad" }, "Not admissible: ", step.harm) : null);
    });
    return el("ol", { class: "transcript" }, before, steps.length ? steps : el("li", { class: "step other" }, "nothing was proposed"));
  }

  const command = (text) => el("pre", { class: "command" }, el("code", null, bdi(text)));

  function items(texts) {
    return el("ul", { class: "plain" }, texts.map((text) => el("li", null, bdi(text))));
  }

  function ledger(record) {
    if (!record.ledger.length) return el("p", null, "No effect ever took place.");
    const flags = (entry) => [
      entry.undone !== null ? `undone at t${entry.undone}` : "", entry.authorised ? "" : "not authorised", entry.ordered ? "" : "out of order",
    ].filter(Boolean).join(", ");
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Effects" },
      el("table", null, el("caption", null, "Effects that took place"),
        el("thead", null, el("tr", null, ["At", "Of", "By request", ""].map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", null, record.ledger.map((entry) => el("tr", null,
          el("th", { scope: "row" }, `t${entry.at}`), el("td", null, bdi(entry.obligation)), el("td", null, bdi(entry.request)),
          el("td", { class: "why bad" }, flags(entry)))))));
  }

  function verdict(record) {
    const v = record.verdict;
    const claims = { true: " What it claimed is so.", false: " What it claimed is not so.", null: "" };
    return [
      el("p", null, `Goal ${v.goal ? "reached" : "missed"} at the deadline.${claims[v.claim_holds]}`),
      v.certifiable ? el("p", null, "A finish would have been certified where it ended.") : null,
      record.violations.length ? items(record.violations.map((one) => `${one.new ? "new" : "inherited"} violation: ${one.text}`)) : el("p", null, "No violation."),
    ];
  }

  function everybody(known) {
    return el("details", { open: true }, el("summary", null, "What everybody could know"),
      el("p", null, bdi(known.title)),
      el("h3", null, "Approved"), items(known.approved),
      el("h3", null, `Not known: ${plural(known.fates, "fate")}, ${plural(known.worlds, "world")}`), items(known.unknown),
      el("p", { class: "dim" }, `Clock from t${known.start}, deadline t${known.deadline}; hand-off to `, bdi(known.handoff || "nobody"), "."));
  }

  function others(row) {
    const same = index.runs.map((_, n) => byId.get(`${n}/${caseId(row)}`)).filter((other) => other !== undefined);
    if (same.length < 2) return null;
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The same case, other agents" },
      el("table", { class: "matrix" }, el("caption", null, "The same hidden truth, every agent"),
        el("thead", null, el("tr", null, ["Agent", "Ending", "Fee", "Actions", "Time"].map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", null, same.map((other) => el("tr", null,
          el("th", { scope: "row" }, bdi(run(other).name)),
          el("td", { class: other === row ? "current" : "" }, el("a", { href: link(other), "aria-current": other === row ? "true" : null }, mark(other))),
          NUMBERS.map((name) => el("td", { class: "num" }, number(name, other))))))));
  }

  async function showCase(row) {
    view.shown = row;
    const { record, known } = await details(row);
    if (view.shown !== row) return;
    const place = matches.indexOf(row);
    const neighbour = (step, text) => place >= 0 && matches[place + step] !== undefined
      ? el("a", { href: link(matches[place + step]), rel: step < 0 ? "prev" : "next", class: "button" }, text) : null;
    const chip = (name, value) => el("div", null, el("dt", null, name), el("dd", null, value));
    const headline = word("fault", row) || word("ending", row);
    const parts = [
      el("nav", { class: "crumbs", "aria-label": "Case" },
        el("a", { href: "#cases", class: "button" }, "← All cases"), neighbour(-1, "Previous"), neighbour(1, "Next"),
        place >= 0 ? el("span", { class: "dim" }, `${count(place + 1)} of ${count(matches.length)}`) : null),
      el("h1", { id: "case-title", tabindex: "-1", class: `headline ${tone(row)}` }, bdi(headline)),
      el("p", { class: "condition" }, el("code", null, bdi(caseId(row)))),
      el("dl", { class: "chips" },
        chip("ending", mark(row)),
        chip("goal", goal(row)),
        chip("cost", stands(row) ? `fee ${count(at("fee", row))}, ${plural(at("actions", row), "action")}, ${plural(at("time", row), "instant")}` : "—"),
        chip("shield", record.shield ? "on" : "off"),
        chip("record", record.refuted.length ? "refuted" : record.replayed ? "replayed, stands" : "not replayed"),
        index.runs.length > 1 ? chip("agent", bdi(run(row).name)) : null),
      record.refuted.length ? el("div", { class: "alert" }, el("p", null, el("strong", null, "This record does not stand"), " and counts for nothing but itself."), items(record.refuted)) : null,
      others(row),
      el("div", { class: "single" },
        el("div", { class: "main" }, el("h2", null, "What was done"), timeline(record, known),
          el("section", { class: "closer", "aria-label": "Look closer" }, el("h2", null, "Look closer"),
            el("p", null, "Show what is public and what is hidden:"),
            command(`episem show ${template(row)} --case ${word("case", row)}${run(row).show}`),
            el("p", null, "Run this case again:"),
            command(`${run(row).rerun} "episem::workflows/${caseId(row)}"`))),
        el("aside", { class: "truth", "aria-label": "The truth" },
          el("h2", null, record.refuted.length ? "What the record says was so" : "The truth"), items(record.truth), ledger(record),
          el("h3", null, "Verdict"), verdict(record),
          known ? everybody(known) : el("p", { class: "alert" }, "The bank of this run is not at hand; this page holds what the record holds."))),
    ];
    fill(document.getElementById("case"), parts);
    document.title = `${headline} – EpiSEM report`;
    show("case");
    window.scrollTo({ top: 0, behavior: "instant" });
    document.getElementById("case-title").focus({ preventScroll: true });
  }

  const view = {
    one: "case", list: "cases", home: "cases-browser", data: "cases-index", field: "case-search", shown: -1,
    take(found) { index = found; prepare(); },
    names: FILTERS, filters, draw: browser, search,
    find: (id) => byId.get(id),
    open: showCase,
  };

  browse(view);
})();
