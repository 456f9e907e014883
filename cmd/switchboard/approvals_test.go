package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/testkit"
)

// clerk plans the command behind "run", and says that it ran; everything else it repeats.
func clerk(req llmtest.Request) llmtest.Reply {
	command, runs := strings.CutPrefix(said(req), "run ")
	switch {
	case req.Role == "reviewer":
		return llmtest.Text(llmtest.ReviewOK())
	case req.Role == "worker":
		return llmtest.Text(strings.Replace(req.Section("Task"), "Say that you ran ", "ran: ", 1))
	case req.Section("Faults in your last plan") != "":
		return llmtest.Text(llmtest.Plan("be honest", llmtest.Answer("I may not: "+command)))
	case runs:
		name, _, _ := strings.Cut(command, " >>")
		return llmtest.Text(llmtest.Plan("run it", llmtest.Exec(command, "it ends well"), llmtest.Msg("Say that you ran "+name)))
	}
	return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard: "+said(req))))
}

var pairCode = regexp.MustCompile(`\b[A-Z2-7]{4}-[A-Z2-7]{4}(?:-[A-Z2-7]{4})?\b`)

// An office is an engine that serves every platform, and asks before it runs echo.
type office struct {
	*rig
	desks []*desk
}

// A desk is a platform with two people, of whom the settings name Bob, where dm is "allowlist": he
// is a user who may have commands run.
type desk struct {
	kind     string
	slash    string // before a command
	ada, bob *page
	breaks   func(platformtest.Fault)
}

func newOffice(t *testing.T, dm, extra string) *office {
	t.Helper()
	o := &office{rig: newRig(t, nil, "[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n[policy.exec]\nask = [\"echo *\"]\n"+extra)}
	o.model.Handle(clerk)
	telegram, slack, discord := telegramtest.New(t), slacktest.New(t), discordtest.New(t)
	telegram.Furnish()
	slack.Furnish()
	discord.Furnish()
	o.desk("telegram", "/", dm, telegram)
	o.desk("slack", "/switchboard ", dm, slack)
	o.desk("discord", "/", dm, discord)
	return o
}

func (o *office) desk(kind, slash, dm string, server interface {
	URL() string
	APIURL() string
	Login(had map[string]string) map[string]string
	Break(platformtest.Fault)
},
) {
	o.t.Helper()
	table := fmt.Sprintf("[channels.%s]\nkind = %q\napi_url = %q\ndm = %q\nrate = \"off\"\ntools_deny = [\"exec\"]\n", kind, kind, server.APIURL(), dm)
	for key, token := range server.Login(nil) {
		table += fmt.Sprintf("%s = %q\n", key, token)
	}
	d := &desk{kind: kind, slash: slash, breaks: server.Break}
	users := devView(o.t.(*testing.T), server.URL(), "", "").Users
	for i, u := range users {
		p := &page{t: o.t.(*testing.T), at: server.URL(), user: u.ID}
		p.chat = devView(p.t, p.at, u.ID, "").Chats[0].ID
		if i == 0 {
			d.ada = p
		} else {
			d.bob = p
		}
	}
	if dm == "allowlist" {
		table += fmt.Sprintf("[[people]]\nname = \"bob-%s\"\nidentities = [\"%s:%s\"]\ntools = [\"exec\"]\n", kind, kind, d.bob.user)
	}
	o.append(table)
	o.desks = append(o.desks, d)
}

// change replaces a text in the settings, which count at the next start.
func (o *office) change(old, now string) {
	o.t.Helper()
	testkit.Write(o.t, o.config, strings.ReplaceAll(testkit.Read(o.t, o.config), old, now))
}

// opens starts the engine and waits until it listens everywhere.
func (o *office) opens() {
	o.t.Helper()
	o.up()
	o.listens()
}

func (o *office) listens() {
	o.t.Helper()
	for _, d := range o.desks {
		o.await("the bot listens on "+d.kind, time.Minute, func() bool { return devView(d.ada.t, d.ada.at, "", "").Connected })
	}
}

// each does something at every desk at once: first all do it, then all look.
func (o *office) each(do func(d *desk) (then func())) {
	var then []func()
	for _, d := range o.desks {
		then = append(then, do(d))
	}
	for _, f := range then {
		f()
	}
}

// claims makes each Ada an admin.
func (o *office) claims() {
	o.t.Helper()
	for _, d := range o.desks { // each code ends the others
		code, _, _ := o.command("person", "claim")
		d.ada.writes(d.slash + "claim " + strings.TrimSpace(code))
		d.ada.reads("Welcome! You are an admin")
	}
}

// ran counts how often a line was written by commands.
func (o *office) ran(line string) (n int) {
	o.t.Helper()
	logs, err := filepath.Glob(filepath.Join(o.dir, "data", "workspaces", "*", "runs.txt"))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, log := range logs {
		for got := range strings.Lines(testkit.Read(o.t, log)) {
			if strings.TrimSpace(got) == line {
				n++
			}
		}
	}
	return n
}

// wantRan compares how often each line was written.
func (o *office) wantRan(want int, lines ...string) {
	o.t.Helper()
	for _, line := range lines {
		if got := o.ran(line); got != want {
			o.t.Errorf("%q ran %d times, want %d", line, got, want)
		}
	}
}

// found waits for a message of the bot with all these texts, and returns the newest.
func (p *page) found(texts ...string) (found platformtest.Message) {
	p.t.Helper()
	testkit.Await(p.t, fmt.Sprintf("%q is read at %s", texts, p.at), time.Minute, func() bool {
		for _, m := range slices.Backward(devView(p.t, p.at, p.user, p.chat).Messages) {
			lacks := func(text string) bool { return !strings.Contains(m.Text, text) }
			if m.Bot && !slices.ContainsFunc(texts, lacks) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// asked waits for the question about a command, which is shown as code, with its buttons.
func (p *page) asked(command string) platformtest.Message {
	p.t.Helper()
	m := p.found("May I", command)
	if got, want := labels(m), []string{"Allow once", "Allow in this session", "Always allow", "Deny"}; !slices.Equal(got, want) {
		p.t.Errorf("the buttons at %s are %q:\n%s", p.at, got, m.Text)
	}
	units := utf16.Encode([]rune(m.Text))
	for _, mark := range m.Marks {
		if mark.Type == "pre" && strings.TrimSpace(string(utf16.Decode(units[mark.From:mark.From+mark.Length]))) == command {
			return m
		}
	}
	p.t.Errorf("the command is no code at %s: %q, %+v", p.at, m.Text, m.Marks)
	return m
}

// typed is what a question says to type, approve or deny, with the code.
func (p *page) typed(m platformtest.Message, name string) string {
	p.t.Helper()
	line := regexp.MustCompile("/(?:switchboard )?" + name + " [A-Z2-7]{4}-[A-Z2-7]{4}").FindString(m.Text)
	if line == "" {
		p.t.Fatalf("it does not say how to %s:\n%s", name, m.Text)
	}
	return line
}

// file waits for the bot's file at or after a message, and reads it.
func (p *page) file(m platformtest.Message) string {
	p.t.Helper()
	var id string
	testkit.Await(p.t, "a file is at "+p.at, time.Minute, func() bool {
		list := devView(p.t, p.at, p.user, p.chat).Messages
		for _, m := range list[slices.IndexFunc(list, func(l platformtest.Message) bool { return l.ID == m.ID }):] {
			for _, f := range m.Files {
				id = f.ID
			}
		}
		return id != ""
	})
	resp, err := http.Get(p.at + "/page/file?id=" + url.QueryEscape(id))
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func labels(m platformtest.Message) (list []string) {
	for _, row := range m.Buttons {
		for _, b := range row {
			list = append(list, b.Label)
		}
	}
	return list
}

var decidedText = regexp.MustCompile(`(Allowed once|Allowed in this session|Always allowed|Allowed|Denied) by \w+|Nobody decided in time`)

// closed waits until a question has no buttons any more, and says what was decided.
func (p *page) closed(id string) {
	p.t.Helper()
	testkit.Await(p.t, "the buttons are gone at "+p.at, time.Minute, func() bool {
		for _, m := range devView(p.t, p.at, p.user, p.chat).Messages {
			if m.ID == id {
				return len(m.Buttons) == 0 && decidedText.MatchString(m.Text) && !strings.Contains(m.Text, "I wait ")
			}
		}
		return false
	})
}

// At every platform, over its wire: a code makes an admin; a tool that the channel or a person's
// own rights deny is refused, and /why names the rule; what a rule asks about waits, while newer
// messages are answered and over a restart, and runs once when a button allows it.
func TestWhoMayDoWhatOnEveryPlatform(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "")
	o.opens()
	o.claims()
	o.each(func(d *desk) func() {
		d.ada.writes("run echo denied >> runs.txt")
		return func() {
			d.ada.reads("I may not: echo denied")
			d.ada.writes(d.slash + "why")
			d.ada.reads("channel.tools_deny")
		}
	})
	o.stop(20 * time.Second)
	o.change(`tools_deny = ["exec"]`, "tools_deny = []")
	o.opens()

	once := map[string]platformtest.Message{}
	o.each(func(d *desk) func() {
		d.ada.writes("run echo once-" + d.kind + " >> runs.txt")
		return func() {
			m := d.ada.asked("echo once-" + d.kind + " >> runs.txt")
			for _, want := range []string{"May I run this command?", "policy.exec.ask", "10 minutes"} {
				if !strings.Contains(m.Text, want) {
					t.Errorf("%s does not say %q:\n%s", d.kind, want, m.Text)
				}
			}
			once[d.kind] = m
			d.ada.writes("hello")
			d.ada.reads("heard: hello")
		}
	})
	o.stop(20 * time.Second)
	o.opens()
	o.each(func(d *desk) func() {
		d.ada.presses(once[d.kind], "Allow once")
		return func() {
			answer := d.ada.found("ran: echo once-" + d.kind)
			if answer.To == nil && d.kind != "slack" { // which has no replies but threads
				t.Errorf("the answer at %s is no reply: %+v", d.kind, answer)
			}
			d.ada.closed(once[d.kind].ID)
			o.wantRan(1, "once-"+d.kind)
		}
	})

	o.each(func(d *desk) func() { // typed, with a reason
		d.ada.writes("run echo no-" + d.kind + " >> runs.txt")
		return func() {
			m := d.ada.asked("echo no-" + d.kind + " >> runs.txt")
			d.ada.writes(d.ada.typed(m, "deny") + " not today")
			d.ada.found("did not allow the command", "not today")
			d.ada.closed(m.ID)
			o.wantRan(0, "no-"+d.kind)
		}
	})

	o.each(func(d *desk) func() { // for good, and taken back
		d.ada.writes("run echo often-" + d.kind + " >> runs.txt")
		return func() {
			m := d.ada.asked("echo often-" + d.kind + " >> runs.txt")
			d.ada.presses(m, "Always allow")
			d.ada.reads("ran: echo often-" + d.kind)
			d.ada.closed(m.ID)
			d.ada.writes("run echo often-" + d.kind + " >> runs.txt")
			o.await("it runs again unasked", time.Minute, func() bool { return o.ran("often-"+d.kind) == 2 })
			d.ada.writes(d.slash + "grants")
			list := d.ada.found("Allowed without asking", "echo often-"+d.kind)
			number := regexp.MustCompile(`(\d+): [^\n]*echo often-` + d.kind).FindStringSubmatch(list.Text)
			if number == nil {
				t.Fatalf("no number: %q", list.Text)
			}
			d.ada.writes(d.slash + "grants remove " + number[1])
			d.ada.reads("Taken back")
			d.ada.writes("run echo often-" + d.kind + " >> runs.txt")
			testkit.Await(t, "it asks again", time.Minute, func() bool { return d.ada.found("May I", "echo often-"+d.kind).ID != m.ID })
			o.wantRan(2, "often-"+d.kind)
		}
	})
}

// What a user wishes is asked of every admin, where they are; the first decision counts, on
// whatever platform, the other questions lose their buttons, and the user is told. A command too
// long to be read in a message comes along as a file.
func TestWishIsDecidedOnAnotherPlatform(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "")
	o.change(`tools_deny = ["exec"]`, "tools_deny = []")
	o.opens()
	o.claims()
	wish := func(command string, decide func(asked *desk, m platformtest.Message), told func(wishes *desk)) {
		for i, d := range o.desks {
			text := strings.ReplaceAll(command, "KIND", d.kind)
			d.bob.writes("run " + text)
			d.bob.reads("needs an admin's permission")
			asked := map[*desk]platformtest.Message{}
			for _, other := range o.desks {
				m := other.ada.found("Allow it?", text[:20])
				if !strings.Contains(m.Text, "bob-"+d.kind+" asks me to run this command. Allow it?") {
					t.Errorf("at %s stands\n%s", other.kind, m.Text)
				}
				asked[other] = m
			}
			decider := o.desks[(i+1)%len(o.desks)]
			decide(decider, asked[decider])
			told(d)
			for other, m := range asked {
				other.ada.closed(m.ID)
			}
		}
	}
	wish("echo KIND >> runs.txt",
		func(asked *desk, m platformtest.Message) { asked.ada.presses(m, "Allow once") },
		func(wishes *desk) {
			wishes.bob.reads("ran: echo " + wishes.kind)
			o.wantRan(1, wishes.kind)
		})
	wish("echo KIND denied >> runs.txt",
		func(asked *desk, m platformtest.Message) { asked.ada.writes(asked.ada.typed(m, "deny") + " never") },
		func(wishes *desk) {
			wishes.bob.found("did not allow the command", "never")
			o.wantRan(0, wishes.kind+" denied")
		})
	long := "echo KIND " + strings.Repeat("x", 1600) + " >> runs.txt"
	wish(long,
		func(asked *desk, m platformtest.Message) {
			if strings.Contains(m.Text, "x >> runs.txt") || !strings.Contains(m.Text, "All of it (16") {
				t.Errorf("at %s stands\n%s", asked.kind, m.Text)
			}
			if got := asked.ada.file(m); !strings.HasSuffix(got, "xxx >> runs.txt") || len(got) < 1600 {
				t.Errorf("the file at %s has %d bytes", asked.kind, len(got))
			}
			asked.ada.presses(m, "Allow once")
		},
		func(wishes *desk) {
			wishes.bob.reads("ran: echo " + wishes.kind + " xxx")
		})
}

func TestNobodyDecidesInTimeOnAnyPlatform(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "[approvals]\ndeadline = \"3s\"\n")
	o.change(`tools_deny = ["exec"]`, "tools_deny = []")
	o.opens()
	o.claims()
	o.each(func(d *desk) func() {
		d.ada.writes("run echo late >> runs.txt")
		m := d.ada.found("May I", "echo late")
		return func() {
			d.ada.found("nobody allowed the command in time")
			d.ada.closed(m.ID)
			d.ada.writes(d.ada.typed(m, "approve"))
			d.ada.reads("not open any more")
		}
	})
	o.wantRan(0, "late")
}

// A stranger on each platform is let in by a button that an admin presses on another one. Codes
// join accounts of different platforms to one person, once both have said so by a button.
func TestStrangersAreLetInAndAccountsJoinedOverPlatforms(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "pairing", "")
	o.opens()
	o.claims()
	for i, d := range o.desks {
		d.bob.writes("hello")
		d.bob.reads("Once they allow you")
		asked := map[*desk]platformtest.Message{}
		for _, other := range o.desks {
			asked[other] = other.ada.found("asks to talk with me", d.bob.user)
		}
		decider := o.desks[(i+1)%len(o.desks)]
		decider.ada.presses(asked[decider], "Allow")
		d.bob.reads("You can write to me here. Your role is user")
		for other, m := range asked {
			other.ada.closed(m.ID)
		}
		d.bob.writes("again")
		d.bob.reads("heard: again")
	}
	joins := func(one *page, slash string, other *page, otherSlash string) {
		one.writes(slash + "link")
		code := pairCode.FindString(one.found("/link ", "on slack /switchboard link ").Text)
		other.writes(otherSlash + "link " + code)
		for _, p := range []*page{one, other} {
			p.presses(p.found("Nothing is changed before both accounts have confirmed it"), "Confirm")
		}
		for _, p := range []*page{one, other} {
			p.reads("Confirmed on both accounts")
		}
	}
	telegram, slack, discord := o.desks[0], o.desks[1], o.desks[2]
	joins(telegram.bob, telegram.slash, slack.bob, slack.slash)
	joins(telegram.ada, telegram.slash, discord.bob, discord.slash)
	discord.bob.writes("/whoami")
	discord.bob.reads("role admin")
	people, _, _ := o.command("person", "list")
	for _, pair := range [][2]string{{telegram.bob.user, slack.bob.user}, {telegram.ada.user, discord.bob.user}} {
		one := func(line string) bool { return strings.Contains(line, pair[0]) && strings.Contains(line, pair[1]) }
		if !slices.ContainsFunc(strings.Split(people, "\n"), one) {
			t.Errorf("%s is not one with %s:\n%s", pair[0], pair[1], people)
		}
	}
}
