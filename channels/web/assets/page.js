// What neither the server's HTML nor htmx can do: the stream of a page that is looked at, where the reader is, the line to write in.
"use strict"

const $ = (selector, in_ = document) => in_.querySelector(selector)
const all = (selector, in_ = document) => [...in_.querySelectorAll(selector)]
const chat = $("#chat"), streams = all("[data-live]").filter((of) => of.dataset.live).at(-1), log = $("#log"), composer = $("#composer"), text = $("#text"), toast = $("#toast")

// --- How long something lasts.
function ages() {
	for (const time of all("time.since")) {
		const s = Math.max(0, Math.round((Date.now() - new Date(time.dateTime)) / 1000))
		time.textContent = (s < 90 ? `${s} s` : s < 5400 ? `${Math.round(s / 60)} min` : s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`) + " ago"
	}
}
if ($("#now")) setInterval(ages, 5000)

// --- Signing in: the secret of a link is behind the #, which no preview is told. The server shows whose it is.
const whose = $("#whose")
function openLink() {
	if (!whose || location.hash.length <= 20) return
	whose.elements.secret.value = location.hash.slice(1)
	history.replaceState(null, "", location.pathname)
	$("#other").hidden = true
	whose.submit()
}
addEventListener("hashchange", openLink)
openLink()

// --- What is said for a moment.
let fading
function say(words) {
	if (words !== undefined) {
		toast.replaceChildren(Object.assign(document.createElement("p"), { textContent: words }))
	}
	clearTimeout(fading)
	fading = setTimeout(() => toast.replaceChildren(), 6000)
}

// --- The reader stays where they are; at the end they stay at the end.
let atEnd = true
const below = $("#below")
const nearEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 80
function follow() {
	if (atEnd) {
		log.scrollTop = log.scrollHeight
	}
	below.hidden = atEnd
}
if (log) {
	log.addEventListener("scroll", () => {
		atEnd = nearEnd()
		if (atEnd) below.hidden = true
	}, { passive: true })
	below.addEventListener("click", () => { atEnd = true; follow(); text?.focus() })
	new ResizeObserver(() => { if (atEnd) log.scrollTop = log.scrollHeight }).observe(log)
	let height = 0
	addEventListener("htmx:beforeSwap", (event) => { if (event.target.id === "older") height = log.scrollHeight - log.scrollTop })
	addEventListener("htmx:afterSwap", () => { if (height) { log.scrollTop = log.scrollHeight - height; height = 0 } })
}

// --- The stream. A hidden page closes it, and goes on behind the last event that it has.
let last = Number(chat?.dataset.last ?? 0), closing
const net = $("#net")
// The address says which buttons stand there: what they decide may be decided meanwhile.
const address = () => `${streams.dataset.live}?after=${last}&shown=${all("#items form.choices").map((form) => form.id || form.closest("article").id)}`
function connect() {
	clearTimeout(closing)
	if (!streams?.dataset.live || $("#live")) return
	const live = document.createElement("div")
	live.id = "live"
	live.hidden = true
	live.setAttribute("sse-connect", address())
	live.setAttribute("sse-swap", "part,event,happened")
	live.setAttribute("hx-swap", "none")
	streams.append(live)
	htmx.process(live)
}
function disconnect() {
	const live = $("#live")
	if (live) htmx.remove(live)
}
document.addEventListener("visibilitychange", () => {
	if (!document.hidden) {
		connect()
		seen()
	} else if (!waitsForAnswer()) {
		closing = setTimeout(disconnect, 3000)
	}
})
addEventListener("pageshow", (event) => { if (event.persisted) { disconnect(); connect() } })
addEventListener("pagehide", disconnect)
addEventListener("htmx:sseOpen", () => { if (net) net.textContent = "" })
addEventListener("htmx:sseError", (event) => {
	if (net) net.textContent = "Reconnecting…"
	$("#live")?.setAttribute("sse-connect", address())
	if (event.detail.source?.readyState === EventSource.CLOSED) askAgain()
})
// A stream that is refused may be of somebody who is signed in no more.
let asking
function askAgain() {
	clearTimeout(asking)
	asking = setTimeout(async () => {
		const answer = await fetch(location.href, { method: "HEAD", redirect: "manual" }).catch(() => null)
		if (answer && answer.type === "opaqueredirect") location.reload()
	}, 1000)
}
addEventListener("htmx:sseBeforeMessage", (event) => {
	const n = Number(event.detail.lastEventId || 0)
	if (event.detail.type === "happened") again()
	if (event.detail.type === "happened" || event.detail.type === "event" && n <= last) { // it came before
		event.preventDefault()
		return
	}
	last = Math.max(last, n)
})
let told = 0
addEventListener("htmx:sseMessage", (event) => {
	if (!log) return
	const part = event.detail.data
	ages()
	dress(document)
	if (!chat) return
	if (!atEnd && part.includes("<article") && !part.includes('id="growing"')) below.hidden = false
	follow()
	if (part.includes('class="bot')) {
		if (document.hidden) notify()
		else seen()
	}
	if (part.includes('id="state"') && !waitsForAnswer()) {
		if (document.hidden) disconnect()
		else seen()
	}
	const bot = all("#items > article.bot").at(-1)
	if (bot && bot.dataset.event !== told && !part.includes('id="growing"')) {
		told = bot.dataset.event
		$("#spoken")?.remove()
		document.body.append(Object.assign(document.createElement("div"), { id: "spoken", className: "hidden", role: "status", textContent: $(".text", bot).innerText }))
	}
})
const waitsForAnswer = () => Boolean($("#state .working"))
function seen() {
	if (chat?.dataset.seen) fetch(chat.dataset.seen, { method: "POST", keepalive: true }).catch(() => {})
}
// What is shown is asked for again once something happened, and takes the place of the old where it differs, unless somebody is at it.
let shown = Object.fromEntries(all("[data-src]").map((part) => [part.id, part.innerHTML]))
let sent = 0 // forms: what was asked for before is old by then
for (const step of ["htmx:beforeRequest", "htmx:afterRequest"]) {
	addEventListener(step, (event) => {
		if (event.detail.requestConfig.verb === "get") return
		sent++
		shown = {}
	})
}
const isUsed = (part) => $("details[open], :is(input, textarea, select):focus", part) || all("input, textarea", part).some((field) => field.value !== field.defaultValue)
async function again() {
	for (const part of all("[data-src]")) {
		const before = sent, answer = await fetch(part.dataset.src || location.href).catch(() => null)
		if (!answer?.ok || answer.redirected) return
		const page = new DOMParser().parseFromString(await answer.text(), "text/html")
		if (sent !== before) return again()
		const now = (page.getElementById(part.id) ?? page.body).innerHTML
		if (now === shown[part.id] || isUsed(part) || part.id === "sessions" && $("#q").value) continue
		shown[part.id] = now
		htmx.swap(part, now, { swapStyle: "innerHTML" })
	}
}
function notify() {
	if (globalThis.Notification?.permission !== "granted") return
	const note = new Notification($(".bar h1").textContent, { body: all("#items > article.bot").at(-1)?.innerText.slice(0, 200), tag: chat.dataset.session })
	note.onclick = () => { focus(); note.close() }
}

// --- Code that can be copied, also where the page is not on https.
function dress(in_) {
	for (const code of all("#items .code:not(:has(> button))", in_)) {
		code.append(Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "Copy" }))
	}
}
async function copy(words, button) {
	try {
		await navigator.clipboard.writeText(words)
	} catch {
		const box = Object.assign(document.createElement("textarea"), { value: words, className: "hidden" })
		document.body.append(box)
		box.select()
		document.execCommand("copy")
		box.remove()
	}
	button.textContent = "Copied"
	setTimeout(() => { button.textContent = "Copy" }, 2000)
}

// --- The line to write in. What is not sent stays, also when the page is loaded again.
const draft = () => "draft:" + (chat.dataset.session || "new")
let editing = "", going = ""
function grow() {
	if (CSS.supports("field-sizing", "content")) return
	text.style.height = "auto"
	text.style.height = text.scrollHeight + "px"
}
function keep() {
	if (editing) return
	if (text.value.trim()) localStorage.setItem(draft(), text.value)
	else localStorage.removeItem(draft())
}
function newKey() { $("#key").value = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("") }
function edit(article) {
	editing = $(".edit", article).dataset.edit
	text.value = $(".text", article).innerText
	$("#editing").hidden = false
	grow()
	text.focus()
}
function leaveEdit() {
	editing = ""
	$("#editing").hidden = true
	text.value = localStorage.getItem(draft()) ?? ""
	grow()
}
function attached() {
	$("#attached").replaceChildren(...[...$("#files").files].map((file) => {
		const row = Object.assign(document.createElement("li"), { textContent: file.name })
		const off = Object.assign(document.createElement("button"), { type: "button", className: "plain", ariaLabel: "Take off " + file.name })
		off.addEventListener("click", () => { attach([...$("#files").files].filter((other) => other !== file)); text.focus() })
		row.append(off)
		return row
	}))
}
function attach(list) {
	const files = new DataTransfer()
	for (const file of list) files.items.add(file)
	$("#files").files = files.files
	attached()
}
const bring = (list) => attach([...$("#files").files, ...list])
// The commands that begin as what is written.
function offer() {
	for (const row of all("#commands li")) row.hidden = !/^\/\w*$/.test(text.value) || !$("button", row).value.startsWith(text.value)
	$("#commands").hidden = !$("#commands li:not([hidden])")
}
const offered = () => all("#commands:not([hidden]) li:not([hidden]) button")
if (composer) {
	newKey()
	text.value = localStorage.getItem(draft()) ?? ""
	grow()
	offer()
	text.addEventListener("input", () => { grow(); keep(); offer() })
	composer.addEventListener("keydown", (event) => {
		const rows = offered(), by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
		if (!rows.length || !by && event.key !== "Escape" || !event.target.closest("#text, #commands")) return
		event.preventDefault()
		event.stopPropagation()
		if (by) rows[(rows.indexOf(document.activeElement) + by + rows.length + (by < 0 && document.activeElement === text)) % rows.length].focus()
		else {
			$("#commands").hidden = true
			text.focus()
		}
	}, true)
	text.addEventListener("keydown", (event) => {
		if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !matchMedia("(pointer: coarse)").matches) {
			event.preventDefault()
			composer.requestSubmit()
		} else if (event.key === "ArrowUp" && !text.value) {
			const mine = all("#items > article.person").filter((a) => $(".edit", a)).at(-1)
			if (mine) { event.preventDefault(); edit(mine) }
		} else if (event.key === "Escape" && editing) {
			event.stopPropagation()
			leaveEdit()
		}
	})
	$("#editing button").addEventListener("click", leaveEdit)
	$("#files").addEventListener("change", attached)
	text.addEventListener("paste", (event) => {
		if (event.clipboardData.files.length) { event.preventDefault(); bring(event.clipboardData.files) }
	})
	for (const [name, on] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
		chat.addEventListener(name, (event) => {
			if (!event.dataTransfer?.types.includes("Files")) return
			event.preventDefault()
			chat.classList.toggle("dropping", on)
			if (name === "drop") bring(event.dataTransfer.files)
		})
	}
	composer.addEventListener("htmx:configRequest", (event) => {
		if (event.target !== composer) return
		going = text.value
		if (editing) event.detail.path = editing
		if (globalThis.Notification?.permission === "default") Notification.requestPermission().catch(() => {})
	})
	composer.addEventListener("htmx:beforeRequest", (event) => {
		if (event.target === composer && !text.value.trim() && !$("#files").files.length) event.preventDefault()
	})
	composer.addEventListener("htmx:afterRequest", (event) => {
		if (event.target !== composer) return
		const status = event.detail.xhr?.status
		if (!status || status >= 400) { // it leads elsewhere where it was taken
			if (!status) say("That was not sent: the bot cannot be reached. Try again in a moment.")
			return
		}
		let left = (text.value.startsWith(going) ? text.value.slice(going.length) : text.value).trimStart() // written since
		if (editing) {
			leaveEdit()
			left = text.value
		}
		composer.reset()
		text.value = left
		keep()
		newKey()
		attached()
		grow()
		offer()
		atEnd = true
		follow()
	})
}

// --- A change of the settings that has to be confirmed: the time until then.
let ticking
function countdown() {
	const left = $("#waiting [data-left]")
	clearInterval(ticking)
	if (!left) return
	const until = Date.now() + left.dataset.left * 1000
	ticking = setInterval(() => {
		const seconds = Math.ceil((until - Date.now()) / 1000)
		left.textContent = `${Math.max(0, seconds)} s`
		if (seconds > 0) return
		clearInterval(ticking)
		htmx.ajax("GET", left.dataset.then, { target: "#waiting", swap: "innerHTML" })
	}, 500)
}
for (const event of ["htmx:afterSwap", "htmx:oobAfterSwap"]) addEventListener(event, (e) => { if (e.target.id === "waiting") countdown() })

// --- The time zone of the browser, where somebody is asked for theirs.
const zone = $("#zone[data-own]")
if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || zone.value

// --- Presses.
document.addEventListener("click", (event) => {
	const button = event.target.closest("button, summary")
	for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false
	if (!event.target.closest("#side, #menu")) side(false)
	if (!button) return
	if (button.matches(".code > button")) copy($("pre", button.parentElement).innerText, button)
	else if (button.matches("#commands button")) {
		text.value = button.value
		text.focus()
		offer()
	} else if (button.matches(".copy")) copy($(".text", button.closest("article")).innerText, button)
	else if (button.matches(".edit")) edit(button.closest("article"))
	else if (button.matches(".reply")) {
		text.value = $(".text", button.closest("article")).innerText.trim().split("\n").map((line) => "> " + line).join("\n").slice(0, 2000) + "\n\n" + text.value
		grow()
		text.focus()
	} else if (button.id === "menu") {
		side(!$("#side").classList.contains("open"))
		if ($("#side").classList.contains("open")) $("#side a").focus()
	}
})
function side(open) {
	$("#side")?.classList.toggle("open", open)
	$("#menu")?.setAttribute("aria-expanded", open)
}
addEventListener("htmx:afterRequest", (event) => {
	if (!event.detail.successful && event.detail.xhr && !event.detail.xhr.status) say("The bot cannot be reached. Try again in a moment.")
})
addEventListener("htmx:afterSwap", (event) => { if (event.target.id === "found") event.target.scrollIntoView({ block: "nearest" }) })
addEventListener("htmx:afterSwap", () => { ages(); dress(document); if (toast?.childElementCount) say() })

// --- Keys.
document.addEventListener("keydown", (event) => {
	if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
	const writes = event.target.closest?.("input, textarea, select, [contenteditable]")
	if (event.key === "Escape") {
		const menu = $("details.menu[open]"), stop = $("#state button[data-key]")
		if ($("#side")?.classList.contains("open")) {
			side(false)
			$("#menu").focus()
		} else if (menu) {
			menu.open = false
			$("summary", menu).focus()
		} else if (writes && (writes !== text || !stop)) writes.blur()
		else stop?.click()
		return
	}
	if (writes) return
	const keys = {
		"/": () => { side(true); $("#q")?.focus() },
		n: () => $("a.new")?.click(),
		j: () => step(1),
		k: () => step(-1),
		Enter: () => event.target === document.body && text?.focus(),
	}
	if (keys[event.key]) {
		if (event.key !== "Enter") event.preventDefault()
		keys[event.key]()
	}
})
function step(by) {
	const rows = all("#sessions a"), at = rows.indexOf(document.activeElement)
	const here = at >= 0 ? at : rows.findIndex((a) => a.ariaCurrent === "page")
	rows[Math.max(0, Math.min(rows.length - 1, here + by))]?.focus()
}

addEventListener("DOMContentLoaded", () => {
	ages()
	dress(document)
	countdown()
	if (log) follow()
	if (document.hidden) return
	connect()
	seen()
})
