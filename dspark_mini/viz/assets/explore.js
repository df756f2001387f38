// A page on which the rounds of several texts can be played, scrubbed and opened. It needs no library and no network.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { labels, lanes } = data;
  const PARTS = ["draft", "head", "verify", "commit"];
  const total = Math.max(...lanes.map((lane) => lane.end));
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let now = still ? total : 0; // ms on the common clock
  let playing = false;
  let chosen = null; // {lane, round}

  const say = (message, values) => message.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const make = (tag, properties = {}, ...children) => {
    const { style, data: attributes, ...rest } = properties;
    const node = Object.assign(document.createElement(tag), rest);
    Object.assign(node.style, style);
    for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const key = (part, text) => make("span", { className: "key" }, make("i", { style: { background: `var(--${part})` } }), text);
  const percent = (ms) => `${(100 * ms) / total}%`;
  const short = (x) => (x === null ? "–" : x > 0 && x < 0.005 ? "< .01" : x.toFixed(2).replace(/^0\./, "."));
  const word = (token) => data.words[token] ?? String(token);

  // --- Lanes: one per text, with all rounds in the page from the start; a class per round says how far it is ---------

  const roundNode = (lane, round, index) => {
    const node = make("span", {
      className: "round future",
      tabIndex: -1,
      onclick: () => choose(lane, index),
      data: { role: "button", "aria-label": summary(lane, index) },
    });
    let rejected = 0;
    for (const draft of round.drafts) {
      const shown = draft.fate === "accepted" || (draft.fate === "rejected" && rejected++ === 0);
      const name = `draft ${draft.fate}${shown ? "" : " rest"}`;
      node.append(make("span", { className: name }, word(draft.token)), " ");
    }
    const more = round.drafts.filter((draft) => draft.fate !== "accepted").length - 1;
    if (more > 0 && rejected) node.append(make("span", { className: "count" }, `+${more} `));
    for (const token of round.own) node.append(make("span", { className: "own" }, word(token)), " ");
    return node;
  };

  const summary = (lane, index) => {
    const round = lane.rounds[index];
    const accepted = round.drafts.filter((draft) => draft.fate === "accepted").length;
    return say(labels.round, { name: lane.name, round: index + 1, all: lane.rounds.length, accepted, drafts: round.drafts.length });
  };

  const laneNode = (lane) => {
    lane.track = make("div", { className: "track", data: { "aria-hidden": "true" } });
    for (const round of lane.rounds) {
      let at = round.start;
      for (const part of PARTS) {
        const style = { left: percent(at), width: percent(round.ms[part]), background: `var(--${part})` };
        lane.track.append(make("i", { style }));
        at += round.ms[part];
      }
    }
    lane.playhead = make("i", { className: "now" });
    lane.track.append(lane.playhead);
    lane.nodes = lane.rounds.map((round, index) => roundNode(lane, round, index));
    lane.stats = make("small");
    lane.words = make("p", { className: "words", onkeydown: (event) => walk(event, lane) }, ...lane.nodes);
    return make("article", { className: "lane" }, make("h2", {}, lane.name, " ", lane.stats), lane.track, lane.words);
  };

  const draw = () => {
    for (const lane of lanes) {
      let done = 0;
      let tokens = 0;
      lane.rounds.forEach((round, index) => {
        const ends = round.start + PARTS.reduce((sum, part) => sum + round.ms[part], 0);
        const drafted = round.start + round.ms.draft + round.ms.head;
        const state = now >= ends - 1e-6 ? "done" : now >= drafted && round.drafts.length ? "pending" : "future";
        if (state === "done") [done, tokens] = [done + 1, tokens + round.count];
        const mine = chosen && chosen.lane === lane && chosen.index === index ? " chosen" : "";
        const name = `round ${state}${mine}`;
        if (lane.nodes[index].className !== name) lane.nodes[index].className = name;
        lane.nodes[index].tabIndex = -1;
      });
      const last = chosen && chosen.lane === lane ? chosen.index : done - 1;
      if (lane.nodes[last]) lane.nodes[last].tabIndex = 0; // Tab reaches one round per lane; arrows reach the others
      const tau = done ? (tokens / done).toFixed(2) : "–";
      lane.stats.textContent = say(labels.stats, { tokens, rounds: done, tau, ms: Math.min(now, lane.end).toFixed(0) });
      lane.playhead.style.left = `calc(${percent(Math.min(now, lane.end))} - 1px)`;
    }
    slider.value = now;
    slider.setAttribute("aria-valuetext", `${now.toFixed(0)} ms`);
    clock.textContent = `${now.toFixed(0)} / ${total.toFixed(0)} ms`;
    play.textContent = playing ? labels.pause : labels.play;
  };

  // --- The clock ---------------------------------------------------------------------------------------------------

  const seek = (ms) => {
    now = Math.min(Math.max(ms, 0), total);
    draw();
  };
  let before = null;
  const tick = (stamp) => {
    if (!playing) return;
    if (before !== null) now = Math.min(now + (stamp - before) * Number(speed.value), total);
    before = stamp;
    if (now >= total) playing = false;
    draw();
    requestAnimationFrame(tick);
  };
  const toggle = () => {
    if (!playing && now >= total) now = 0;
    [playing, before] = [!playing, null];
    draw();
    if (playing) requestAnimationFrame(tick);
  };
  const ends = [...new Set(lanes.flatMap((lane) => lane.rounds.map((round) => round.start + PARTS.reduce((sum, part) => sum + round.ms[part], 0))))].sort((a, b) => a - b);
  const step = (by) => {
    playing = false;
    seek(by > 0 ? (ends.find((end) => end > now + 1e-6) ?? total) : (ends.findLast((end) => end < now - 1e-6) ?? 0));
  };

  // --- A round, opened ----------------------------------------------------------------------------------------------

  const choose = (lane, index) => {
    chosen = { lane, index };
    const round = lane.rounds[index];
    const close = make("button", { onclick: shut, data: { "aria-label": labels.close } }, "✕");
    const parts = [make("header", {}, make("h2", {}, summary(lane, index)), close)];
    if (round.tree) parts.push(make("h3", {}, labels.tree), treeNode(round, -1));
    if (round.drafts.length) parts.push(make("div", { className: "scroll" }, draftTable(round)));
    if (round.residual.length) parts.push(make("h3", {}, labels.residual), bars(round.residual));
    if (round.own.length) parts.push(make("p", {}, say(labels.own, { word: round.own.map(word).join(" ") })));
    parts.push(make("h3", {}, labels.time), timeSplit(round), make("h3", {}, labels.cache), make("p", {}, say(labels.rows, round.cache)));
    detail.replaceChildren(...parts);
    detail.hidden = false;
    board.classList.add("open");
    draw();
    lane.nodes[index].focus({ preventScroll: true });
    lane.nodes[index].scrollIntoView({ block: "nearest" }); // beside or above the opened round
  };

  const shut = () => {
    const last = chosen;
    [chosen, detail.hidden] = [null, true];
    board.classList.remove("open");
    draw();
    if (last) {
      last.lane.nodes[last.index].tabIndex = 0;
      last.lane.nodes[last.index].focus();
    }
  };

  const draftTable = (round) => {
    const columns = [["token", (d) => word(d.token)], ["confidence", (d) => short(d.confidence)], ["q", (d) => short(d.q)], ["p", (d) => short(d.p)], ["chance", (d) => short(d.chance)]];
    const used = columns.filter(([name]) => name === "token" || round.drafts.some((d) => d[name] !== null));
    const head = make("tr", {}, ...[...used.map(([name]) => labels.columns[name]), labels.columns.fate].map((text, k) => make("th", { className: k ? "" : "name" }, text)));
    const rows = round.drafts.map((draft) =>
      make("tr", {}, ...used.map(([, value], k) => make("td", { className: k ? "" : "name" }, value(draft))),
        make("td", { className: ["accepted", "rejected"].includes(draft.fate) ? draft.fate : "skipped" }, labels.fates[draft.fate])));
    return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  };

  const bars = (shares) =>
    make("table", {}, make("tbody", {}, ...shares.map(([token, share]) =>
      make("tr", {}, make("td", { className: "name" }, word(token)), make("td", { className: "name" }, make("span", { className: "bar", style: { width: `${10 * share}rem` } }), " ", short(share))))));

  const treeNode = (round, parent) =>
    make("ul", { className: parent < 0 ? "tree" : "" }, ...round.drafts.map((draft, node) => [draft, node]).filter(([draft]) => draft.parent === parent)
      .map(([draft, node]) => make("li", {}, make(draft.fate === "accepted" ? "b" : "span", {}, word(draft.token)), treeNode(round, node))));

  const timeSplit = (round) => {
    const used = PARTS.filter((part) => round.ms[part] > 0);
    const split = make("div", { className: "split", data: { "aria-hidden": "true" } }, ...used.map((part) => make("i", { style: { flex: `${round.ms[part]} 0 0`, background: `var(--${part})` } })));
    const keys = used.flatMap((part) => [key(part, `${labels.parts[part]} ${round.ms[part].toFixed(2)} ms`), " "]);
    return make("div", {}, split, make("p", { className: "soft" }, ...keys));
  };

  // --- Keys --------------------------------------------------------------------------------------------------------

  const walk = (event, lane) => {
    const at = lane.nodes.indexOf(document.activeElement);
    const shown = lane.nodes.map((node, index) => [node, index]).filter(([node]) => !node.classList.contains("future"));
    const place = shown.findIndex(([, index]) => index === at);
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") choose(lane, at);
    else if (to === undefined) return;
    else if (shown[to]) {
      if (chosen) choose(lane, shown[to][1]);
      else shown[to][0].focus();
    }
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen) shut();
    if (event.target.closest("button, input, select")) return;
    if (event.key === " ") [toggle(), event.preventDefault()];
    if (event.key === "ArrowRight") step(1);
    if (event.key === "ArrowLeft") step(-1);
  });

  const play = make("button", { id: "play", onclick: toggle });
  const back = make("button", { onclick: () => step(-1), data: { "aria-label": labels.back } }, "‹");
  const forth = make("button", { onclick: () => step(1), data: { "aria-label": labels.forth } }, "›");
  const slider = make("input", { type: "range", min: 0, max: total, step: "any", oninput: () => [(playing = false), seek(Number(slider.value))], data: { "aria-label": labels.time_slider } });
  const clock = make("output");
  const speed = make("select", { data: { "aria-label": labels.speed } });
  for (const factor of [1, 0.1, 0.03, 0.01]) speed.append(make("option", { value: factor, selected: factor === 0.03 }, factor === 1 ? labels.real_time : say(labels.slower, { factor: Math.round(1 / factor) })));
  const detail = make("aside", { className: "detail", hidden: true, data: { "aria-live": "polite" } });
  const board = make("div", { className: "board" }, make("div", {}, ...lanes.map(laneNode)), detail);
  const legend = make("p", { className: "legend" });
  for (const part of PARTS) legend.append(key(part, labels.parts[part]), " ");
  document.querySelector("main").append(
    make("h1", {}, data.title), make("p", { className: "soft" }, labels.explain), legend,
    ...(data.prompt.length ? [make("p", { className: "prompt" }, `${data.prompt.map(word).join(" ")} …`)] : []),
    make("div", { className: "controls" }, play, back, forth, slider, clock, speed), board);
  draw();
})();
