package platforms_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// An office is an engine that serves every platform, and asks before it runs echo.
type office struct {
	*programtest.Rig
	desks []*desk
}

// A desk is a platform with two people, of whom the settings name Bob, where dm is "allowlist": he
// is a user who may have commands run.
type desk struct {
	kind     string
	slash    string // before a command
	ada, bob *programtest.Page
	breaks   func(platformtest.Fault)
}

func newOffice(t *testing.T, dm, extra string) *office {
	t.Helper()
	o := &office{Rig: programtest.NewRig(t, nil, "[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n[policy.exec]\nask = [\"echo *\"]\n"+extra)}
	o.Model.Handle(programtest.Clerk)
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
	o.T.Helper()
	table := fmt.Sprintf("[channels.%s]\nkind = %q\napi_url = %q\ndm = %q\nrate = \"off\"\ntools_deny = [\"exec\"]\n", kind, kind, server.APIURL(), dm)
	for key, token := range server.Login(nil) {
		table += fmt.Sprintf("%s = %q\n", key, token)
	}
	d := &desk{kind: kind, slash: slash, breaks: server.Break}
	users := programtest.DevView(o.T.(*testing.T), server.URL(), "", "").Users
	for i, u := range users {
		p := &programtest.Page{T: o.T.(*testing.T), At: server.URL(), User: u.ID}
		p.Chat = programtest.DevView(p.T, p.At, u.ID, "").Chats[0].ID
		if i == 0 {
			d.ada = p
		} else {
			d.bob = p
		}
	}
	if dm == "allowlist" {
		table += fmt.Sprintf("[[people]]\nname = \"bob-%s\"\nidentities = [\"%s:%s\"]\ntools = [\"exec\"]\n", kind, kind, d.bob.User)
	}
	o.Append(table)
	o.desks = append(o.desks, d)
}

// change replaces a text in the settings, which count at the next start.
func (o *office) change(old, now string) {
	o.T.Helper()
	testkit.Write(o.T, o.Config, strings.ReplaceAll(testkit.Read(o.T, o.Config), old, now))
}

// opens starts the engine and waits until it listens everywhere.
func (o *office) opens() {
	o.T.Helper()
	o.Up()
	o.listens()
}

func (o *office) listens() {
	o.T.Helper()
	for _, d := range o.desks {
		o.Await("the bot listens on "+d.kind, time.Minute, func() bool { return programtest.DevView(d.ada.T, d.ada.At, "", "").Connected })
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
	o.T.Helper()
	for _, d := range o.desks { // each code ends the others
		code, _, _ := o.Command("person", "claim")
		d.ada.Writes(d.slash + "claim " + strings.TrimSpace(code))
		d.ada.Reads("Welcome! You are an admin")
	}
}

// ran counts how often a line was written by commands.
func (o *office) ran(line string) (n int) {
	o.T.Helper()
	logs, err := filepath.Glob(filepath.Join(o.Dir, "data", "workspaces", "*", "runs.txt"))
	if err != nil {
		o.T.Fatal(err)
	}
	for _, log := range logs {
		for got := range strings.Lines(testkit.Read(o.T, log)) {
			if strings.TrimSpace(got) == line {
				n++
			}
		}
	}
	return n
}

// wantRan compares how often each line was written.
func (o *office) wantRan(want int, lines ...string) {
	o.T.Helper()
	for _, line := range lines {
		if got := o.ran(line); got != want {
			o.T.Errorf("%q ran %d times, want %d", line, got, want)
		}
	}
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
		d.ada.Writes("run echo denied >> runs.txt")
		return func() {
			d.ada.Reads("I may not: echo denied")
			d.ada.Writes(d.slash + "why")
			d.ada.Reads("channel.tools_deny")
		}
	})
	o.Stop(20 * time.Second)
	o.change(`tools_deny = ["exec"]`, "tools_deny = []")
	o.opens()

	once := map[string]platformtest.Message{}
	o.each(func(d *desk) func() {
		d.ada.Writes("run echo once-" + d.kind + " >> runs.txt")
		return func() {
			m := d.ada.Asked("echo once-" + d.kind + " >> runs.txt")
			for _, want := range []string{"May I run this command?", "policy.exec.ask", "10 minutes"} {
				if !strings.Contains(m.Text, want) {
					t.Errorf("%s does not say %q:\n%s", d.kind, want, m.Text)
				}
			}
			once[d.kind] = m
			d.ada.Writes("hello")
			d.ada.Reads("heard: hello")
		}
	})
	o.Stop(20 * time.Second)
	o.opens()
	o.each(func(d *desk) func() {
		d.ada.Presses(once[d.kind], "Allow once")
		return func() {
			answer := d.ada.Found("ran: echo once-" + d.kind)
			if answer.To == nil && d.kind != "slack" { // which has no replies but threads
				t.Errorf("the answer at %s is no reply: %+v", d.kind, answer)
			}
			d.ada.Closed(once[d.kind].ID)
			o.wantRan(1, "once-"+d.kind)
		}
	})

	o.each(func(d *desk) func() { // typed, with a reason
		d.ada.Writes("run echo no-" + d.kind + " >> runs.txt")
		return func() {
			m := d.ada.Asked("echo no-" + d.kind + " >> runs.txt")
			d.ada.Writes(d.ada.Typed(m, "deny") + " not today")
			d.ada.Found("did not allow the command", "not today")
			d.ada.Closed(m.ID)
			o.wantRan(0, "no-"+d.kind)
		}
	})

	o.each(func(d *desk) func() { // for good, and taken back
		d.ada.Writes("run echo often-" + d.kind + " >> runs.txt")
		return func() {
			m := d.ada.Asked("echo often-" + d.kind + " >> runs.txt")
			d.ada.Presses(m, "Always allow")
			d.ada.Reads("ran: echo often-" + d.kind)
			d.ada.Closed(m.ID)
			d.ada.Writes("run echo often-" + d.kind + " >> runs.txt")
			o.Await("it runs again unasked", time.Minute, func() bool { return o.ran("often-"+d.kind) == 2 })
			d.ada.Writes(d.slash + "grants")
			list := d.ada.Found("Allowed without asking", "echo often-"+d.kind)
			number := regexp.MustCompile(`(\d+): [^\n]*echo often-` + d.kind).FindStringSubmatch(list.Text)
			if number == nil {
				t.Fatalf("no number: %q", list.Text)
			}
			d.ada.Writes(d.slash + "grants remove " + number[1])
			d.ada.Reads("Taken back")
			d.ada.Writes("run echo often-" + d.kind + " >> runs.txt")
			testkit.Await(t, "it asks again", time.Minute, func() bool { return d.ada.Found("May I", "echo often-"+d.kind).ID != m.ID })
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
			d.bob.Writes("run " + text)
			d.bob.Reads("needs an admin's permission")
			asked := map[*desk]platformtest.Message{}
			for _, other := range o.desks {
				m := other.ada.Found("Allow it?", text[:20])
				if !strings.Contains(m.Text, "bob-"+d.kind+" asks me to run this command. Allow it?") {
					t.Errorf("at %s stands\n%s", other.kind, m.Text)
				}
				asked[other] = m
			}
			decider := o.desks[(i+1)%len(o.desks)]
			decide(decider, asked[decider])
			told(d)
			for other, m := range asked {
				other.ada.Closed(m.ID)
			}
		}
	}
	wish("echo KIND >> runs.txt",
		func(asked *desk, m platformtest.Message) { asked.ada.Presses(m, "Allow once") },
		func(wishes *desk) {
			wishes.bob.Reads("ran: echo " + wishes.kind)
			o.wantRan(1, wishes.kind)
		})
	wish("echo KIND denied >> runs.txt",
		func(asked *desk, m platformtest.Message) { asked.ada.Writes(asked.ada.Typed(m, "deny") + " never") },
		func(wishes *desk) {
			wishes.bob.Found("did not allow the command", "never")
			o.wantRan(0, wishes.kind+" denied")
		})
	long := "echo KIND " + strings.Repeat("x", 1600) + " >> runs.txt"
	wish(long,
		func(asked *desk, m platformtest.Message) {
			if strings.Contains(m.Text, "x >> runs.txt") || !strings.Contains(m.Text, "All of it (16") {
				t.Errorf("at %s stands\n%s", asked.kind, m.Text)
			}
			if got := asked.ada.File(m); !strings.HasSuffix(got, "xxx >> runs.txt") || len(got) < 1600 {
				t.Errorf("the file at %s has %d bytes", asked.kind, len(got))
			}
			asked.ada.Presses(m, "Allow once")
		},
		func(wishes *desk) {
			wishes.bob.Reads("ran: echo " + wishes.kind + " xxx")
		})
}

func TestNobodyDecidesInTimeOnAnyPlatform(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "[approvals]\ndeadline = \"15s\"\n")
	o.change(`tools_deny = ["exec"]`, "tools_deny = []")
	o.opens()
	o.claims()
	o.each(func(d *desk) func() {
		d.ada.Writes("run echo late >> runs.txt")
		m := d.ada.Found("May I", "echo late")
		return func() {
			d.ada.Found("nobody allowed the command in time")
			d.ada.Closed(m.ID)
			d.ada.Writes(d.ada.Typed(m, "approve"))
			d.ada.Reads("not open any more")
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
		d.bob.Writes("hello")
		d.bob.Reads("Once they allow you")
		asked := map[*desk]platformtest.Message{}
		for _, other := range o.desks {
			asked[other] = other.ada.Found("asks to talk with me", d.bob.User)
		}
		decider := o.desks[(i+1)%len(o.desks)]
		decider.ada.Presses(asked[decider], "Allow")
		d.bob.Reads("You can write to me here. Your role is user")
		for other, m := range asked {
			other.ada.Closed(m.ID)
		}
		d.bob.Writes("again")
		d.bob.Reads("heard: again")
	}
	joins := func(one *programtest.Page, slash string, other *programtest.Page, otherSlash string) {
		one.Writes(slash + "link")
		code := programtest.PairCode.FindString(one.Found("/link ", "on slack /switchboard link ").Text)
		other.Writes(otherSlash + "link " + code)
		for _, p := range []*programtest.Page{one, other} {
			p.Presses(p.Found("Nothing is changed before both accounts have confirmed it"), "Confirm")
		}
		for _, p := range []*programtest.Page{one, other} {
			p.Reads("Confirmed on both accounts")
		}
	}
	telegram, slack, discord := o.desks[0], o.desks[1], o.desks[2]
	joins(telegram.bob, telegram.slash, slack.bob, slack.slash)
	joins(telegram.ada, telegram.slash, discord.bob, discord.slash)
	discord.bob.Writes("/whoami")
	discord.bob.Reads("role admin")
	people, _, _ := o.Command("person", "list")
	for _, pair := range [][2]string{{telegram.bob.User, slack.bob.User}, {telegram.ada.User, discord.bob.User}} {
		one := func(line string) bool { return strings.Contains(line, pair[0]) && strings.Contains(line, pair[1]) }
		if !slices.ContainsFunc(strings.Split(people, "\n"), one) {
			t.Errorf("%s is not one with %s:\n%s", pair[0], pair[1], people)
		}
	}
}
