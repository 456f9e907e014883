package page_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/channels/platformtest/pagetest"
	"switchboard/cmd/switchboard/programtest"
)

// foreign are the elements of a page that it has from nobody but an attacker, and whether their script ran.
const foreign = `JSON.stringify([
	...(window.pwned ? ["a script ran"] : []),
	...[...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name) || /^(href|src|action|formaction|data|xlink:href)$/i.test(a.name) && /^[\s\x00-\x20]*(javascript|vbscript|data|blob|view-source):/i.test(a.value))),
	...document.querySelectorAll("iframe, object, embed, base, style, template, math, marquee, script:not(head > [src^='/assets/']), link:not(head > *), meta:not(head > *), meta[http-equiv], [srcdoc], [style]:not(#text)"),
	...document.querySelectorAll(":is(.text, pre, .what, summary, .said, .quote, #sessions .name, #toast, td, th, .facts, h1, dd) :is([hx-get], [hx-post], [sse-connect], [hx-swap-oob], [data-hx-get], [hx-on], [hx-vals], [hx-ext], img, svg, form, textarea, select):not(.line *, .menu *, .more *, form:has(> button), #sessions *, svg.icon)"),
	...[...document.querySelectorAll("a[href]")].filter((a) => a.closest(".text") && !a.getAttribute("href").startsWith("/files/") && (a.origin === location.origin || !/^(https?|mailto):$/.test(a.protocol))),
	...[...document.querySelectorAll("#toast, #main, #items")].filter((e, i, all) => all.some((o) => o !== e && o.id === e.id)),
].map((e) => e.outerHTML?.slice(0, 300) ?? e))`

// foreign is what of a payload came to life on the open page.
func (b *browser) foreign() (found []string) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(pagetest.Evaluate[string](b.Page, foreign)), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

// clean fails if a payload came to life on the open page.
func (b *browser) clean(where string) {
	b.t.Helper()
	b.Await("the page", settled)
	b.Do(`document.querySelectorAll("details").forEach((e) => { e.open = true })`)
	for _, f := range b.foreign() {
		b.t.Errorf("%s has %s", where, f)
	}
	for _, f := range b.Faults() {
		if !strings.Contains(f, b.refused) || b.refused == "" {
			b.t.Errorf("%s has a fault: %s", where, f)
		}
	}
}

// attacker answers with payloads: each in an item of a list, whose end ends what it opened, all in a row, or in a plan.
func attacker(payloads []string) func(llmtest.Request) llmtest.Reply {
	list := "An answer.\n\n- " + strings.Join(inItems(payloads), "\n\n- ") + "\n\nThe end of the list."
	row := "An answer.\n\n" + strings.Join(payloads, "\n\n") + "\n\n```\n-->\n\nThe end of the row."
	command := "echo " + base64.StdEncoding.EncodeToString([]byte(row)) + " | base64 -d # " + strings.Join(short(payloads), " ")
	return func(req llmtest.Request) llmtest.Reply {
		switch text := programtest.Said(req); {
		case req.Role == "planner" && strings.HasPrefix(text, "in a list"):
			return llmtest.Text(llmtest.Plan("say it", llmtest.Answer(list)))
		case req.Role == "planner" && strings.HasPrefix(text, "in a row"):
			return llmtest.Text(llmtest.Plan("say it", llmtest.Answer(row)))
		case req.Role == "planner" && strings.HasPrefix(text, "in a plan"):
			return llmtest.Text(llmtest.Plan(strings.Join(short(payloads), " "), llmtest.Exec(command, "it prints "+payloads[0]), llmtest.Msg("Say that you ran it")))
		case req.Role == "planner" && strings.HasPrefix(text, "in a choice"):
			return llmtest.Text(llmtest.Plan("ask", llmtest.Ask(payloads[0], short(payloads)[10:18]...)))
		}
		return programtest.Clerk(req)
	}
}

func inItems(payloads []string) (items []string) {
	for _, p := range payloads {
		items = append(items, strings.ReplaceAll(p, "\n", "\n  "))
	}
	return items
}

// short are payloads that are one line of at most 60 characters, such as names have.
func short(payloads []string) (list []string) {
	for _, p := range payloads {
		if len(p) <= 60 && !strings.ContainsAny(p, "\n\x00\u2028") {
			list = append(list, p)
		}
	}
	return list
}

// joined are payloads as one message: one with a NUL byte is refused.
func joined(payloads []string) string {
	return strings.ReplaceAll(strings.Join(payloads, "\n\n"), "\x00", "\x01")
}

// posts sends a form as somebody without a browser; what is refused is refused.
func (v *visit) posts(path string, fields ...string) (status int, page string) {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	resp, page := v.asks("POST", path, form)
	return resp.StatusCode, page
}

// Nothing that anybody writes, or that a model or a command says, becomes a part of the page.
func TestWhatIsSaidStaysText(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/xss.json")
	if err != nil {
		t.Fatal(err)
	}
	var payloads []string
	if err := json.Unmarshal(data, &payloads); err != nil {
		t.Fatal(err)
	}
	either(t, func(t *testing.T, s *site) {
		s.Model.Handle(attacker(payloads))
		root := s.signedIn(t, "root")
		attackChat(t, s, root, payloads)
		attackPages(s, root, short(payloads), payloads)
	})
}

// attackChat has payloads said in chats, live and as they are loaded again.
func attackChat(t *testing.T, s *site, root *browser, payloads []string) {
	t.Helper()
	root.writes("begin")
	root.reads("heard: begin")
	names, _ := json.Marshal(short(payloads)[:9])
	root.Do(fmt.Sprintf(`const d = new DataTransfer(); for (const name of %s) d.items.add(new File(["<script>window.pwned=1</script>"], name + ".html", {type: "text/html"})); document.querySelector("#text").dispatchEvent(new ClipboardEvent("paste", {clipboardData: d, cancelable: true, bubbles: true}))`, names))
	root.Await("the files are named", `document.querySelectorAll("#attached li").length === 9`)
	all, _ := json.Marshal(joined(payloads))
	root.Do(fmt.Sprintf(`document.querySelector("#text").value = %s; document.querySelector("#composer").requestSubmit()`, all))
	root.Await("an end", `document.querySelector("#toast p") || document.querySelectorAll("#items > .person").length === 2`)
	if said := pagetest.Evaluate[string](root.Page, `document.querySelector("#toast").innerText`); said != "" {
		t.Fatal(said)
	}
	root.Await("the message", `document.querySelectorAll("#items > .person").length === 2 && document.querySelectorAll("#items .files a").length === 9`)
	root.reads("heard: ")
	for _, say := range []string{"in a list", "in a row"} {
		root.writes(say)
		root.reads("The end of the " + strings.TrimPrefix(say, "in a "))
	}
	root.writes("in a plan")
	root.Await("the question", `document.querySelector("#items .approval.proposed pre").innerText.includes("<script>")`)
	root.clean("the question")
	root.opens("/now")
	root.Await("the question", `document.querySelector("#now-approvals .approval.proposed pre").innerText.includes("<script>")`)
	root.clean("/now with the question")
	root.clicks(`#now-approvals button[value=once]`)
	root.Await("no question", `document.querySelector("#now-approvals .none")`)
	turn := fmt.Sprint("/turns/", s.TurnOf("in a plan").ID)
	path := pagetest.Evaluate[string](root.Page, `document.querySelector("#sessions a").pathname`)
	root.opens(path)
	root.reads("ran: it")
	root.clicks(`#items .plan .output`)
	root.Await("the output", `document.querySelector("#items .plan li pre").textContent.includes("The end of the row")`)
	root.writes("in a choice")
	root.Await("the choices", `document.querySelectorAll("#items .choices button").length === 8`)
	root.clean("the chat as it grew")
	root.clicks(`#items > .bot .reply`)
	root.opens(path)
	root.Await("the messages", `document.querySelectorAll("#items .choices button").length === 8`)
	root.clean("the chat")
	if n := pagetest.Evaluate[int](root.Page, `[...document.querySelectorAll("#items > .bot .text > ul > li, #items > .bot .text > ul > li > p:first-child")].filter((e) => e.innerText).length`); n < 80 {
		t.Errorf("%d payloads are shown in the list, want 80 and more", n)
	}
	root.opens(turn)
	root.clicks(`.timeline .output`)
	root.Await("what the step brought", `document.querySelector(".timeline pre.brought").textContent.includes("The end of the row")`)
	root.clean("why")
}

// attackPages has payloads stand wherever else something is shown that somebody wrote.
func attackPages(s *site, root *browser, short, payloads []string) {
	s.T.Helper()
	admin := s.visitor("root")
	if status, page := admin.posts("/settings", "key", "llm.models.x.model", "value", "fake/"+short[0]); status >= 400 {
		s.T.Errorf("a model with a payload in its name: %d %s", status, page)
	}
	_, _, home := admin.does("GET", "/sessions", "")
	session := between(home, `href="/c/`, `"`)
	for _, title := range short[:6] {
		if status, page := admin.posts("/c/"+session+"/title", "title", title); status >= 400 {
			s.T.Errorf("the title %q: %d %s", title, status, page)
		}
		root.opens("/c/" + session)
		root.clean("a chat called " + title)
	}
	// On a platform: who wrote, what they are called, and what was not delivered.
	all := joined(payloads)
	s.Platform.Next(channelstest.Fault{Refused: short[0]})
	s.Platform.Write(scripted.Message{Conversation: "cada", User: "ada", Label: short[1], Text: all})
	for i, label := range short[:5] {
		s.Platform.Write(scripted.Message{Conversation: fmt.Sprint("z", i), User: fmt.Sprint("zed", i, label), Label: label, Text: all})
	}
	s.Await("the strangers are kept out", 5*time.Second, func() bool { return strings.Count(s.Log.String(), "a stranger wrote") >= 5 })
	root.opens("/now")
	root.Await("the dead delivery", `document.querySelector("#now-deliveries tbody").innerText.includes("<script>")`)
	root.clean("/now")
	root.opens("/people")
	root.Await("the strangers", `document.querySelectorAll(".knocks li").length >= 5 && document.querySelector(".knocks").innerText.includes("<script>")`)
	root.clean("/people")

	for _, text := range append(short[:5:5], all) {
		admin.posts("/jobs", "kind", "reminder", "when", "every day at 9", "text", text[:min(len(text), 7000)])
		admin.posts("/people/add", "name", text, "role", "user", "tools", "*", "identity", "scripted:"+text)
		admin.posts("/people/allow", "identity", "scripted:zed1"+short[1], "name", text)
		admin.posts("/secrets/set", "name", text, "value", "a-long-value-1")
		admin.posts("/tokens", "name", text, "days", "1", "scope", "read")
		admin.posts("/settings", "key", "llm.models.x.model", "value", "fake/"+text)
		admin.posts("/settings", "key", text, "value", text)
		admin.posts("/me/timezone", "timezone", text)
	}
	q := url.QueryEscape
	root.refused = "status of 4"
	for _, path := range []string{
		"/", "/jobs", "/jobs/1", "/jobs/6", "/money", "/people", "/secrets", "/tokens", "/settings", "/settings?q=" + q(short[0]), "/settings/changes", "/settings/llm.models.x.model", "/settings/" + url.PathEscape(short[0]),
		"/audit", "/audit?person=" + q(short[10]) + "&kind=" + q(short[11]), "/audit?day=" + q(short[0]), "/people/" + url.PathEscape(short[0]), "/" + url.PathEscape(short[0]), "/c/" + url.PathEscape("web:root/"+short[0]), "/setup/zone", "/me",
	} {
		root.opens(path)
		root.clean(path)
	}
	// What is said in a toast, a search, an echo.
	for _, text := range short[:6] {
		root.opens("/settings/router.workers")
		root.sets(text)
		root.Await("a refusal", `document.querySelector("#setting .wrong, #toast p")`)
		root.clean("a setting that is refused")
		root.fills(`#q`, text)
		root.Do(`document.querySelector("#find").requestSubmit()`)
		root.Await("the search", settled)
		root.clean("a search")
	}
	root.opens("/jobs")
	root.Run(chromedp.SendKeys("#job-when", short[0]))
	root.Await("why it is not read", `document.querySelector("#job-echo .wrong")`)
	root.clean("an echo")
	root.opens("/me")
	root.fills(`[name=timezone]`, short[0])
	root.clicks(`form[action="/me/timezone"] button`)
	root.Await("a refusal", `document.querySelector("#toast").innerText !== ""`)
	root.clean("a toast")
	root.opens("/setup/zone")
	root.Do(fmt.Sprintf(`document.querySelector("#zone").value = %q; document.querySelector("button.go").click()`, short[0]))
	root.shows("is not a time zone")
	root.clean("the setup")
	root.Do(`const p = document.createElement("p"), a = document.createElement("a"), i = document.createElement("iframe"), x = document.createElement("div"); p.className = "text"; a.setAttribute("href", "javascript:1"); x.setAttribute("hx-get", "/me"); p.append(a, i, x); document.querySelector("#main").append(p)`)
	if found := root.foreign(); len(found) != 4 { // the link in two ways
		s.T.Errorf("of three elements of an attacker these are found: %q", found)
	}
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}
