package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/jobs"
)

const (
	// clockWarn and clockFail are how far the clocks of this machine and of the database
	// may lie apart.
	clockWarn = 2 * time.Second
	clockFail = time.Minute
	// longOpen is how long a turn may be open before the doctor wonders.
	longOpen = 30 * time.Minute
	// sealLate is how old a row of the audit log may be that is not sealed.
	sealLate = 2 * time.Hour
)

// A ledgerReport is of a database: is it the one of this data folder, who works on
// it, and what of it needs somebody's eye.
type ledgerReport struct {
	*report
	ctx   context.Context
	db    *store.DB
	alive bool // an engine answers here
}

func (r *report) ledger(db *store.DB, alive bool) {
	ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
	defer cancel()
	l := ledgerReport{r, ctx, db, alive}
	if db.Kind() == "postgres" {
		l.cluster()
		l.clock()
		l.notify()
	}
	if db.Kind() == "postgres" || alive { // the file's engine is the one that answers
		l.engines()
	}
	l.named()
	l.tokens()
	l.audit()
	l.work()
	l.jobs()
	l.memory()
	l.vectors()
	l.heartbeat()
}

// named warns of who is away, of faults of the people in the settings, and of identities that end
// with the next start, because the settings name their person without them.
func (l ledgerReport) named() {
	of := l.db.Router()
	list, err := of.LeftOut(l.ctx, l.settings.Directory())
	_, away, wrong := of.Everyone(l.ctx)
	err = cmp.Or(err, wrong)
	wrong = of.CheckPeople(l.ctx, access.People(l.settings))
	faults, is := errors.AsType[*people.FaultsError](wrong)
	if !is {
		err = cmp.Or(err, wrong)
	}
	if err != nil {
		l.noAnswer("people", err)
		return
	}
	if len(away) > 0 {
		l.warn("people", "name them again, or remove each one for good with \"switchboard person remove NAME\"",
			"away, no longer in [[people]], so not served: "+joined(access.Names(away)))
	}
	if is {
		for _, fault := range faults.Faults {
			l.fail("people", "correct this in [[people]]; until then the next start fails", fault)
		}
	}
	if len(list) > 0 {
		l.warn("people", "", "[[people]] names somebody who was named at run time, without all their identities: "+strings.Join(list, ", ")+"; those are strangers from the next start on")
	}
}

func joined(list []string) string { return strings.Join(list, "; ") }

func (l ledgerReport) cluster() {
	name, err := l.db.Cluster(l.ctx)
	text := "database and data folder belong together (" + name + ")"
	if err != nil {
		text = err.Error()
	} else if name == "" {
		text = "database and data folder get a name at the first start"
	}
	l.add(Finding{Check: "cluster", OK: err == nil, Text: text, Fix: "check [store] url and data_dir; \"switchboard serve\" says how to accept them as they are"})
}

func (l ledgerReport) clock() {
	f := Finding{Check: "clock", Fix: "let both machines keep their clocks by a time server"}
	if ahead, within, err := engines.ClockDifference(l.ctx, l.db.DB); err != nil {
		f.Text = err.Error()
	} else {
		apart := max(ahead.Abs()-within, 0)
		f.OK, f.Warn = apart < clockFail, apart >= clockWarn
		if f.Text = "the database's clock and ours agree"; apart > 0 {
			f.Text = fmt.Sprintf("the database's clock is %s %s ours", ahead.Abs().Round(time.Millisecond), map[bool]string{true: "ahead of", false: "behind"}[ahead > 0])
		}
	}
	l.add(f)
}

func (l ledgerReport) notify() {
	took, err := engines.Notified(l.ctx, l.db.DB)
	text := fmt.Sprintf("engines hear each other (%s)", took.Round(100*time.Microsecond))
	if err != nil {
		text = err.Error()
	}
	l.add(Finding{
		Check: "notify", OK: err == nil, Text: text,
		Fix: "connect to the server itself, or through a pooler that keeps sessions; without it engines find each other's work up to 15 s late, and their locks do not hold",
	})
}

// engines tells of each engine that works on the database, and of those that died
// within a day.
func (l ledgerReport) engines() {
	list, err := engines.List(l.ctx, l.db.DB)
	if err != nil {
		l.noAnswer("engine", err)
		return
	}
	heirs := "the next one to start goes on with what it did"
	if slices.ContainsFunc(list, func(e engines.View) bool { return e.State == "alive" }) {
		heirs = "others go on with what it did"
		if l.db.Kind() == "sqlite" { // one at a time
			heirs = "the one that runs now goes on with what it did"
		}
	}
	for i := range list {
		if e := &list[i]; e.State != "ended" {
			l.add(engineFinding(e, heirs))
		}
	}
}

// engineFinding tells of one engine; heirs says who goes on for one that is dead.
func engineFinding(e *engines.View, heirs string) Finding {
	f := Finding{Check: "engine", OK: true, Text: fmt.Sprintf("%d on %s, process %d: %s since %s", e.ID, e.Host, e.PID, e.State, words.At(e.StartedAt))}
	if e.State == "dead" {
		f.Text = fmt.Sprintf("%d on %s, process %d: dead; %s", e.ID, e.Host, e.PID, heirs)
		return f
	}
	if e.Renewed >= 0 {
		f.Text += fmt.Sprintf(", renewed %s ago", e.Renewed.Round(100*time.Millisecond))
	}
	holds := []string{words.Count(e.Sessions, "session")}
	if len(e.Channels) > 0 {
		holds = append(holds, strings.Join(e.Channels, ", "))
	}
	f.Text += "; holds " + strings.Join(holds, " and ")
	switch {
	case e.State == "late":
		f.OK, f.Fix = false, "see whether its process runs and reaches the database; others, or its restart, take over its work"
		f.Text += "; it does not renew its row"
	case !e.Locked:
		f.OK, f.Fix = false, "see whether its connection to the database lives, and goes to the server itself or through a pooler that keeps sessions"
		f.Text += "; its lock is not held, so it begins nothing"
	}
	return f
}

func (l ledgerReport) audit() {
	oldest, sealed, err := l.db.Unsealed(l.ctx)
	if err != nil {
		l.noAnswer("audit", err)
		return
	}
	f := Finding{Check: "audit", OK: true, Text: "the log has no seal yet, which is normal within its first hour"}
	if !sealed.IsZero() {
		f.Text = "sealed at " + words.At(sealed)
	}
	if late := time.Since(oldest); !oldest.IsZero() && late > sealLate {
		f.Warn = true
		f.Text += fmt.Sprintf("; rows written since %s are not sealed yet: a running engine seals each hour, see its log", words.At(oldest))
	}
	l.add(f)
}

// work tells which turns and parts need somebody's eye.
func (l ledgerReport) work() {
	facts, err := l.db.Facts(l.ctx)
	if err != nil {
		l.noAnswer("ledger", err)
		return
	}
	turns := Finding{Check: "ledger", OK: true, Text: "nothing is being worked on", Warn: facts.Oldest > longOpen}
	if facts.Open > 0 {
		turns.Text = fmt.Sprintf("%s being worked on or waiting, the oldest was asked %s ago", words.Count(facts.Open, "message"), facts.Oldest.Round(time.Second))
	}
	if turns.Warn {
		turns.Text += "; see \"switchboard turn list --state running\" and \"--state queued\""
	}
	l.add(turns)
	if facts.Pending > 0 {
		l.ok("ledger", "%s waiting to be sent", words.Count(facts.Pending, "message part"))
	} else {
		l.ok("ledger", "nothing waits to be sent")
	}
	for _, lost := range []struct {
		n           int
		state, want string
	}{{facts.Dead, "dead", "not shown"}, {facts.Unknown, "unknown", "perhaps shown"}} {
		if lost.n > 0 {
			l.warn("ledger", "", fmt.Sprintf("%s %s, %s; see \"switchboard delivery list --state %s\", then \"delivery retry\" or \"delivery drop\"",
				words.Count(lost.n, "message part"), lost.state, lost.want, lost.state))
		}
	}
}

// memory tells what is not learned, or found, yet.
func (l ledgerReport) memory() {
	doing, err := l.db.RestTrouble(l.ctx)
	if err != nil {
		l.noAnswer("memory", err)
		return
	}
	if line := doing.Line(); line != "" {
		l.warn("memory", "it is tried again by itself; see that the models of [agent] curator and summarizer answer", line)
		return
	}
	l.ok("memory", "what was said in conversations that rest is looked at")
}

// vectors tells how many texts can be found by their meaning.
func (l ledgerReport) vectors() {
	model := l.settings.EmbeddingsModel()
	if model == "" {
		return
	}
	made, all, err := l.db.VectorProgress(l.ctx, model)
	if err != nil {
		l.noAnswer("embeddings", err)
		return
	}
	line := fmt.Sprintf("%d of %d made for %s", made, all, model)
	if made < all {
		l.warn("embeddings", "the rest is found by its words until then; while conversations rest \"switchboard serve\" makes them, and its log says why it cannot", line)
		return
	}
	l.ok("embeddings", "%s", line)
}

// jobs tells which jobs do not run though somebody wants them to.
func (l ledgerReport) jobs() {
	facts, err := l.db.JobFacts(l.ctx)
	if err != nil {
		l.noAnswer("jobs", err)
		return
	}
	of := "no jobs"
	if facts.Active != facts.Own {
		of = words.Count(facts.Active-facts.Own, "job")
	}
	all := Finding{Check: "jobs", OK: true, Text: fmt.Sprintf("%s of people and %d of the program are active", of, facts.Own)}
	if !l.settings.Scheduler.Enabled {
		all.Warn, all.Fix = true, "\"switchboard config set scheduler.enabled true\" has them go on"
		all.Text += "; switched off ([scheduler] enabled = false): none runs but maintenance"
		facts.Overdue = nil // it says why
	}
	l.add(all)
	wait := "start \"switchboard serve\", which begins them"
	if l.alive {
		wait = "see that the channels they speak in are connected, and what the log says of jobs"
	}
	for _, stopped := range []struct {
		jobs     []int64
		why, fix string
	}{
		{facts.Disabled, "disabled, as they failed too often", "\"switchboard job history N\" says why; then \"switchboard job resume N\""},
		{facts.Paused, "paused by the program", "\"switchboard job show N\" says why; then \"switchboard job resume N\" or \"job remove N\""},
		{facts.Overdue, "overdue: due for longer than " + jobs.Late.String() + ", and not begun", wait},
	} {
		if len(stopped.jobs) > 0 {
			l.warn("jobs", stopped.fix, numbered(stopped.jobs)+" "+stopped.why)
		}
	}
}

// numbered are jobs by number, the first ten of them.
func numbered(jobs []int64) string {
	list := strings.Trim(fmt.Sprint(jobs[:min(len(jobs), 10)]), "[]")
	text := words.Count(len(jobs), "job") + " (" + strings.ReplaceAll(list, " ", ", ")
	if len(jobs) > 10 {
		text += ", …"
	}
	if len(jobs) == 1 {
		return text + ") is"
	}
	return text + ") are"
}

// heartbeat warns of a heartbeat that would speak where nobody knows us.
func (l ledgerReport) heartbeat() {
	h := l.settings.Heartbeat
	if !h.Enabled || h.DeliverTo == "" {
		return
	}
	channel, conversation, _ := strings.Cut(h.DeliverTo, ":")
	chat, err := l.db.Router().Chat(l.ctx, channels.Conversation{Channel: channel, ID: channels.ConversationID(conversation)})
	switch {
	case err != nil && !errors.Is(err, core.ErrNotFound):
		l.noAnswer("heartbeat", err)
	case err != nil || chat.Kind == "": // the heartbeat itself makes its row, without a kind
		l.warn("heartbeat", "write to the bot there once, or name another chat; empty: it speaks to an admin where they wrote last",
			"heartbeat.deliver_to names "+h.DeliverTo+", where nobody has written to the bot yet")
	default:
		l.ok("heartbeat", "every %s, to %s", h.Every, h.DeliverTo)
	}
}
