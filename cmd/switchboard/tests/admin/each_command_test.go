package admin_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	web "switchboard/channels/api"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/api"
)

// Each command, once, by an admin in a direct chat, in an order in which each has something to
// answer; and what the answer says.
var eachCommand = []struct {
	name  string // as the table has it
	says  string
	want  string
	later string // what is said when it is done, where that goes on beside
}{
	{"status", "/status", "Nothing was asked yet.", ""},
	{"start", "/start", "Hello u1. You can write to me here. Your role is admin.", ""},
	{"help", "/help", "/audit", ""},
	{"whoami", "/whoami", "You are u1, role admin.", ""},
	{"tools", "/tools", "- time – The date and time now", ""},
	{"tool", `/tool time {"zone": "Europe/Rome"}`, "Europe/Rome", ""},
	{"retry", "/retry", "Europe/Rome", ""},
	{"resend", "/resend", "There is nothing to send again", ""},
	{"plan", "/plan", "Plan 1: /tool time", ""},
	{"why", "/why", "u1 asked: /retry", ""},
	{"cancel", "/cancel", "There is nothing of yours to cancel here.", ""},
	{"mode", "/mode ask", "Mode: ask.", ""},
	{"model", "/model", "The model here is fake/model.", ""},
	{"timezone", "/timezone Europe/Rome", "The time zone here is Europe/Rome", ""},
	{"lang", "/lang default", "I'll answer in the language you write in.", ""},
	{"grants", "/grants", "You have given no standing permissions", ""},
	{"approve", "/approve AAAA-BBBB", "There is no question with that code in this chat.", ""},
	{"deny", "/deny AAAA-BBBB", "There is no question with that code in this chat.", ""},
	{"link", "/link", "/link", ""},
	{"unlink", "/unlink", "the only account of yours", ""},
	{"claim", "/claim", "To become an admin, send me", ""},
	{"people", "/people add eve scripted:eve", "eve can write to me now: user, scripted:eve.", ""},
	{"allow", "/allow", "Nobody new has written to me lately.", ""},
	{"secret", "/secret list", "No secret is set.", ""},
	{"config", "/config get log.level", "info", ""},
	{"channels", "/channels", "play", ""},
	{"channel", "/channel play test", "Checking the channel play", "the check took"},
	{"deliveries", "/deliveries", "Everything was sent, or is on its way.", ""},
	{"audit", "/audit kind person", "u1 let in eve", ""},
	{"budget", "/budget", "No limits are set", ""},
	{"remind", "/remind tomorrow at 9 to call Ann", ", 09:00: call Ann.", ""},
	{"jobs", "/jobs", "call Ann", ""},
	{"notifications", "/notifications", "There is nothing that you have not read.", ""},
	{"remember", "/remember the deploy key rotates on Fridays", "I'll remember: the deploy key rotates on Fridays", ""},
	{"memory", "/memory", "the deploy key rotates on Fridays", ""},
	{"learn", "/learn style: be brief", "Learned rule 2: be brief", ""},
	{"rules", "/rules", "be brief", ""},
	{"forget", "/forget deploy key", "Forgotten: the deploy key rotates on Fridays", ""},
	{"private", "/private", "I remember what is said here.", ""},
	{"reload", "/reload", "Checking the settings file", "Nothing has changed."},
	{"doctor", "/doctor all", "Checking;", "database: "},
	{"reset", "/reset", "Forgotten; what /memory lists stays. If I am at work here, I go on", ""},
}

// Every row of the program's table of commands is here, and is answered over a platform by the
// program as people run it. To a user the admins' are unknown, and in a group they do nothing.
func TestEachCommandAnswers(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "allow_conversations = [\"g1\"]\n[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n")
	r.Model.Handle(programtest.Clerk)
	r.Append("[[people]]\nname = \"u2\"\nidentities = [\"scripted:u2\"]\n")
	r.Up()
	var admins, users []string
	for person, list := range map[string]*[]string{"u1": &admins, "u2": &users} {
		if err := api.Ask(t.Context(), filepath.Join(r.Dir, "data"), "/v1/commands?person="+person, list); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range eachCommand {
		i := slices.Index(admins, "/"+c.name)
		if i < 0 {
			t.Errorf("the program has no /%s", c.name)
			continue
		}
		admins = slices.Delete(admins, i, i+1)
		if got := r.Ask("u1", c.says); !strings.Contains(got, c.want) {
			t.Errorf("%s is answered %q, without %q", c.says, got, c.want)
		}
		r.Await(c.says+" is done", programtest.Patience, func() bool { return strings.Contains(strings.Join(r.Shown("u1"), "\n"), c.later) })
		if slices.Contains(users, "/"+c.name) {
			continue
		}
		if got := r.Ask("u2", c.says); !strings.HasPrefix(got, "I do not know /"+c.name) {
			t.Errorf("to a user %s is answered %q", c.says, got)
		}
		n := len(r.Platform.SentIn("g1"))
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", Mentioned: true, User: "u1", Text: c.says})
		r.Await("an answer in the group", programtest.Patience, func() bool { return len(r.Platform.SentIn("g1")) > n })
		if got := r.Platform.SentIn("g1")[n].Text; got != "I did nothing: please write this in a direct chat with me." {
			t.Errorf("in a group %s is answered %q", c.says, got)
		}
	}
	if len(admins) > 0 {
		t.Errorf("not tried: %q", admins)
	}
	for says, want := range map[string]string{"/memory of U2": "There is nothing.", "/memory of nobody": "I know nobody called nobody", "/rules 2": "be brief"} {
		if got := r.Ask("u1", says); !strings.Contains(strings.ReplaceAll(got, "`", ""), want) {
			t.Errorf("%s is answered %q", says, got)
		}
	}
	// What is remembered for everybody is said to be.
	c := api.NewClient(func(ctx context.Context) (net.Conn, error) { return api.Dial(ctx, filepath.Join(r.Dir, "data")) })
	defer c.Close()
	for whose, want := range map[string]string{"nobody": "there is nobody called", "global": "", "u2": ""} {
		err := c.Do(t.Context(), api.Call{Method: http.MethodPost, Path: "/v1/memory", Body: web.NewMemory{Person: whose, Text: "x"}}, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a memory of %s: %v", whose, err)
		}
	}
}
