package main_test

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
	"switchboard/internal/testkit"
)

// settings is the text of the settings file; edit replaces it as many editors do, by another file.
func (r *rig) settings() string {
	r.t.Helper()
	text, err := os.ReadFile(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

func (r *rig) edit(old, now string) {
	r.t.Helper()
	text := r.settings()
	if strings.Count(text, old) != 1 {
		r.t.Fatalf("%q stands %d times in the settings", old, strings.Count(text, old))
	}
	testkit.Write(r.t, r.config+".new", strings.Replace(text, old, now, 1))
	if err := os.Rename(r.config+".new", r.config); err != nil {
		r.t.Fatal(err)
	}
}

// says waits until the log has it so often.
func (r *rig) says(what string, times int) {
	r.t.Helper()
	r.await(fmt.Sprintf("%d times in the log: %s", times, what), 20*time.Second, func() bool { return strings.Count(r.log.String(), what) >= times })
}

// A settings file that has faults changes nothing: the bot goes on by the former settings, and its
// admin reads once what is wrong. Mended, it counts without a restart.
func TestBrokenFileKeepsTheFormerSettings(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "message_limit = \"64KB\"\n")
	r.channel("telegram", r.bot, r.bot.Token(), "")
	r.ready()
	r.bot.Say(r.chief.ID, "one")
	r.expect(r.chief.ID, "heard: one")

	r.edit(`message_limit = "64KB"`, "message_limit = \"many\"\nbusy = \"maybe\"\nworkers = 5")
	notices := func() (all []string) {
		return slices.DeleteFunc(r.answers(r.chief.ID), func(text string) bool { return !strings.Contains(text, "I go on with the former ones") })
	}
	r.await("the admin is told", 20*time.Second, func() bool { return len(notices()) > 0 })
	for _, want := range []string{"router.message_limit", "router.busy", r.config + ":"} {
		if !strings.Contains(notices()[0], want) {
			t.Errorf("the notice lacks %q: %s", want, notices()[0])
		}
	}
	r.bot.Say(r.chief.ID, "two")
	r.await("it answers", 20*time.Second, func() bool { return slices.Contains(r.answers(r.chief.ID), "heard: two") })
	r.cmd.Process.Signal(syscall.SIGHUP)
	r.says("the settings are broken still", 1)
	if err := os.Rename(r.config, r.config+".away"); err != nil {
		t.Fatal(err)
	}
	r.await("the admin is told of the file that is gone", 20*time.Second, func() bool { return len(notices()) == 2 })
	if !strings.Contains(notices()[1], "no such file") {
		t.Errorf("the notice is %q", notices()[1])
	}
	if err := os.Rename(r.config+".away", r.config); err != nil {
		t.Fatal(err)
	}
	r.says("and the former ones stay\",\"fault\"", 4) // the two again, and none more is told of within ten minutes

	r.edit("message_limit = \"many\"\nbusy = \"maybe\"\nworkers = 5", `message_limit = "1KB"`)
	r.says("the settings can be used again", 1)
	r.says("other settings count now", 1)
	r.bot.Say(r.chief.ID, strings.Repeat("long ", 300))
	r.await("the new limit counts", 20*time.Second, func() bool { return strings.Contains(strings.Join(r.answers(r.chief.ID), "\n"), "I take up to 1 KB") })
	r.settle()
	if n := len(notices()); n != 2 {
		t.Errorf("%d notices: %q", n, notices())
	}
	r.stop(10 * time.Second)
}

// The file is followed while the program runs: channels come, change and go, people are let in and out,
// and what a turn is done with is another for the turns that begin from then on.
func TestFileIsFollowedWhileTheProgramRuns(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "idle_timeout = \"4m\"\n")
	r.channel("telegram", r.bot, r.bot.Token(), "")
	other := telegramtest.New(t)
	other.AddUser("Chief") // the same ID, the same person
	ann := other.AddUser("Ann")
	r.ready()
	r.bot.Say(r.chief.ID, "one")
	r.expect(r.chief.ID, "heard: one")
	pid := r.cmd.Process.Pid

	r.channel("second", other, other.Token(), "")
	r.append(fmt.Sprintf("[[people]]\nname = \"Ann\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", ann.ID))
	state := func(name string, want channels.State) {
		t.Helper()
		r.await(name+" is "+string(want), 20*time.Second, func() bool { return r.statuses()[name].State == want })
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
	r.await("Ann is answered on the new channel", 20*time.Second, heard("hello"))

	// A turn goes on with what it began with.
	release := r.mind.hold(t, whilePlanning, "slow")
	r.bot.Say(r.chief.ID, "slow")
	r.await("it is thought about", 20*time.Second, r.mind.thinks(whilePlanning, "slow"))
	r.edit("planner = \"fake/model\"", "planner = \"fake/better\"\nmax_plan_tasks = 7")
	r.edit("idle_timeout = \"4m\"", "idle_timeout = \"3m\"")
	r.cmd.Process.Signal(syscall.SIGHUP)
	r.says("agent.planner", 1)
	release()
	r.await("the turn ends", 20*time.Second, func() bool { return slices.Contains(r.answers(r.chief.ID), "heard: slow") })
	r.bot.Say(r.chief.ID, "three")
	r.await("the next is answered", 20*time.Second, func() bool { return slices.Contains(r.answers(r.chief.ID), "heard: three") })
	requests := r.model.Requests()
	if last := requests[len(requests)-1].Model; last != "better" {
		t.Errorf("the model is %q", last)
	}

	// What needs a restart is said, and stays.
	r.append("[server]\nlisten = \"127.0.0.1:9\"\n")
	r.says("count from the next start on\",\"settings\":\"server.listen\"", 1)
	if out, _, _ := r.command("doctor"); !strings.Contains(out, "count after a restart: server.listen") {
		t.Errorf("the doctor says\n%s", out)
	}

	// A channel goes when its table does, or is switched off, and who is not named any more is a stranger.
	text := r.settings()
	second := text[strings.Index(text, "[channels.second]"):strings.Index(text, "[[people]]\nname = \"Ann\"")]
	r.edit(second, strings.Replace(second, "kind =", "enabled = false\nkind =", 1))
	state("second", channels.StateDisabled)
	other.Say(ann.ID, "are you there?")
	r.edit("enabled = false\n", "")
	r.await("what came meanwhile is answered", 20*time.Second, heard("are you there?"))
	r.edit(second, "")
	r.await("it is gone", 20*time.Second, func() bool { _, there := r.statuses()["second"]; return !there })
	r.edit(fmt.Sprintf("[[people]]\nname = \"Ann\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", ann.ID), "")
	r.await("she is away", 20*time.Second, func() bool {
		out, _, _ := r.command("person", "list")
		return strings.Contains(out, "away since")
	})
	if out, errs, code := r.command("audit", "export"); code != 0 || strings.Count(out, `"config.file"`) < 6 || !strings.Contains(out, "settings channels.second.kind") ||
		!strings.Contains(out, `"was":"\"fake/model\""`) || strings.Contains(out, other.Token()) {
		t.Errorf("audit: %s%s", out, errs)
	}
	if r.cmd.Process.Pid != pid || r.server.ready() != 1 {
		t.Error("the program was started again")
	}
	r.stop(10 * time.Second)
}

// A file that names a secret before it is set is taken as soon as it is.
func TestFileWaitsForItsSecret(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("telegram", r.bot, r.bot.Token(), "")
	r.ready()
	r.edit(fmt.Sprintf("token = %q", r.bot.Token()), "token = \"secret:bot\"")
	r.says("there is no secret", 1)
	if out, errs, code := r.commandWith(r.bot.Token()+"\n", "secret", "set", "bot"); code != 0 {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	r.says("the settings can be used again", 1)
	r.bot.Say(r.chief.ID, "one")
	r.expect(r.chief.ID, "heard: one")
	r.stop(10 * time.Second)
}

// Another data folder is used from the next start on, for the prompts in it too.
func TestDataFolderStaysWhileTheProgramRuns(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("telegram", r.bot, r.bot.Token(), "")
	r.ready()
	other := filepath.Join(r.dir, "other")
	if err := os.MkdirAll(filepath.Join(other, "roles"), 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(other, "roles", "planner.md"), "You are a pirate.\n")
	was, now := fmt.Sprintf("data_dir = %q", filepath.Join(r.dir, "data")), fmt.Sprintf("data_dir = %q", other)
	r.edit(was, now)
	r.says("count from the next start on\",\"settings\":\"data_dir\"", 1)
	r.bot.Say(r.chief.ID, "one")
	r.expect(r.chief.ID, "heard: one")
	for _, req := range r.model.Requests() {
		if strings.Contains(req.System, "pirate") {
			t.Errorf("the %s is asked with the prompt of the other folder", req.Role)
		}
	}
	r.edit(now, was)
	r.stop(10 * time.Second)
}

// A kind that changes under a name is refused whole; another name is taken.
func TestChannelCannotChangeItsKind(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("bot", r.bot, r.bot.Token(), "")
	r.ready()
	text := strings.Replace(testkit.Read(t, r.config), "[agent]\n", "[agent]\nmax_plan_tasks = 3\n", 1)
	testkit.Write(t, r.config, strings.Replace(text, fmt.Sprintf("kind = \"telegram\"\ntoken = %q", r.bot.Token()), "kind = \"discord\"", 1))
	r.says("channels.bot.kind: was telegram since the program began", 1)
	r.bot.Say(r.chief.ID, "one")
	r.await("it answers", 20*time.Second, func() bool { return slices.Contains(r.answers(r.chief.ID), "heard: one") })
	if r.log.Has("other settings count now") {
		t.Error("part of it counts")
	}
	r.stop(10 * time.Second)
}

// A model's key that is rotated is used at once.
func TestModelKeyIsRotated(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("telegram", r.bot, r.bot.Token(), "")
	r.edit(`api_key = "test-key-not-secret"`, `api_key = "secret:model"`)
	for i, value := range []string{"first-key-4711", "second-key-4711"} {
		if out, errs, code := r.commandWith(value+"\n", "secret", "set", "model"); code != 0 {
			t.Fatalf("exit %d, %q, %q", code, out, errs)
		}
		if i == 0 {
			r.ready()
		} else {
			r.says("secrets were set anew, and count now", i)
		}
		text := fmt.Sprintf("with key %d", i)
		r.bot.Say(r.chief.ID, text)
		r.await("it answers", 20*time.Second, func() bool { return slices.Contains(r.answers(r.chief.ID), "heard: "+text) })
		requests := r.model.Requests()
		if got := requests[len(requests)-1].Header.Get("Authorization"); got != "Bearer "+value {
			t.Errorf("it is asked with %q", got)
		}
	}
	r.stop(10 * time.Second)
}
