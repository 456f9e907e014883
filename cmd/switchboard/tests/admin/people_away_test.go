package admin_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/storetest"
)

// A slip is a rig whose settings file is not as it was meant for a while.
type slip struct {
	*programtest.TelegramRig
	ann    telegramtest.User
	url    string // of PostgreSQL; empty: SQLite
	nobody string // the file without its people
	chiefs string // the table [[people]] of Chief
}

func newSlip(t *testing.T, url string) *slip {
	t.Helper()
	r := &slip{TelegramRig: programtest.NewTelegram(t, ""), url: url}
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.ann = r.Bot.AddUser("Ann")
	r.chiefs = fmt.Sprintf("[[people]]\nname = \"Chief\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", r.Chief.ID)
	r.nobody = strings.Replace(settings(r.TelegramRig.Rig), r.chiefs, "", 1)
	if url != "" {
		r.nobody += fmt.Sprintf("[store]\nurl = %q\n", url)
	}
	r.write(r.whole())
	r.Ready()
	r.Bot.Say(r.Chief.ID, "hello")
	r.reads(r.Chief, "heard: hello", 1)
	r.Bot.Say(r.ann.ID, "/remind in 1 second to stretch")
	r.Bot.Say(r.ann.ID, "/remind every hour to water")
	r.reads(r.ann, "Reminder: stretch", 1)
	r.settle()
	return r
}

// with is the file that names Chief, and somebody else by name and number.
func (r *slip) with(name string, id int64) string {
	return r.nobody + r.chiefs + fmt.Sprintf("[[people]]\nname = %q\nidentities = [\"telegram:%d\"]\n", name, id)
}

// whole is the file as it is meant.
func (r *slip) whole() string { return r.with("Ann", r.ann.ID) }

func (r *slip) write(text string) {
	r.T.Helper()
	testkit.Write(r.T, r.Config, text)
}

// reads waits until somebody has read a text so often.
func (r *slip) reads(who telegramtest.User, text string, times int) {
	r.T.Helper()
	r.Await(fmt.Sprintf("%s reads %q %d times", who.FirstName, text, times), 20*time.Second, func() bool {
		return strings.Count(strings.Join(r.Answers(who.ID), "\n"), text) >= times
	})
}

// rows reads the database, whichever it is.
func (r *slip) rows(query string) [][]string {
	r.T.Helper()
	if r.url == "" {
		return r.Query(query)
	}
	return programtest.RowsOf(r.T, "postgres", r.url, query)
}

// hers is all that there is of Ann's.
func (r *slip) hers() string {
	r.T.Helper()
	return fmt.Sprint(r.rows(`SELECT id, text, state, reason FROM jobs WHERE owner = 'Ann' ORDER BY id`),
		r.rows(`SELECT r.id, r.state FROM runs r JOIN jobs j ON j.id = r.job_id WHERE j.owner = 'Ann' ORDER BY r.id`),
		r.rows(`SELECT id, text FROM notifications WHERE person = 'Ann' ORDER BY id`))
}

// settle waits until nothing is left to take, to run or to send, on either database.
func (r *slip) settle() {
	r.T.Helper()
	r.Taken()
	r.Await("all is run and sent", 20*time.Second, func() bool {
		return !slices.ContainsFunc(r.Turns(), func(turn turns.Turn) bool { return turn.State == "queued" || turn.State == "running" }) &&
			!slices.ContainsFunc(r.Deliveries(), func(d outbox.Info) bool { return d.State != "sent" && d.State != "dropped" })
	})
}

// is says where a person is from, as the list has it.
func (r *slip) is(name string) string {
	r.T.Helper()
	for _, p := range programtest.List[[]core.Person](r.Rig, "person", "list", "--json") {
		if p.Name == name && p.Away.IsZero() {
			return p.Source
		} else if p.Name == name {
			return "away"
		}
	}
	return "nobody"
}

func (r *slip) hasAll(when, want string) {
	r.T.Helper()
	if got := r.hers(); got != want || !strings.Contains(got, "water active") || !strings.Contains(got, "Reminder: stretch") {
		r.T.Errorf("%s she has %s, not %s", when, got, want)
	}
	before := len(r.Answers(r.ann.ID))
	r.Bot.Say(r.ann.ID, "is it me?")
	r.Await("she is answered", 20*time.Second, func() bool { return len(r.Answers(r.ann.ID)) > before })
}

func eachStore(t *testing.T, do func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); do(t, "") })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); do(t, storetest.MigratedURL(t)) })
}

// A slip in the settings file that lasts for five seconds costs nobody anything: who is named no more is
// away, what is theirs waits, the admins are told once of each time, and it goes on when they are named
// again. A file that names nobody is a fault.
func TestSlipInTheSettingsFile(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, url string) {
		r := newSlip(t, url)
		for i, wrong := range []string{r.nobody + r.chiefs, r.with("Anm", r.ann.ID)} {
			r.Bot.Say(r.ann.ID, fmt.Sprintf("/remind in 4 seconds to blink%d", i))
			r.reads(r.ann, fmt.Sprintf("blink%d", i), 1)
			slow := fmt.Sprintf("slow%d", i)
			release := r.Slow.Hold(t, programtest.WhilePlanning, slow)
			r.Bot.Say(r.ann.ID, slow)
			r.Await("it is thought about", 20*time.Second, r.Slow.Thinks(programtest.WhilePlanning, slow))
			r.Bot.Say(r.ann.ID, fmt.Sprintf("next%d", i))
			r.Taken()
			r.write(wrong)
			r.reads(r.Chief, "Away: Ann", i+1)
			release()
			if got := r.is("Ann"); got != "away" {
				t.Errorf("Ann is %s", got)
			}
			if answers := len(r.Answers(r.ann.ID)); i == 0 {
				r.Bot.Say(r.ann.ID, "am I here?")
				time.Sleep(6 * time.Second)
				if r.settle(); len(r.Answers(r.ann.ID)) != answers {
					t.Errorf("while away she reads %q", r.Answers(r.ann.ID)[answers:])
				}
			}
			r.write(r.whole())
			r.reads(r.Chief, "Back: Ann", i+1)
			r.reads(r.ann, fmt.Sprintf("Reminder: blink%d", i), 1)
			r.reads(r.ann, fmt.Sprintf("heard: next%d", i), 1)
			r.settle()
			if all := strings.Join(r.Answers(r.ann.ID), "\n"); strings.Index(all, "heard: "+slow) > strings.Index(all, fmt.Sprintf("heard: next%d", i)) || strings.Count(all, "heard: "+slow) != 1 {
				t.Errorf("in order she reads %q", all)
			}
		}
		if got := r.is("Anm"); got != "nobody" {
			t.Errorf("who was misspelt is %s", got)
		}
		whole := r.hers()
		for _, text := range []string{"stretch done", "water active", "blink0 done", "blink1 done", "Reminder: stretch", "Reminder: blink1"} {
			if !strings.Contains(whole, text) {
				t.Errorf("she has no %q, but %s", text, whole)
			}
		}
		for i, text := range []string{"", r.nobody} {
			r.write(text)
			r.Says("and the former ones stay\",\"fault\"", i+1)
			r.reads(r.Chief, "[[people]] is empty", 1) // the same again within ten minutes is not told
			r.hasAll("where nobody is named", whole)
			r.write(r.whole())
			r.Says("the settings can be used again", i+1)
		}
		r.hasAll("in the end", whole)
		if n := strings.Count(strings.Join(r.Answers(r.Chief.ID), "\n"), "Away: Ann"); n != 2 {
			t.Errorf("the admin is told %d times", n)
		}
		if rows := r.rows("SELECT count(*) FROM audit WHERE target = 'person Ann' AND action IN ('person.away', 'person.back')"); rows[0][0] != "4" {
			t.Errorf("the audit log has %s rows", rows)
		}
		r.Stop(10 * time.Second)
	})
}

// The same over a restart: nothing is lost, whatever starts first; where nobody is named nothing starts, and
// it is said how to go on. Somebody else by her name gets nothing of hers.
func TestSlipOverARestart(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, url string) {
		r := newSlip(t, url)
		whole := r.hers()
		r.Stop(10 * time.Second)
		r.write(r.nobody + r.chiefs)
		if is := r.is("Ann"); is != "away" || r.hers() != whole { // a command reads the file first
			t.Errorf("she is %s, and has %s", is, r.hers())
		}
		r.Ready()
		r.reads(r.Chief, "Away: Ann", 1)
		if out, _, _ := r.Command("doctor"); !strings.Contains(out, "away, no longer in [[people]], so not served: Ann") || strings.Count(out, "Ann (user") != 1 {
			t.Errorf("the doctor says %s", out)
		}
		for _, args := range [][]string{{"job", "list", "--all"}, {"job", "show", r.rows("SELECT id FROM jobs WHERE owner = 'Ann' AND state = 'active'")[0][0]}} {
			if out, errs, _ := r.Command(args...); !regexp.MustCompile(`active, owner is away|active, but waits: Ann is away`).MatchString(out) {
				t.Errorf("%v says %s%s", args, out, errs)
			}
		}
		r.Bot.Say(r.Chief.ID, "/jobs all")
		r.reads(r.Chief, "waits: Ann is away", 1)
		r.Bot.Say(r.ann.ID, "am I here?")
		r.Says("somebody who is away wrote", 1)
		r.Says("a stranger wrote", 0)
		r.Bot.Say(r.Chief.ID, "/people")
		r.reads(r.Chief, "away, as the settings file does not name them, since", 1)
		r.Stop(10 * time.Second)
		r.write(r.whole())
		r.Ready()
		r.hasAll("after a restart", whole)
		r.Stop(10 * time.Second)

		other := r.with("Ann", 987654)
		const lostURL = "belongs to a database on PostgreSQL, but [store] url names none"
		empty := "[[people]] is empty, but named Ann, Chief before"
		if url != "" { // an empty file names no database either
			empty = lostURL
		}
		for _, refused := range []struct{ text, want string }{
			{r.nobody, "[[people]] is empty, but named Ann, Chief before"},
			{"", empty},
			{other, "Ann (telegram:987654) has none of the identities that Ann had before"},
		} {
			r.write(refused.text)
			out, errs, code := r.Command("serve", "--data", filepath.Join(r.Dir, "data"))
			if code != 2 || !strings.Contains(errs, refused.want) || refused.want != lostURL && !strings.Contains(errs, "switchboard person remove") {
				t.Errorf("exit %d, %s%s", code, out, errs)
			}
			if out, errs, code := r.Command("config", "check", "--data", filepath.Join(r.Dir, "data")); refused.want != lostURL && (code != 2 || !strings.Contains(errs, refused.want)) {
				t.Errorf("checked: exit %d, %s%s", code, out, errs)
			}
		}
		r.write("") // says nothing of the folder either
		for _, args := range [][]string{{"serve"}, {"person", "list"}, {"config", "check"}} {
			if out, errs, code := r.Command(args...); code != 2 || !strings.Contains(errs, "at the last start it was "+filepath.Join(r.Dir, "data")) {
				t.Errorf("%q: exit %d, %s%s", args, code, out, errs)
			}
		}
		r.write(r.whole())
		r.Ready()
		r.hasAll("after refused starts", whole)
		r.write(other)
		r.reads(r.Chief, "has none of the identities that Ann had before", 1)
		r.hasAll("next to somebody else by her name", whole)

		remove := func(name string) {
			t.Helper()
			if _, errs, code := r.Command("person", "remove", name); code != 0 {
				t.Errorf("exit %d, %s", code, errs)
			}
		}
		remove("Ann") // by an operator who means it; then the file is right
		r.Await("the other Ann is let in", 20*time.Second, func() bool {
			return len(r.rows("SELECT person FROM identities WHERE identity = 'telegram:987654' AND person = 'Ann'")) == 1
		})
		if got := r.rows("SELECT count(*) FROM jobs WHERE owner = 'Ann'"); got[0][0] != "0" {
			t.Errorf("another Ann has %s jobs", got)
		}
		r.Stop(10 * time.Second)
		r.write(r.nobody)
		remove("Ann")
		remove("Chief")
		r.Up()
		r.Stop(10 * time.Second)
	})
}
