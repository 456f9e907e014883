"use strict";

const $ = (id) => document.getElementById(id);
const here = { user: 0, chat: 0, thread: 0 };
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
  Object.assign(here, { thread: 0 }, where);
  if (!here.chat) here.chat = here.user;
  setContext(null);
  shown.clear();
  $("messages").replaceChildren();
  if (events) events.close();
  events = new EventSource(`/page/events?user=${here.user}&chat=${here.chat}`);
  events.onmessage = (e) => { view = JSON.parse(e.data); show(); };
  events.onerror = () => { setState("off", "The fake platform has stopped."); };
}

function setState(cls, text) {
  $("state").className = cls;
  $("state").textContent = text;
}

const nameOf = (u) => u ? [u.first_name, u.last_name].filter(Boolean).join(" ") : "";

function show() {
  if (!here.user && view.users && view.users.length) return go({ user: view.users[0].id, chat: view.users[0].id });
  $("bot").textContent = "@" + view.bot.username;
  setState(view.connected ? "on" : "off", view.connected ? "listening" : "waiting for the bot to connect");
  showUsers();
  showChats();
  showMessages();
  $("typing").textContent = view.typing ? "typing…" : "";
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
  const options = view.users.map((u) => el("option", { value: u.id, textContent: nameOf(u), selected: u.id === here.user }));
  if ($("user").children.length !== options.length) $("user").replaceChildren(...options);
  $("user").value = here.user;
}

function showChats() {
  const rows = [];
  for (const c of view.chats || []) {
    const direct = c.type === "private";
    const row = (title, thread, cls) => {
      const current = c.id === here.chat && thread === here.thread;
      const b = el("button", { type: "button", className: cls + (current ? " current" : ""), textContent: title });
      // The direct chat is that of whoever one is by then.
      b.addEventListener("click", () => go({ chat: direct ? here.user : c.id, thread }));
      if (current) $("title").textContent = title;
      rows.push([[c.id, thread, b.className, title], b]);
    };
    row(direct ? "@" + view.bot.username : c.title, 0, direct ? "direct" : "group");
    for (const t of c.topics || []) row(t.name, t.id, "topic");
  }
  const nav = $("chats"), now = JSON.stringify(rows.map(([key]) => key));
  if (now !== nav.dataset.rows) {
    nav.dataset.rows = now;
    nav.replaceChildren(...rows.map(([, b]) => b));
  }
  $("mention").hidden = here.chat === here.user;
}

function showMessages() {
  const list = $("messages");
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  const fresh = new Map();
  const rows = [];
  for (const m of view.messages) {
    const thread = m.is_topic_message ? m.message_thread_id : 0;
    if (m.chat.is_forum && thread !== here.thread) continue;
    const json = JSON.stringify(m);
    const old = shown.get(m.message_id);
    const row = old && old[0] === json ? old[1] : messageRow(m);
    fresh.set(m.message_id, [json, row]);
    rows.push(row);
  }
  shown = fresh;
  const same = rows.length === list.children.length && rows.every((r, i) => r === list.children[i]);
  if (!same) list.replaceChildren(...rows);
  if (atEnd && !same) list.scrollTop = list.scrollHeight;
}

function messageRow(m) {
  const mine = m.from && m.from.id === here.user && !m.bot;
  const row = el("li", { className: mine ? "mine" : m.bot ? "bot" : "theirs" });
  row.dataset.id = m.message_id;
  const service = serviceText(m);
  if (service) {
    row.className = "service";
    row.append(service);
    return row;
  }
  const bubble = el("article");
  if (!mine && here.chat !== here.user) bubble.append(el("header", { textContent: nameOf(m.from) }));
  if (m.forward_origin) bubble.append(el("div", { className: "from", textContent: "Forwarded" }));
  const to = m.reply_to_message;
  if (to && !to.forum_topic_created) {
    bubble.append(el("div", { className: "re" }, el("b", { textContent: nameOf(to.from) }),
      el("span", { textContent: m.quote ? m.quote.text : to.text || to.caption || "a file" })));
  }
  bubble.append(...attachments(m));
  const text = m.text || m.caption;
  if (text) bubble.append(el("div", { className: "text" }, formatted(text, m.text ? m.entities : m.caption_entities)));
  bubble.append(footer(m));
  row.tabIndex = -1; // a touch shows the tools
  row.append(bubble);
  if (m.reply_markup) row.append(keyboard(m));
  row.append(tools(m, mine));
  return row;
}

function serviceText(m) {
  if (m.forum_topic_created) return "Topic " + m.forum_topic_created.name;
  if (m.new_chat_members) return m.new_chat_members.map(nameOf).join(", ") + " joined";
  if (m.left_chat_member) return nameOf(m.left_chat_member) + " left";
  if (m.migrate_to_chat_id || m.migrate_from_chat_id) return "The group became a supergroup";
  return "";
}

function attachments(m) {
  const out = [];
  const url = (f) => "/page/file?id=" + encodeURIComponent(f.file_id);
  if (m.photo) {
    const f = m.photo[m.photo.length - 1];
    out.push(el("a", { href: url(f), download: "" }, el("img", { src: url(f) + "&show=1", alt: "photo" })));
  }
  for (const f of [m.document, m.audio, m.video, m.voice, m.sticker]) {
    if (!f) continue;
    out.push(el("a", { className: "file", href: url(f), download: f.file_name || "" },
      el("b", { textContent: f.file_name || "file" }), el("small", { textContent: size(f.file_size || 0) })));
  }
  if (m.location) out.push(el("div", {}, icon("place"), ` ${m.location.latitude}, ${m.location.longitude}`));
  if (m.contact) out.push(el("div", {}, icon("person"), ` ${m.contact.first_name} ${m.contact.phone_number}`));
  return out;
}

function size(n) {
  return n < 1000 ? n + " B" : n < 1e6 ? (n / 1000).toFixed(1) + " kB" : (n / 1e6).toFixed(1) + " MB";
}

function footer(m) {
  const at = new Date(m.date * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const foot = el("footer");
  for (const r of m.reactions || []) foot.append(el("span", { className: "reaction" }, signs(r.emoji)));
  if (m.before) {
    const before = el("details", { className: "before" }, el("summary", { textContent: "edited" }));
    for (const b of m.before) before.append(el("p", { textContent: b.text || b.caption || "" }));
    foot.append(before);
  }
  foot.append(el("time", { textContent: at }));
  return foot;
}

function keyboard(m) {
  const box = el("div", { className: "keyboard" });
  for (const row of m.reply_markup.inline_keyboard) {
    const line = el("div");
    for (const key of row) {
      const b = el("button", { type: "button", textContent: key.text });
      b.addEventListener("click", async () => {
        if (key.url) return void window.open(/^https?:/i.test(key.url) ? key.url : "about:blank", "_blank", "noopener");
        b.classList.add("waiting");
        const id = await act("press", { message: m.message_id, text: key.callback_data });
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
  for (const emoji of ["👍", "❤", "😁", "👀"]) {
    tool(signs(emoji), "React with " + emoji, () => {
      const on = (m.reactions || []).some((r) => r.emoji === emoji);
      act("react", { message: m.message_id, text: on ? "" : emoji });
    });
  }
  if (mine) {
    tool(icon("edit"), "Edit", () => setContext({ kind: "edit", message: m }));
    tool(icon("delete"), "Delete", async () => {
      const gone = await act("delete", { message: m.message_id });
      if (gone) toast("Deleted here. The platform does not tell bots of it: the bot keeps the message.");
    });
  }
  return box;
}

function setContext(c) {
  const was = context;
  context = c;
  $("context").hidden = !c;
  if (c) $("context").firstElementChild.textContent = (c.kind === "edit" ? "Edit: " : "Reply to: ") + (c.message.text || c.message.caption || "a file");
  if (c && c.kind === "edit") $("text").value = c.message.text || c.message.caption || "";
  if (!c && was && was.kind === "edit") $("text").value = "";
  $("send").textContent = c && c.kind === "edit" ? "Save" : "Send";
  grow();
  $("text").focus();
}

function grow() {
  $("text").style.height = "auto";
  $("text").style.height = Math.min($("text").scrollHeight, 200) + "px";
}

function picked() {
  const files = [...$("file").files];
  $("picked").hidden = !files.length;
  $("picked").textContent = files.map((f) => `${f.name} (${size(f.size)})`).join(", ");
}

async function send() {
  const text = $("text").value;
  const files = $("file").files;
  if (context && context.kind === "edit") {
    if (await act("edit", { message: context.message.message_id, text }) !== null) setContext(null);
    return;
  }
  if (!text.trim() && !files.length) return;
  const was = context;
  $("text").value = "";
  setContext(null); // now: what is clicked meanwhile is for the next message
  if (await act("send", { text, message: was ? was.message.message_id : 0 }, files) === null) {
    $("text").value = text; // it was not taken
    if (!context) setContext(was);
    return;
  }
  $("file").value = "";
  picked();
  $("messages").scrollTop = $("messages").scrollHeight;
}

function toggleMenu() {
  const menu = $("menu");
  menu.hidden = !menu.hidden;
  const commands = view ? view.commands : [];
  menu.replaceChildren(...commands.map((c) => {
    const b = el("button", { type: "button" }, el("b", { textContent: "/" + c.command }), el("span", { textContent: c.description }));
    b.addEventListener("click", () => { menu.hidden = true; $("text").value = "/" + c.command + " "; $("text").focus(); });
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
    const last = (view.messages || []).findLast((m) => m.from && m.from.id === here.user && (m.text || m.caption));
    if (last) setContext({ kind: "edit", message: last });
  }
});
$("text").addEventListener("keypress", (e) => { if (e.key === "Enter" && !e.shiftKey) e.preventDefault(); });
$("attach").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", picked);
$("commands").addEventListener("click", toggleMenu);
$("context").lastElementChild.addEventListener("click", () => setContext(null));
$("mention").addEventListener("click", () => {
  $("text").value = "@" + view.bot.username + " " + $("text").value;
  $("text").focus();
});
$("user").addEventListener("change", () => {
  const user = Number($("user").value);
  go({ user, chat: here.chat === here.user ? user : here.chat, thread: here.chat === here.user ? 0 : here.thread });
});
$("add").addEventListener("click", async () => {
  const name = window.prompt("What is the person's name?");
  const u = name ? await act("person", { text: name }) : null;
  if (u) go({ user: u.id, chat: u.id });
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
