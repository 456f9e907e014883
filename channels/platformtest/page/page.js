"use strict";

const $ = (id) => document.getElementById(id);
const here = { user: "", chat: "", thread: "" };
let view = null;      // what the server told last
let events = null;
let context = null;   // {kind: "reply" | "edit", message}
let shown = new Map(); // message id → [its JSON, its element]
const pressed = new Map(); // callback id → button, until the bot answered

function el(tag, props, ...children) {
  const node = Object.assign(document.createElement(tag), props || {});
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

async function act(name, fields, files) {
  const form = new FormData();
  for (const [k, v] of Object.entries({ user: here.user, chat: here.chat, thread: here.thread, ...fields })) form.append(k, v);
  for (const f of files || []) form.append("file", f);
  const answer = await fetch("/page/" + name, { method: "POST", body: form });
  if (!answer.ok) {
    toast(await answer.text());
    return null;
  }
  return answer.json();
}

let toastEnds = 0;
function toast(text) {
  $("toast").textContent = text;
  $("toast").hidden = false;
  clearTimeout(toastEnds);
  toastEnds = setTimeout(() => { $("toast").hidden = true; }, 5000);
}

// go shows another chat, or the same one as somebody else.
function go(where) {
  Object.assign(here, { thread: "" }, where);
  setContext(null);
  shown.clear();
  $("messages").replaceChildren();
  if (events) events.close();
  events = new EventSource("/page/events?" + new URLSearchParams({ user: here.user, chat: here.chat }));
  events.onmessage = (e) => { view = JSON.parse(e.data); show(); };
  events.onerror = () => { setState("off", "The fake platform has stopped."); };
}

function setState(cls, text) {
  $("state").className = cls;
  $("state").textContent = text;
}

const direct = () => (view.chats || []).find((c) => c.direct);

function show() {
  if (!here.user && view.users && view.users.length) return go({ user: view.users[0].id });
  if (!here.chat && direct()) return go({ chat: direct().id, thread: here.thread });
  $("bot").textContent = view.bot.name;
  $("platform").textContent = "on a fake " + view.platform;
  document.title = `${view.bot.name} · ${view.platform} (fake)`;
  document.documentElement.style.setProperty("--brand", view.colour);
  $("note").textContent = view.note;
  setState(view.connected ? "on" : "off", view.connected ? "listening" : "waiting for the bot to connect");
  showUsers();
  showChats();
  showMessages();
  $("typing").textContent = view.working;
  $("block").hidden = !view.blocks;
  $("block").textContent = view.blocked ? "Unblock the bot" : "Block the bot";
  showAnswers();
}

// showAnswers shows what came back to presses; it may come before the press's ID.
function showAnswers() {
  for (const [id, button] of pressed) {
    const answer = view.answers[id];
    if (!answer || !answer.done) continue;
    pressed.delete(id);
    button.classList.remove("waiting");
    if (answer.alert) window.alert(answer.text);
    else if (answer.text) toast(answer.text);
  }
}

function showUsers() {
  const options = view.users.map((u) => el("option", { value: u.id, textContent: u.name, selected: u.id === here.user }));
  if ($("user").children.length !== options.length) $("user").replaceChildren(...options);
  $("user").value = here.user;
}

const chat = () => (view.chats || []).find((c) => c.id === here.chat);
const inDirect = () => !chat() || chat().direct;

function showChats() {
  const rows = [];
  for (const c of view.chats || []) {
    const row = (title, thread, cls) => {
      const current = c.id === here.chat && thread === here.thread;
      const b = el("button", { type: "button", className: cls + (current ? " current" : ""), textContent: title });
      // The direct chat is that of whoever one is by then.
      b.addEventListener("click", () => go({ chat: c.direct ? "" : c.id, thread }));
      if (current) $("title").textContent = title;
      rows.push([[c.id, thread, b.className, title], b]);
    };
    row(c.title, "", c.direct ? "direct" : "group");
    for (const t of c.threads || []) row(t.title, t.id, "topic");
  }
  const nav = $("chats"), now = JSON.stringify(rows.map(([key]) => key));
  if (now !== nav.dataset.rows) {
    nav.dataset.rows = now;
    nav.replaceChildren(...rows.map(([, b]) => b));
  }
  $("mention").hidden = inDirect();
}

function showMessages() {
  const list = $("messages");
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  const fresh = new Map();
  const rows = [];
  const apart = chat() && chat().apart;
  for (const m of view.messages || []) {
    if ((apart || here.thread) && (m.thread || "") !== here.thread && m.id !== here.thread) continue;
    const replies = apart && !here.thread ? view.messages.filter((o) => o.thread === m.id).length : 0;
    const json = JSON.stringify([m, replies]);
    const old = shown.get(m.id);
    const row = old && old[0] === json ? old[1] : messageRow(m, replies);
    fresh.set(m.id, [json, row]);
    rows.push(row);
  }
  shown = fresh;
  if (!rows.length) rows.push(hint(list.querySelector(".hint")));
  const same = rows.length === list.children.length && rows.every((r, i) => r === list.children[i]);
  if (!same) list.replaceChildren(...rows);
  if (atEnd && !same) list.scrollTop = list.scrollHeight;
}

// hint says how to begin in a chat where nothing was said.
function hint(row) {
  row ||= el("li", { className: "hint" });
  row.textContent = inDirect() ? "Say hello, or press / for what the bot can do." : `Write ${view.mention} and what you want: in a group the bot answers who names it.`;
  return row;
}

// messageRow shows a message, with a way to the replies in a thread of its own.
function messageRow(m, replies) {
  const mine = m.author.id === here.user && !m.bot;
  const row = el("li", { className: mine ? "mine" : m.bot ? "bot" : "theirs" });
  row.dataset.id = m.id;
  if (m.notice) {
    row.className = "service";
    row.append(m.notice);
    return row;
  }
  const bubble = el("article");
  if (!mine && !inDirect()) bubble.append(el("header", { textContent: m.author.name }));
  if (m.forwarded) bubble.append(el("div", { className: "from", textContent: "Forwarded" }));
  if (m.to) {
    bubble.append(el("div", { className: "re" }, el("b", { textContent: m.to.author }), el("span", { textContent: m.to.text || "a file" })));
  }
  bubble.append(...attachments(m));
  if (m.text) bubble.append(el("div", { className: "text" }, formatted(m.text, m.marks)));
  bubble.append(footer(m));
  row.tabIndex = -1; // a touch shows the tools
  row.append(bubble);
  if (replies) {
    const b = el("button", { type: "button", className: "thread", textContent: replies === 1 ? "1 reply" : replies + " replies" });
    b.addEventListener("click", () => go({ thread: m.id }));
    row.append(b);
  }
  if (m.buttons) row.append(keyboard(m));
  row.append(tools(m, mine));
  return row;
}

function attachments(m) {
  const out = [];
  for (const f of m.files || []) {
    const url = "/page/file?id=" + encodeURIComponent(f.id);
    out.push(f.picture ?
      el("a", { href: url, download: "" }, el("img", { src: url + "&show=1", alt: "photo" })) :
      el("a", { className: "file", href: url, download: f.name || "" },
        el("b", { textContent: f.name || "file" }), el("small", { textContent: size(f.size || 0) })));
  }
  for (const text of m.extras || []) out.push(el("div", { textContent: text }));
  return out;
}

function size(n) {
  return n < 1000 ? n + " B" : n < 1e6 ? (n / 1000).toFixed(1) + " kB" : (n / 1e6).toFixed(1) + " MB";
}

function footer(m) {
  const at = new Date(m.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const foot = el("footer");
  for (const r of m.reactions || []) foot.append(el("span", { className: "reaction" }, signs(r)));
  if (m.before) {
    const before = el("details", { className: "before" }, el("summary", { textContent: "edited" }));
    for (const b of m.before) before.append(el("p", { textContent: b }));
    foot.append(before);
  }
  foot.append(el("time", { textContent: at }));
  return foot;
}

function keyboard(m) {
  const box = el("div", { className: "keyboard" });
  for (const row of m.buttons) {
    const line = el("div");
    for (const key of row) {
      const b = el("button", { type: "button", textContent: key.label });
      b.addEventListener("click", async () => {
        if (key.url) return void window.open(/^https?:/i.test(key.url) ? key.url : "about:blank", "_blank", "noopener");
        b.classList.add("waiting");
        const id = await act("press", { message: m.id, text: key.code });
        if (!id) return void b.classList.remove("waiting");
        pressed.set(id, b);
        showAnswers();
      });
      line.append(b);
    }
    box.append(line);
  }
  return box;
}

function tools(m, mine) {
  const box = el("div", { className: "tools" });
  const tool = (face, title, f) => {
    const b = el("button", { type: "button", title, ariaLabel: title }, face);
    b.addEventListener("click", f);
    box.append(b);
  };
  tool(icon("reply"), "Reply", () => setContext({ kind: "reply", message: m }));
  for (const emoji of view.signs || []) {
    tool(signs(emoji), "React with " + emoji, () => {
      const on = (m.reactions || []).includes(emoji);
      act("react", { message: m.id, text: on ? "" : emoji });
    });
  }
  if (mine) {
    tool(icon("edit"), "Edit", () => setContext({ kind: "edit", message: m }));
    tool(icon("delete"), "Delete", async () => {
      const gone = await act("delete", { message: m.id });
      if (gone) toast("Deleted here. " + view.note);
    });
  }
  return box;
}

function setContext(c) {
  const was = context;
  context = c;
  $("context").hidden = !c;
  if (c) $("context").firstElementChild.textContent = (c.kind === "edit" ? "Edit: " : "Reply to: ") + (c.message.text || "a file");
  if (c && c.kind === "edit") $("text").value = c.message.text || "";
  if (!c && was && was.kind === "edit") $("text").value = "";
  $("send").textContent = c && c.kind === "edit" ? "Save" : "Send";
  grow();
  $("text").focus();
}

function grow() {
  $("text").style.height = "auto";
  const tall = $("text").scrollHeight + $("text").offsetHeight - $("text").clientHeight; // with its border
  $("text").style.height = Math.min(tall, 200) + "px";
  $("text").style.overflowY = tall > 200 ? "auto" : "hidden";
}

function picked() {
  const files = [...$("file").files];
  $("picked").hidden = !files.length;
  $("picked").textContent = files.map((f) => `${f.name} (${size(f.size)})`).join(", ");
}

async function send() {
  const text = $("text").value;
  const files = [...$("file").files];
  if (context && context.kind === "edit") {
    if (await act("edit", { message: context.message.id, text }) !== null) setContext(null);
    return;
  }
  if (!here.chat || !text.trim() && !files.length) return;
  const was = context;
  $("text").value = $("file").value = "";
  picked();
  $("menu").hidden = true;
  setContext(null); // now: what is clicked meanwhile is for the next message
  if (await act("send", { text, message: was ? was.message.id : "" }, files) === null) {
    const back = new DataTransfer(); // it was not taken
    for (const f of files) back.items.add(f);
    $("text").value = text;
    $("file").files = back.files;
    picked();
    if (!context) setContext(was);
    return;
  }
  $("messages").scrollTop = $("messages").scrollHeight;
}

function toggleMenu() {
  const menu = $("menu");
  menu.hidden = !menu.hidden;
  const commands = view && view.commands || [];
  menu.replaceChildren(...commands.map((c) => {
    const b = el("button", { type: "button" }, el("b", { textContent: "/" + c.name }), el("span", { textContent: c.about }));
    b.addEventListener("click", () => { menu.hidden = true; $("text").value = "/" + c.name + " "; $("text").focus(); });
    return b;
  }));
  if (!commands.length) menu.textContent = "The bot has set no commands.";
}

$("messages").addEventListener("click", (e) => {
  if (e.target.matches(".command")) act("send", { text: e.target.textContent });
});
$("composer").addEventListener("submit", (e) => { e.preventDefault(); send(); });
$("text").addEventListener("input", grow);
$("text").addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    send();
  } else if (e.key === "Escape") {
    setContext(null);
  } else if (e.key === "ArrowUp" && !$("text").value) {
    const last = (view.messages || []).findLast((m) => m.author.id === here.user && m.text);
    if (last) setContext({ kind: "edit", message: last });
  }
});
$("text").addEventListener("keypress", (e) => { if (e.key === "Enter" && !e.shiftKey) e.preventDefault(); });
$("attach").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", picked);
$("commands").addEventListener("click", toggleMenu);
$("context").lastElementChild.addEventListener("click", () => setContext(null));
$("mention").addEventListener("click", () => {
  $("text").value = view.mention + " " + $("text").value;
  $("text").focus();
});
$("user").addEventListener("change", () => {
  // The direct chat is that of whoever one is by then.
  go(inDirect() ? { user: $("user").value, chat: "" } : { user: $("user").value, chat: here.chat, thread: here.thread });
});
$("add").addEventListener("click", async () => {
  const name = window.prompt("What is the person's name?");
  const u = name ? await act("person", { text: name }) : null;
  if (u) go({ user: u.id, chat: "" });
});
$("block").addEventListener("click", () => act("block", { text: view.blocked ? "false" : "true" }));
// Who sees the newest message goes on seeing it when the window or a keyboard changes.
let tall = 0;
new ResizeObserver(([of]) => {
  const list = $("messages"), was = tall;
  tall = of.contentRect.height;
  if (list.scrollHeight - list.scrollTop - was < 120) list.scrollTop = list.scrollHeight;
}).observe($("messages"));
document.addEventListener("dragover", (e) => e.preventDefault());
document.addEventListener("drop", (e) => {
  e.preventDefault();
  if (e.dataTransfer.files.length) { $("file").files = e.dataTransfer.files; picked(); }
});

go({});
