// The trial browser.
(() => {
  const { el, fill, bdi, code, count, plural, unpack, TONES, SIGNS, show, change, clear, browse } = episem;
  const WORLDS = ["unsafe", "safe"];
  const SETTINGS = ["full", "se", "re", "full_audit"];
  const SETTING_NAMES = {
    full: "full evidence", se: "suppressed (SE)", re: "recoverable (RE)", full_audit: "full, with audit source",
  };
  const ROLES = ["none", "critical", "irrelevant"];
  const PAGE = 25;
  const AUDIT = "audit";

  let index = null;
  let matches = [];
  let page = 0;
  const blocks = new Map();
  const byId = new Map();

  // Data -----------------------------------------------------------------------------------------------------------

  const jsonText = (value) => (typeof value === "string" ? value : JSON.stringify(value));

  async function block(task) {
    if (!blocks.has(task)) blocks.set(task, unpack(`block-${task}`));
    return blocks.get(task);
  }

  const at = (name, row) => index.columns[name][row];
  const word = (name, row) => index.lists[name][at(name, row)];
  const task = (row) => index.tasks[at("task", row)];
  const world = (row) => WORLDS[at("world", row)];
  const setting = (row) => SETTINGS[at("setting", row)];
  const role = (row) => ROLES[at("role", row)];
  const tone = (row) => TONES[at("tone", row)];
  const mask = (row) => (word("mask", row) ? word("mask", row).split(",") : []);

  function conditionId(row) {
    const hidden = word("mask", row) ? `[${word("mask", row)}]` : "";
    const repeat = at("repeat", row) ? `/repeat-${at("repeat", row)}` : "";
    return `${task(row)}/${world(row)}-${setting(row)}${hidden}${repeat}`;
  }

  const link = (row) => `#trial/${at("run", row)}/${encodeURIComponent(conditionId(row)).replaceAll("%2F", "/").replaceAll("%2C", ",")}`;

  function prepare() {
    const places = new Map();
    index.position = new Array(index.count);
    for (let row = 0; row < index.count; row++) {
      const key = `${at("run", row)} ${at("task", row)}`;
      const place = places.get(key) || 0;
      index.position[row] = place;
      places.set(key, place + 1);
      byId.set(`${at("run", row)}/${conditionId(row)}`, row);
    }
  }

  async function details(row) {
    const found = await block(at("task", row));
    return {
      record: found.trials[at("run", row)][index.position[row]],
      known: found.task[index.runs[at("run", row)].bank] || null,
    };
  }

  // The list -------------------------------------------------------------------------------------------------------

  const FILTERS = ["q", "run", "domain", "world", "setting", "role", "status", "verdict", "cause", "kind"];
  const filters = {};

  function tests() {
    const f = filters;
    const words = (f.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    if (f.run) found.push((r) => at("run", r) === Number(f.run));
    if (f.domain) found.push((r) => task(r).startsWith(`${f.domain}/`));
    if (f.world) found.push((r) => world(r) === f.world);
    if (f.setting) found.push((r) => setting(r) === f.setting);
    if (f.role) found.push((r) => role(r) === f.role);
    if (f.status === "failing") found.push((r) => word("fault", r) !== "");
    if (f.status === "unsafe") found.push((r) => at("unsafe", r) === 1);
    if (f.status === "error") found.push((r) => word("error", r) !== "");
    if (f.status === "passing") found.push((r) => word("fault", r) === "" && word("error", r) === "");
    if (f.verdict) found.push((r) => word("verdict", r) === f.verdict);
    if (f.cause) found.push((r) => word("cause", r) === f.cause);
    if (f.kind) found.push((r) => word("kind", r) === f.kind);
    if (words.length) {
      found.push((r) => {
        const text = `${conditionId(r)} ${word("verdict", r)} ${word("fault", r)} ${word("error", r)}`.toLowerCase();
        return words.every((each) => text.includes(each));
      });
    }
    return found;
  }

  function search() {
    const all = tests();
    matches = [];
    for (let row = 0; row < index.count; row++) if (all.every((test) => test(row))) matches.push(row);
    page = 0;
    list();
  }

  function select(name, label, options) {
    const known = options.map(([value]) => value);
    if (filters[name] && !known.includes(filters[name])) filters[name] = "";
    const box = el("select", { name, onchange: (event) => change(view, name, event.target.value) },
      el("option", { value: "" }, "any"),
      options.map(([value, text]) => el("option", { value, selected: filters[name] === value }, text)));
    return el("label", null, el("span", null, label), box);
  }

  const present = (name) => index.lists[name].filter(Boolean).sort().map((text) => [text, text]);

  function browser() {
    const home = document.getElementById("browser");
    const domains = [...new Set(index.tasks.map((name) => name.split("/")[0]))].map((name) => [name, name]);
    const has = (name) => new Set(index.columns[name] || []);
    const settings = [...has("setting")].sort().map((n) => [SETTINGS[n], SETTING_NAMES[SETTINGS[n]]]);
    const form = el("form", { role: "search", "aria-label": "Filter trials", onsubmit: (e) => e.preventDefault() },
      el("label", { class: "wide" }, el("span", null, "Search"),
        el("input", {
          type: "search", name: "q", id: "search", value: filters.q || "", autocomplete: "off", spellcheck: "false",
          placeholder: "task, hidden fact, outcome …", oninput: (e) => change(view, "q", e.target.value),
        })),
      select("status", "Status", [
        ["failing", "counts against a metric"], ["unsafe", "unsafe commit"], ["error", "error"], ["passing", "fine"]]),
      index.runs.length > 1 && select("run", "Model", index.runs.map((run, n) => [String(n), run.name])),
      domains.length > 1 && select("domain", "Domain", domains),
      select("world", "World", WORLDS.map((name) => [name, name])),
      select("setting", "Setting", settings),
      select("role", "Hidden", ROLES.map((name) => [name, name === "none" ? "nothing" : `${name} facts`])),
      select("verdict", "Outcome", present("verdict")),
      present("cause").length > 0 && select("cause", "Cause", present("cause")),
      el("button", { type: "button", onclick: () => clear(view) }, "Clear"));
    fill(home, form, el("p", { id: "found", role: "status" }), el("div", { id: "list" }));
  }

  function badge(row) {
    return el("span", { class: `tone ${tone(row)}` },
      el("span", { "aria-hidden": "true" }, `${SIGNS[tone(row)]} `), word("verdict", row));
  }

  function list() {
    const several = index.runs.length > 1;
    const rows = matches.slice(page * PAGE, (page + 1) * PAGE);
    const kind = filters.kind ? `, of one kind of failure` : "";
    document.getElementById("found").textContent =
      `${count(matches.length)} of ${plural(index.count, "trial")}${kind}`;
    const heads = ["Task", "World", "Setting", "Hidden", "Outcome", several && "Model", "Turns"].filter(Boolean);
    const table = el("table", { class: "trials" }, el("caption", { class: "quiet" }, "Trials"),
      el("thead", null, el("tr", null, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", null, rows.map((row) => el("tr", null,
        el("th", { scope: "row" }, el("a", { href: link(row) }, bdi(task(row))),
          at("repeat", row) ? ` repeat ${at("repeat", row)}` : ""),
        el("td", null, world(row)),
        el("td", null, setting(row).replace("_", " ")),
        el("td", null, mask(row).length ? bdi(mask(row).join(", ")) : el("span", { class: "dim" }, "nothing")),
        el("td", null, badge(row), word("cause", row) ? el("span", { class: "dim" }, ` ${word("cause", row)}`) : "",
          word("error", row) ? el("span", { class: "dim" }, " ", bdi(word("error", row))) : ""),
        several && el("td", null, bdi(index.runs[at("run", row)].name)),
        el("td", { class: "num" }, at("turns", row))))));
    const pages = Math.max(1, Math.ceil(matches.length / PAGE));
    const turn = (step, text) => el("button", {
      type: "button", disabled: page + step < 0 || page + step >= pages,
      onclick: () => { page += step; list(); document.getElementById("found").scrollIntoView(); },
    }, text);
    fill(
      document.getElementById("list"),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Trials" }, table),
      el("nav", { class: "pages", "aria-label": "Pages of trials" },
        turn(-1, "Previous"), el("span", null, `page ${page + 1} of ${pages}`), turn(1, "Next")));
  }

  // One observation, with the facts marked in it --------------------------------------------------------------------

  const same = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

  function sorted(value) {
    if (Array.isArray(value)) return value.map(sorted);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
    }
    return value;
  }

  const isObject = (value) => value !== null && typeof value === "object";

  // How far `path` leads into `content`: the keys that exist, and the first step that does not.
  function follow(content, path) {
    const keys = [];
    let value = content;
    for (const step of path) {
      let key = step;
      if (isObject(step)) {
        if (!Array.isArray(value)) return { keys, missing: step };
        key = value.findIndex((entry) => (step.field ? isObject(entry) && entry[step.field] === step.key : entry === step.key));
        if (key < 0) return { keys, missing: step };
      } else if (!isObject(value) || !Object.hasOwn(value, step)) {
        return { keys, missing: step };
      }
      keys.push(key);
      value = value[key];
    }
    return { keys, missing: null };
  }

  // Facts that a call's response shows, or would show were they not hidden.
  function factsIn(event, known, hidden) {
    if (!known || !isObject(event.content) || event.kind === AUDIT) return [];
    const found = [];
    for (const atom of known.atoms) {
      for (const exposure of atom.exposures) {
        if (exposure.tool !== event.tool || !same(exposure.arguments, event.arguments || {})) continue;
        const place = follow(event.content, exposure.path);
        if (place.missing !== null && !hidden.includes(atom.id)) continue;
        if (atom.role === "critical" || hidden.includes(atom.id)) found.push({ atom, ...place });
      }
    }
    return found;
  }

  function observation(event, facts, truth) {
    const here = (path, missing) =>
      facts.filter((fact) => (fact.missing !== null) === missing && fact.keys.join("\u0000") === path.join("\u0000"));
    const lines = [];
    const line = (depth, text, marks, ghost) => lines.push(el("span", { class: ghost ? "line ghost" : marks.length ? "line fact" : "line" },
      "  ".repeat(depth), text, marks.map((fact) => el("span", { class: "mark" }, ghost ? "hidden: " : "", bdi(fact.atom.id))), "\n"));
    const ghosts = (depth, path) => {
      for (const fact of here(path, true)) {
        const name = isObject(fact.missing) ? fact.missing.key : fact.missing;
        line(depth, `${JSON.stringify(name)} … ${truth(fact.atom)}`, [fact], true);
      }
    };
    const write = (value, depth, path, before, after) => {
      const marks = here(path, false);
      if (!isObject(value)) return line(depth, before + JSON.stringify(value) + after, marks, false);
      const entries = Array.isArray(value) ? value.map((item, n) => [n, item]) : Object.entries(value);
      const [open, close] = Array.isArray(value) ? "[]" : "{}";
      if (!entries.length && !here(path, true).length) return line(depth, before + open + close + after, marks, false);
      line(depth, before + open, marks, false);
      entries.forEach(([key, item], n) => {
        const name = Array.isArray(value) ? "" : `${JSON.stringify(key)}: `;
        write(item, depth + 1, [...path, key], name, n < entries.length - 1 ? "," : "");
      });
      ghosts(depth + 1, path);
      return line(depth, close + after, [], false);
    };
    write(event.content, 0, [], "", "");
    return el("pre", { class: "observation" }, lines);
  }

  // What the agent knew when it acted -------------------------------------------------------------------------------

  function story(row, record, known) {
    const hidden = mask(row);
    const events = record.events;
    const commit = events.findIndex((event) => event.event === "call" && event.kind === "commit");
    const end = commit < 0 ? events.length : commit;
    const before = (n) => commit < 0 || events[n].turn < events[commit].turn;
    const facts = events.map((event) => (event.event === "call" ? factsIn(event, known, hidden) : []));
    const audit = events.findIndex((event, n) => n < end && event.kind === AUDIT && before(n));
    const learned = new Map();
    if (known) {
      for (const atom of known.atoms.filter((each) => each.role === "critical" || hidden.includes(each.id))) {
        const seen = events.findIndex((_, n) => n < end && before(n)
          && facts[n].some((fact) => fact.atom === atom && fact.missing === null));
        const recovered = hidden.includes(atom.id) && audit >= 0;
        learned.set(atom.id, { atom, hidden: hidden.includes(atom.id), step: recovered ? audit : seen, recovered });
      }
    }
    return { hidden, commit, facts, audit, learned };
  }

  function missed(row, record, known, told) {
    const o = record.outcome;
    if (!o || told.commit < 0 || !(o.unsafe_commit || o.premature_commit)) return null;
    const unknown = [...told.learned.values()].filter((fact) => fact.atom.role === "critical" && fact.step < 0);
    const names = (list) => list.map((fact, n) => [n ? ", " : "", bdi(fact.atom.id)]);
    const note = (title, ...text) => el("li", { class: "missed", id: "missed" }, el("strong", null, `${title} `), text);
    if (o.cause === "unread") {
      return note("Here it should have read on.", "In plain sight and never read: ",
        names(unknown.filter((fact) => !fact.hidden)), ".");
    }
    if (o.cause === "reasoning") {
      return note("Here it should have held back.",
        "Everything needed to see the prohibition had been delivered before this step.");
    }
    if (o.premature_commit) {
      const gone = unknown.filter((fact) => fact.hidden);
      const returned = gone.map((fact, n) =>
        [n ? ", " : "", bdi(fact.atom.id), " = ", code(jsonText(fact.atom.values[world(row)]))]);
      return note("Here it should have asked.", "The audit source was at hand and had not been queried. ",
        "It would have returned ", gone.length ? returned : "every hidden fact", ".");
    }
    return note("Here it should have stopped.", "With ", unknown.length ? names(unknown) : "these facts",
      " hidden, what it could see did not decide the rule, and there was nobody to ask: ",
      "stopping or escalating was the only supported course.");
  }

  // The transcript --------------------------------------------------------------------------------------------------

  function callText(event) {
    const args = event.arguments;
    if (!isObject(args) || Array.isArray(args)) return [event.tool, "(", args === undefined || args === null ? "" : jsonText(args), ")"];
    return [event.tool, "(", Object.entries(args).map(([key, value], n) => [n ? ", " : "", key, "=", JSON.stringify(value)]), ")"];
  }

  const CALL_NOTES = {
    commit: "the commit: it ends the episode", audit: "the audit source", invalid: "invalid call", prepare: "preparation", read: "",
  };

  function transcript(row, record, known, told, focus) {
    const truth = (atom) => `true value ${jsonText(atom.values[world(row)])}`;
    const warning = missed(row, record, known, told);
    const steps = record.events.map((event, n) => {
      const id = focus ? `step-${n}` : null;
      const turn = event.turn ? el("span", { class: "turn" }, `turn ${event.turn}`) : null;
      if (event.event === "goal") {
        return el("li", { class: "step goal", id }, el("span", { class: "who" }, "request"), el("p", { class: "said" }, bdi(event.text)));
      }
      if (event.event === "call" || event.event === "not_executed") {
        const unexecuted = event.event === "not_executed";
        const note = unexecuted ? "not executed: the episode was over" : CALL_NOTES[event.kind] ?? event.kind;
        return [n === told.commit ? warning : null,
          el("li", { class: `step call ${unexecuted ? "unexecuted" : event.kind}`, id }, turn,
            el("span", { class: "who" }, "agent calls"), el("code", { class: "signature" }, bdi(callText(event).flat(Infinity).join(""))),
            note ? el("span", { class: "note" }, note) : null,
            unexecuted ? null : observation(event, told.facts[n], truth))];
      }
      if (event.event === "final" || event.event === "text") {
        return el("li", { class: "step", id }, turn, el("span", { class: "who" }, event.event === "final" ? "agent's last message" : "agent says"),
          el("p", { class: "said" }, el("bdi", null, event.text === "" ? "(empty)" : event.text)));
      }
      if (event.event === "end") {
        return el("li", { class: "step end", id }, turn, el("span", { class: "who" }, "ended"), el("p", null, bdi(event.reason)));
      }
      const { event: name, turn: _, ...rest } = event;
      return el("li", { class: "step other", id }, turn,
        el("details", null, el("summary", null, el("span", { class: "who" }, bdi(name))), el("pre", null, JSON.stringify(rest, null, 1))));
    });
    return el("ol", { class: "transcript" }, steps,
      record.error ? el("li", { class: "step end" }, el("span", { class: "who" }, "error: no outcome"),
        el("p", { class: "said" }, bdi(record.error.kind), ": ", bdi(record.error.message))) : null);
  }

  function factsPanel(row, record, known, told) {
    if (!known) {
      return el("p", { class: "alert" }, "The bank of this run is not at hand, so its rule and true values are not shown; the transcript holds what the records hold.",
        told.hidden.length ? [" Hidden: ", bdi(told.hidden.join(", ")), "."] : "");
    }
    const here = world(row), twin = here === "unsafe" ? "safe" : "unsafe";
    const rows = [...told.learned.values()].map(({ atom, hidden, step, recovered }) => el("tr", { class: hidden ? "hiddenfact" : "" },
      el("th", { scope: "row" }, bdi(`${atom.subject}, ${atom.predicate}`), el("br"), el("code", null, bdi(atom.id)),
        hidden ? el("span", { class: "tag hide" }, "hidden") : null, atom.role === "irrelevant" ? el("span", { class: "tag" }, "irrelevant") : null),
      el("td", null, code(jsonText(atom.values[here]))),
      el("td", { class: "dim" }, code(jsonText(atom.values[twin]))),
      el("td", null, step >= 0
        ? el("a", { href: `#step-${step}`, onclick: (e) => jump(e, `step-${step}`) }, `${recovered ? "recovered" : "seen"} in turn ${record.events[step].turn}`)
        : hidden ? "never learned" : "in sight, not read")));
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Facts" },
      el("table", { class: "facts" }, el("caption", null, told.commit >= 0 ? "What was true, and what the agent knew when it committed" : "What was true, and what the agent knew"),
        el("thead", null, el("tr", null, ["Fact", `True here (${here})`, `In the twin (${twin})`, "Agent"].map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", null, rows)));
  }

  const CAUSES = {
    unread: "a visible critical fact was never read", reasoning: "what was delivered decided the rule, and it was not followed",
    epistemic: "what was visible did not decide the rule",
  };

  function headline(row) {
    const fault = word("fault", row);
    if (fault) return fault;
    return word("error", row) ? `error: ${word("error", row)}` : word("verdict", row);
  }

  function chips(row, record) {
    const o = record.outcome;
    const chip = (name, value) => el("div", null, el("dt", null, name), el("dd", null, value));
    return el("dl", { class: "chips" },
      chip("world", world(row) === "unsafe" ? "unsafe: the commit is prohibited" : "safe: the commit is permitted"),
      chip("setting", SETTING_NAMES[setting(row)]),
      chip("hidden", mask(row).length ? [bdi(mask(row).join(", ")), ` (${role(row)})`] : "nothing"),
      chip("outcome", badge(row)),
      o ? chip("visible evidence", o.sufficient_evidence ? "decides the rule" : "does not decide the rule") : null,
      o && o.cause ? chip("cause", [o.cause, ": ", CAUSES[o.cause]]) : null,
      index.runs.length > 1 ? chip("model", bdi(index.runs[at("run", row)].name)) : null,
      chip("size", `${plural(record.events.length ? at("turns", row) : 0, "turn")}, ${at("requests", row) < 0 ? "requests unknown" : plural(at("requests", row), "request")}, ${at("tokens", row) < 0 ? "tokens unknown" : plural(at("tokens", row), "token")}`));
  }

  // Twins, settings and models of one mask ---------------------------------------------------------------------------

  function relatives(row) {
    const t = at("task", row), hidden = mask(row), repeat = at("repeat", row);
    const cells = [];
    for (let run = 0; run < index.runs.length; run++) {
      for (const w of WORLDS) {
        for (const s of SETTINGS) {
          const masked = s === "se" || s === "re";
          const name = hidden.length ? hidden.join(",") : "";
          if (masked && !name) continue;
          const id = `${index.tasks[t]}/${w}-${s}${masked ? `[${name}]` : ""}${repeat ? `/repeat-${repeat}` : ""}`;
          const found = byId.get(`${run}/${id}`);
          if (found !== undefined) cells.push({ run, world: w, setting: s, row: found });
        }
      }
    }
    return cells;
  }

  function matrix(row, cells) {
    const settings = SETTINGS.filter((s) => cells.some((cell) => cell.setting === s));
    const runs = [...new Set(cells.map((cell) => cell.run))];
    const lines = runs.flatMap((run) => WORLDS.map((w) => ({ run, world: w })));
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Same facts hidden, other conditions" },
      el("table", { class: "matrix" }, el("caption", null, mask(row).length ? "The same facts hidden: twins and settings" : "Twins and settings"),
        el("thead", null, el("tr", null, runs.length > 1 ? el("th", { scope: "col" }, "Model") : null, el("th", { scope: "col" }, "World"),
          settings.map((s) => el("th", { scope: "col" }, SETTING_NAMES[s])))),
        el("tbody", null, lines.map((line) => el("tr", null,
          runs.length > 1 ? el("th", { scope: "row" }, bdi(index.runs[line.run].name)) : null, el("th", { scope: "row" }, line.world),
          settings.map((s) => {
            const cell = cells.find((each) => each.run === line.run && each.world === line.world && each.setting === s);
            if (!cell) return el("td", null, el("span", { class: "dim" }, "not run"));
            const current = cell.row === row;
            return el("td", { class: current ? "current" : "" },
              el("a", { href: link(cell.row), "aria-current": current ? "true" : null }, badge(cell.row)));
          }))))));
  }

  function comparisons(row, cells) {
    const same = (cell, ...names) => names.every((name) => cell[name] === { run: at("run", row), world: world(row), setting: setting(row) }[name]);
    const sets = [
      ["twin worlds", cells.filter((cell) => same(cell, "run", "setting"))],
      ["settings", cells.filter((cell) => same(cell, "run", "world"))],
      ["models", cells.filter((cell) => same(cell, "world", "setting"))],
      ["all", cells.filter((cell) => same(cell, "run"))],
    ];
    return sets.filter(([, list], n) => list.length > 1 && (n < 3 || list.length > 2));
  }

  async function beside(row, cells, home) {
    const columns = await Promise.all(cells.map(async (cell) => {
      const { record, known } = await details(cell.row);
      const told = story(cell.row, record, known);
      return el("section", { class: "column", "aria-label": conditionId(cell.row) },
        el("h3", null, `${cell.world}, ${cell.setting.replace("_", " ")}`, index.runs.length > 1 ? [" · ", bdi(index.runs[cell.run].name)] : ""),
        el("p", null, badge(cell.row), " ", cell.row === row ? el("span", { class: "dim" }, "this trial") : el("a", { href: link(cell.row) }, "open")),
        transcript(cell.row, record, known, told, false));
    }));
    fill(home, columns);
  }

  // The page of one trial -------------------------------------------------------------------------------------------

  function jump(event, id) {
    event.preventDefault();
    const node = document.getElementById(id);
    if (!node) return;
    node.setAttribute("tabindex", "-1");
    node.scrollIntoView({ block: "center" });
    node.focus({ preventScroll: true });
  }

  async function showTrial(row) {
    view.shown = row;
    const home = document.getElementById("trial");
    const { record, known } = await details(row);
    if (view.shown !== row) return;
    const told = story(row, record, known);
    const cells = relatives(row);
    const place = matches.indexOf(row);
    const neighbour = (step, text) => place >= 0 && matches[place + step] !== undefined
      ? el("a", { href: link(matches[place + step]), rel: step < 0 ? "prev" : "next", class: "button" }, text) : null;
    const warning = missed(row, record, known, told);
    const side = el("div", { class: "columns", hidden: true });
    const closer = el("section", { class: "closer", "aria-label": "Look closer" }, el("h2", null, "Look closer"),
      el("p", null, "Show what the agent could see:"), command(row, "show"),
      el("p", null, "Run this condition again:"), command(row, "rerun"),
      el("details", null, el("summary", null, "The record"),
        el("pre", null, JSON.stringify({ ...record, events: `${record.events.length} events` }, null, 1))));
    const single = el("div", { class: "single" },
      el("div", { class: "main" }, el("h2", null, "What the agent did"), transcript(row, record, known, told, true), closer),
      el("aside", { class: "truth", "aria-label": "The truth" },
        el("h2", null, "The truth"),
        known ? [el("p", { class: "rule" }, bdi(known.statement)),
          el("p", { class: "rule" }, el("span", { class: "dim" }, "prohibited when "), el("code", null, bdi(known.rule)))] : null,
        factsPanel(row, record, known, told),
        known ? el("p", { class: "dim" }, "Requested commit: ", el("code", null, bdi(`${known.commit}(${Object.entries(known.arguments).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`))) : null));
    const choices = comparisons(row, cells);
    const choose = (list) => {
      side.hidden = !list;
      single.hidden = Boolean(list);
      for (const button of home.querySelectorAll(".compare button")) {
        button.setAttribute("aria-pressed", String(button.textContent === (list ? list[0] : "this trial")));
      }
      if (list) beside(row, list[1], side);
    };
    fill(
      home,
      el("nav", { class: "crumbs", "aria-label": "Trial" },
        el("a", { href: "#trials", class: "button" }, "← All trials"), neighbour(-1, "Previous"), neighbour(1, "Next"),
        place >= 0 ? el("span", { class: "dim" }, `${count(place + 1)} of ${count(matches.length)}`) : null),
      el("h1", { id: "trial-title", tabindex: "-1", class: `headline ${tone(row)}` }, headline(row)),
      el("p", { class: "condition" }, el("code", null, bdi(conditionId(row)))),
      chips(row, record),
      warning && told.commit >= 0 ? el("p", { class: "lead" }, el("a", { href: "#missed", onclick: (e) => { choose(null); jump(e, "missed"); } }, "Go to the step where it went wrong")) : null,
      matrix(row, cells),
      choices.length ? el("div", { class: "compare", role: "group", "aria-label": "Side by side" }, el("span", null, "Side by side: "),
        el("button", { type: "button", "aria-pressed": "true", onclick: () => choose(null) }, "this trial"),
        choices.map((list) => el("button", { type: "button", "aria-pressed": "false", onclick: () => choose(list) }, list[0]))) : null,
      single, side);
    document.title = `${headline(row)} – EpiSEM report`;
    show("trial");
    window.scrollTo({ top: 0, behavior: "instant" });
    document.getElementById("trial-title").focus({ preventScroll: true });
  }

  function command(row, kind) {
    const hidden = word("mask", row) ? ` --mask ${word("mask", row)}` : "";
    const of = index.runs[at("run", row)];
    const show = `episem show ${task(row)} --world ${world(row)} --setting ${setting(row)}${hidden}${of.shown_in}`;
    const run = `pytest ${of.run_in}${of.option || "--episem-agent=…"} "episem::${conditionId(row)}"`;
    return el("pre", { class: "command" }, el("code", null, bdi(kind === "show" ? show : run)));
  }

  const view = {
    one: "trial", list: "trials", home: "browser", data: "index", field: "search", shown: -1,
    take(found) { index = found; prepare(); },
    names: FILTERS, filters, draw: browser, search,
    find: (id) => byId.get(id),
    open: showTrial,
  };

  browse(view);
})();
