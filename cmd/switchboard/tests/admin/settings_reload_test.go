package admin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// settings is the text of the settings file; edit replaces it as many editors do, by another file.
func settings(r *programtest.Rig) string {
	r.T.Helper()
	text, err := os.ReadFile(r.Config)
	if err != nil {
		r.T.Fatal(err)
	}
	return string(text)
}

func edit(r *programtest.Rig, old, now string) {
	r.T.Helper()
	text := settings(r)
	if strings.Count(text, old) != 1 {
		r.T.Fatalf("%q stands %d times in the settings", old, strings.Count(text, old))
	}
	testkit.Write(r.T, r.Config+".new", strings.Replace(text, old, now, 1))
	if err := os.Rename(r.Config+".new", r.Config); err != nil {
		r.T.Fatal(err)
	}
}

// A settings file that has faults changes nothing: the bot goes on by the former settings, and its
// admin reads once what is wrong. Mended, it counts without a restart.
func TestBrokenFileKeepsTheFormerSettings(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "message_limit = \"64KB\"\n")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Ready()
	r.Bot.Say(r.Chief.ID, "one")
	r.Expect(r.Chief.ID, "heard: one")

	edit(r.Rig, `message_limit = "64KB"`, "message_limit = \"many\"\nbusy = \"maybe\"\nworkers = 5")
	notices := func() (all []string) {
		return slices.DeleteFunc(r.Answers(r.Chief.ID), func(text string) bool { return !strings.Contains(text, "I go on with the former ones") })
	}
	r.Await("the admin is told", 20*time.Second, func() bool { return len(notices()) > 0 })
	for _, want := range []string{"router.message_limit", "router.busy", r.Config + ":"} {
		if !strings.Contains(notices()[0], want) {
			t.Errorf("the notice lacks %q: %s", want, notices()[0])
		}
	}
	r.Bot.Say(r.Chief.ID, "two")
	r.Await("it answers", 20*time.Second, func() bool { return slices.Contains(r.Answers(r.Chief.ID), "heard: two") })
	r.Cmd.Process.Signal(syscall.SIGHUP)
	r.Says("the settings are broken still", 1)
	if err := os.Rename(r.Config, r.Config+".away"); err != nil {
		t.Fatal(err)
	}
	r.Await("the admin is told of the file that is gone", 20*time.Second, func() bool { return len(notices()) == 2 })
	if !strings.Contains(notices()[1], "no such file") {
		t.Errorf("the notice is %q", notices()[1])
	}
	if err := os.Rename(r.Config+".away", r.Config); err != nil {
		t.Fatal(err)
	}
	r.Says("and the former ones stay\",\"fault\"", 4) // the two again, and none more is told of within ten minutes

	edit(r.Rig, "message_limit = \"many\"\nbusy = \"maybe\"\nworkers = 5", `message_limit = "1KB"`)
	r.Says("the settings can be used again", 1)
	r.Says("other settings count now", 1)
	r.Bot.Say(r.Chief.ID, strings.Repeat("long ", 300))
	r.Await("the new limit counts", 20*time.Second, func() bool { return strings.Contains(strings.Join(r.Answers(r.Chief.ID), "\n"), "I take up to 1 KB") })
	r.Settle()
	if n := len(notices()); n != 2 {
		t.Errorf("%d notices: %q", n, notices())
	}
	r.Stop(10 * time.Second)
}

// The file is followed while the program runs: channels come, change and go, people are let in and out,
// and what a turn is done with is another for the turns that begin from then on.
func TestFileIsFollowedWhileTheProgramRuns(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "idle_timeout = \"4m\"\n")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	other := telegramtest.New(t)
	other.AddUser("Chief") // the same ID, the same person
	ann := other.AddUser("Ann")
	r.Ready()
	r.Bot.Say(r.Chief.ID, "one")
	r.Expect(r.Chief.ID, "heard: one")
	pid := r.Cmd.Process.Pid

	r.Channel("second", other, other.Token(), "")
	r.Append(fmt.Sprintf("[[people]]\nname = \"Ann\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", ann.ID))
	state := func(name string, want channels.State) {
		t.Helper()
		r.Await(name+" is "+string(want), 20*time.Second, func() bool { return r.Statuses()[name].State == want })
	}
	state("second", channels.StateConnected)
	heard := func(text string) func() bool {
		return func() bool {
			for _, m := range other.FromBot(ann.ID) {
				if m.Text == "heard: "+text {
					return true
				}
			}
			return false
		}
	}
	other.Say(ann.ID, "hello")
	r.Await("Ann is answered on the new channel", 20*time.Second, heard("hello"))

	// A turn goes on with what it began with.
	release := r.Slow.Hold(t, programtest.WhilePlanning, "slow")
	r.Bot.Say(r.Chief.ID, "slow")
	r.Await("it is thought about", 20*time.Second, r.Slow.Thinks(programtest.WhilePlanning, "slow"))
	edit(r.Rig, "planner = \"fake/model\"", "planner = \"fake/better\"\nmax_plan_tasks = 7")
	edit(r.Rig, "idle_timeout = \"4m\"", "idle_timeout = \"3m\"")
	r.Cmd.Process.Signal(syscall.SIGHUP)
	r.Says("agent.planner", 1)
	release()
	r.Await("the turn ends", 20*time.Second, func() bool { return slices.Contains(r.Answers(r.Chief.ID), "heard: slow") })
	r.Bot.Say(r.Chief.ID, "three")
	r.Await("the next is answered", 20*time.Second, func() bool { return slices.Contains(r.Answers(r.Chief.ID), "heard: three") })
	requests := r.Model.Requests()
	if last := requests[len(requests)-1].Model; last != "better" {
		t.Errorf("the model is %q", last)
	}

	// What needs a restart is said, and stays.
	r.Append("[server]\npublic_url = \"https://bot.example\"\n")
	r.Says("count from the next start on\",\"settings\":\"server.public_url\"", 1)
	if out, _, _ := r.Command("doctor"); !strings.Contains(out, "count after a restart: server.public_url") {
		t.Errorf("the doctor says\n%s", out)
	}

	// A channel goes when its table does, or is switched off, and who is not named any more is a stranger.
	text := settings(r.Rig)
	second := text[strings.Index(text, "[channels.second]"):strings.Index(text, "[[people]]\nname = \"Ann\"")]
	edit(r.Rig, second, strings.Replace(second, "kind =", "enabled = false\nkind =", 1))
	state("second", channels.StateDisabled)
	other.Say(ann.ID, "are you there?")
	edit(r.Rig, "enabled = false\n", "")
	r.Await("what came meanwhile is answered", 20*time.Second, heard("are you there?"))
	edit(r.Rig, second, "")
	r.Await("it is gone", 20*time.Second, func() bool { _, there := r.Statuses()["second"]; return !there })
	edit(r.Rig, fmt.Sprintf("[[people]]\nname = \"Ann\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", ann.ID), "")
	r.Await("she is away", 20*time.Second, func() bool {
		out, _, _ := r.Command("person", "list")
		return strings.Contains(out, "away since")
	})
	out := ""
	r.Await("each change is on record", 20*time.Second, func() bool {
		out, _, _ = r.Command("audit", "export")
		return strings.Count(out, `"config.file"`) >= 6
	})
	if !strings.Contains(out, "settings channels.second.kind") || !strings.Contains(out, `"was":"\"fake/model\""`) || strings.Contains(out, other.Token()) {
		t.Errorf("audit: %s", out)
	}
	if r.Cmd.Process.Pid != pid || r.Server.Ready() != 1 {
		t.Error("the program was started again")
	}
	r.Stop(10 * time.Second)
}

// A file that names a secret before it is set is taken as soon as it is.
func TestFileWaitsForItsSecret(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Ready()
	edit(r.Rig, fmt.Sprintf("token = %q", r.Bot.Token()), "token = \"secret:bot\"")
	r.Says("there is no secret", 1)
	if out, errs, code := r.CommandWith(r.Bot.Token()+"\n", "secret", "set", "bot"); code != 0 {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	r.Says("the settings can be used again", 1)
	r.Bot.Say(r.Chief.ID, "one")
	r.Expect(r.Chief.ID, "heard: one")
	r.Stop(10 * time.Second)
}

// Another data folder is used from the next start on, for the prompts in it too.
func TestDataFolderStaysWhileTheProgramRuns(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Ready()
	other := filepath.Join(r.Dir, "other")
	if err := os.MkdirAll(filepath.Join(other, "roles"), 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(other, "roles", "planner.md"), "You are a pirate.\n")
	was, now := fmt.Sprintf("data_dir = %q", filepath.Join(r.Dir, "data")), fmt.Sprintf("data_dir = %q", other)
	edit(r.Rig, was, now)
	r.Says("count from the next start on\",\"settings\":\"data_dir\"", 1)
	r.Bot.Say(r.Chief.ID, "one")
	r.Expect(r.Chief.ID, "heard: one")
	for _, req := range r.Model.Requests() {
		if strings.Contains(req.System, "pirate") {
			t.Errorf("the %s is asked with the prompt of the other folder", req.Role)
		}
	}
	edit(r.Rig, now, was)
	r.Stop(10 * time.Second)
}

// A kind that changes under a name is refused whole; another name is taken.
func TestChannelCannotChangeItsKind(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("bot", r.Bot, r.Bot.Token(), "")
	r.Ready()
	text := strings.Replace(testkit.Read(t, r.Config), "[agent]\n", "[agent]\nmax_plan_tasks = 3\n", 1)
	testkit.Write(t, r.Config, strings.Replace(text, fmt.Sprintf("kind = \"telegram\"\ntoken = %q", r.Bot.Token()), "kind = \"discord\"", 1))
	r.Says("channels.bot.kind: was telegram since the program began", 1)
	r.Bot.Say(r.Chief.ID, "one")
	r.Await("it answers", 20*time.Second, func() bool { return slices.Contains(r.Answers(r.Chief.ID), "heard: one") })
	if r.Log.Has("other settings count now") {
		t.Error("part of it counts")
	}
	r.Stop(10 * time.Second)
}

// A model's key that is rotated is used at once.
func TestModelKeyIsRotated(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	edit(r.Rig, `api_key = "test-key-not-secret"`, `api_key = "secret:model"`)
	for i, value := range []string{"first-key-4711", "second-key-4711"} {
		if out, errs, code := r.CommandWith(value+"\n", "secret", "set", "model"); code != 0 {
			t.Fatalf("exit %d, %q, %q", code, out, errs)
		}
		if i == 0 {
			r.Ready()
		} else {
			r.Says("secrets were set again, and count now", i)
		}
		text := fmt.Sprintf("with key %d", i)
		r.Bot.Say(r.Chief.ID, text)
		r.Await("it answers", 20*time.Second, func() bool { return slices.Contains(r.Answers(r.Chief.ID), "heard: "+text) })
		requests := r.Model.Requests()
		if got := requests[len(requests)-1].Header.Get("Authorization"); got != "Bearer "+value {
			t.Errorf("it is asked with %q", got)
		}
	}
	r.Stop(10 * time.Second)
}
