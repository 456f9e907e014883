package main_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/testkit"
	"switchboard/router/ledger"
	"switchboard/router/view"
	"switchboard/store/storetest"
)

// A slip is a rig whose settings file is not as it was meant for a while.
type slip struct {
	*telegramRig
	ann    telegramtest.User
	url    string // of PostgreSQL; empty: SQLite
	nobody string // the file without its people
	chiefs string // the table [[people]] of Chief
}

func newSlip(t *testing.T, url string) *slip {
	t.Helper()
	r := &slip{telegramRig: newTelegram(t, ""), url: url}
	r.channel("telegram", r.bot, r.bot.Token(), "")
	r.ann = r.bot.AddUser("Ann")
	r.chiefs = fmt.Sprintf("[[people]]\nname = \"Chief\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", r.chief.ID)
	r.nobody = strings.Replace(r.settings(), r.chiefs, "", 1)
	if url != "" {
		r.nobody += fmt.Sprintf("[store]\nurl = %q\n", url)
	}
	r.write(r.whole())
	r.ready()
	r.bot.Say(r.chief.ID, "hello")
	r.reads(r.chief, "heard: hello", 1)
	r.bot.Say(r.ann.ID, "/remind in 1 second to stretch")
	r.bot.Say(r.ann.ID, "/remind every hour to water")
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
	r.t.Helper()
	testkit.Write(r.t, r.config, text)
}

// reads waits until somebody has read a text so often.
func (r *slip) reads(who telegramtest.User, text string, times int) {
	r.t.Helper()
	r.await(fmt.Sprintf("%s reads %q %d times", who.FirstName, text, times), 20*time.Second, func() bool {
		return strings.Count(strings.Join(r.answers(who.ID), "\n"), text) >= times
	})
}

// rows reads the database, whichever it is.
func (r *slip) rows(query string) [][]string {
	r.t.Helper()
	if r.url == "" {
		return r.query(query)
	}
	return rowsOf(r.t, "postgres", r.url, query)
}

// hers is all that there is of Ann's.
func (r *slip) hers() string {
	r.t.Helper()
	return fmt.Sprint(r.rows(`SELECT id, text, state, reason FROM jobs WHERE owner = 'Ann' ORDER BY id`),
		r.rows(`SELECT r.id, r.state FROM runs r JOIN jobs j ON j.id = r.job_id WHERE j.owner = 'Ann' ORDER BY r.id`),
		r.rows(`SELECT id, text FROM notifications WHERE person = 'Ann' ORDER BY id`))
}

// settle waits until nothing is left to take, to run or to send, on either database.
func (r *slip) settle() {
	r.t.Helper()
	r.taken()
	r.await("all is run and sent", 20*time.Second, func() bool {
		return !slices.ContainsFunc(r.turns(), func(turn view.Turn) bool { return turn.State == "queued" || turn.State == "running" }) &&
			!slices.ContainsFunc(r.deliveries(), func(d view.Delivery) bool { return d.State != "sent" && d.State != "dropped" })
	})
}

// is says where a person is from, as the list has it.
func (r *slip) is(name string) string {
	r.t.Helper()
	for _, p := range list[[]ledger.Person](r.rig, "person", "list", "--json") {
		if p.Name == name && p.Away.IsZero() {
			return p.Source
		} else if p.Name == name {
			return "away"
		}
	}
	return "nobody"
}

func (r *slip) hasAll(when, want string) {
	r.t.Helper()
	if got := r.hers(); got != want || !strings.Contains(got, "water active") || !strings.Contains(got, "Reminder: stretch") {
		r.t.Errorf("%s she has %s, not %s", when, got, want)
	}
	before := len(r.answers(r.ann.ID))
	r.bot.Say(r.ann.ID, "is it me?")
	r.await("she is answered", 20*time.Second, func() bool { return len(r.answers(r.ann.ID)) > before })
}

func eachStore(t *testing.T, do func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); do(t, "") })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); do(t, storetest.PostgresURL(t)) })
}

// A slip in the settings file that lasts for five seconds costs nobody anything: who is named no more is
// away, what is theirs waits, the admins are told once of each time, and it goes on when they are named
// again. A file that names nobody is a fault.
func TestSlipInTheSettingsFile(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, url string) {
		r := newSlip(t, url)
		for i, wrong := range []string{r.nobody + r.chiefs, r.with("Anm", r.ann.ID)} {
			r.bot.Say(r.ann.ID, fmt.Sprintf("/remind in 4 seconds to blink%d", i))
			r.reads(r.ann, fmt.Sprintf("blink%d", i), 1)
			slow := fmt.Sprintf("slow%d", i)
			release := r.mind.hold(t, whilePlanning, slow)
			r.bot.Say(r.ann.ID, slow)
			r.await("it is thought about", 20*time.Second, r.mind.thinks(whilePlanning, slow))
			r.bot.Say(r.ann.ID, fmt.Sprintf("next%d", i))
			r.taken()
			r.write(wrong)
			r.reads(r.chief, "Away: Ann", i+1)
			release()
			if got := r.is("Ann"); got != "away" {
				t.Errorf("Ann is %s", got)
			}
			if answers := len(r.answers(r.ann.ID)); i == 0 {
				r.bot.Say(r.ann.ID, "am I here?")
				time.Sleep(6 * time.Second)
				if r.settle(); len(r.answers(r.ann.ID)) != answers {
					t.Errorf("while away she reads %q", r.answers(r.ann.ID)[answers:])
				}
			}
			r.write(r.whole())
			r.reads(r.chief, "Back: Ann", i+1)
			r.reads(r.ann, fmt.Sprintf("Reminder: blink%d", i), 1)
			r.reads(r.ann, fmt.Sprintf("heard: next%d", i), 1)
			r.settle()
			if all := strings.Join(r.answers(r.ann.ID), "\n"); strings.Index(all, "heard: "+slow) > strings.Index(all, fmt.Sprintf("heard: next%d", i)) || strings.Count(all, "heard: "+slow) != 1 {
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
			r.says("and the former ones stay\",\"fault\"", i+1)
			r.reads(r.chief, "[[people]] is empty", 1) // the same again within ten minutes is not told
			r.hasAll("where nobody is named", whole)
			r.write(r.whole())
			r.says("the settings can be used again", i+1)
		}
		r.hasAll("in the end", whole)
		if n := strings.Count(strings.Join(r.answers(r.chief.ID), "\n"), "Away: Ann"); n != 2 {
			t.Errorf("the admin is told %d times", n)
		}
		if rows := r.rows("SELECT count(*) FROM audit WHERE target = 'person Ann' AND action IN ('person.away', 'person.back')"); rows[0][0] != "4" {
			t.Errorf("the audit log has %s rows", rows)
		}
		r.stop(10 * time.Second)
	})
}

// The same over a restart: nothing is lost, whatever starts first; where nobody is named nothing starts, and
// it is said how to go on. Somebody else by her name gets nothing of hers.
func TestSlipOverARestart(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, url string) {
		r := newSlip(t, url)
		whole := r.hers()
		r.stop(10 * time.Second)
		r.write(r.nobody + r.chiefs)
		if is := r.is("Ann"); is != "away" || r.hers() != whole { // a command reads the file first
			t.Errorf("she is %s, and has %s", is, r.hers())
		}
		r.ready()
		r.reads(r.chief, "Away: Ann", 1)
		if out, _, _ := r.command("doctor"); !strings.Contains(out, "away, no longer in [[people]], so not served: Ann") || strings.Count(out, "Ann (user") != 1 {
			t.Errorf("the doctor says %s", out)
		}
		for _, args := range [][]string{{"job", "list", "--all"}, {"job", "show", r.rows("SELECT id FROM jobs WHERE owner = 'Ann' AND state = 'active'")[0][0]}} {
			if out, errs, _ := r.command(args...); !regexp.MustCompile(`active, owner is away|active, but waits: Ann is away`).MatchString(out) {
				t.Errorf("%v says %s%s", args, out, errs)
			}
		}
		r.bot.Say(r.chief.ID, "/jobs all")
		r.reads(r.chief, "waits: Ann is away", 1)
		r.bot.Say(r.ann.ID, "am I here?")
		r.says("somebody who is away wrote", 1)
		r.says("a stranger wrote", 0)
		r.bot.Say(r.chief.ID, "/people")
		r.reads(r.chief, "away, as the settings file does not name them, since", 1)
		r.stop(10 * time.Second)
		r.write(r.whole())
		r.ready()
		r.hasAll("after a restart", whole)
		r.stop(10 * time.Second)

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
			out, errs, code := r.command("serve", "--data", filepath.Join(r.dir, "data"))
			if code != 2 || !strings.Contains(errs, refused.want) || refused.want != lostURL && !strings.Contains(errs, "switchboard person remove") {
				t.Errorf("exit %d, %s%s", code, out, errs)
			}
			if out, errs, code := r.command("config", "check", "--data", filepath.Join(r.dir, "data")); refused.want != lostURL && (code != 2 || !strings.Contains(errs, refused.want)) {
				t.Errorf("checked: exit %d, %s%s", code, out, errs)
			}
		}
		r.write("") // says nothing of the folder either
		for _, args := range [][]string{{"serve"}, {"person", "list"}, {"config", "check"}} {
			if out, errs, code := r.command(args...); code != 2 || !strings.Contains(errs, "at the last start it was "+filepath.Join(r.dir, "data")) {
				t.Errorf("%q: exit %d, %s%s", args, code, out, errs)
			}
		}
		r.write(r.whole())
		r.ready()
		r.hasAll("after refused starts", whole)
		r.write(other)
		r.reads(r.chief, "has none of the identities that Ann had before", 1)
		r.hasAll("next to somebody else by her name", whole)

		remove := func(name string) {
			t.Helper()
			if _, errs, code := r.command("person", "remove", name); code != 0 {
				t.Errorf("exit %d, %s", code, errs)
			}
		}
		remove("Ann") // by an operator who means it; then the file is right
		r.await("the other Ann is let in", 20*time.Second, func() bool {
			return len(r.rows("SELECT person FROM identities WHERE identity = 'telegram:987654' AND person = 'Ann'")) == 1
		})
		if got := r.rows("SELECT count(*) FROM jobs WHERE owner = 'Ann'"); got[0][0] != "0" {
			t.Errorf("another Ann has %s jobs", got)
		}
		r.stop(10 * time.Second)
		r.write(r.nobody)
		remove("Ann")
		remove("Chief")
		r.up()
		r.stop(10 * time.Second)
	})
}
