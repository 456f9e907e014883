package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/configs"
	"switchboard/internal/words"
	"switchboard/router/people"
	"switchboard/store"
	"switchboard/store/engines"
)

const (
	// clockWarn and clockFail are how far the clocks of this machine and of the database
	// may lie apart.
	clockWarn = 2 * time.Second
	clockFail = time.Minute
	// longOpen is how long a turn may be open before the doctor wonders.
	longOpen = 30 * time.Minute
)

// checkLedger looks into the database: is it the one of this data folder, who works on
// it, and what of it needs somebody's eye. alive says that an engine answers here.
func (a *app) checkLedger(db *store.DB, settings *configs.Settings, alive bool) []finding {
	ctx, cancel := context.WithTimeout(a.ctx, 20*time.Second)
	defer cancel()
	var findings []finding
	if db.Kind() == "postgres" {
		findings = append(findings, checkCluster(ctx, db), checkClock(ctx, db), checkNotify(ctx, db))
	}
	if db.Kind() == "postgres" || alive { // the file's engine is the one that answers
		findings = append(findings, checkEngines(ctx, db)...)
	}
	findings = append(append(findings, checkNamed(ctx, db, settings)...), checkAudit(ctx, db))
	return slices.Concat(findings, checkFacts(ctx, db), checkJobs(ctx, db, settings, alive), checkHeartbeat(ctx, db, settings))
}

// checkNamed warns of who is away, of faults of the people in the settings, and of identities that end
// with the next start, because the settings name their person without them.
func checkNamed(ctx context.Context, db *store.DB, settings *configs.Settings) (found []finding) {
	list, err := db.Router().LeftOut(ctx, settings.Directory())
	_, away, wrong := db.Router().Everyone(ctx)
	err = cmp.Or(err, wrong)
	wrong = db.Router().CheckPeople(ctx, withOwner(settings.Directory()))
	faults, is := errors.AsType[*people.FaultsError](wrong)
	if !is {
		err = cmp.Or(err, wrong)
	}
	if err != nil {
		return []finding{{Check: "people", Text: err.Error(), Mend: "see what the database's log says"}}
	}
	if len(away) > 0 {
		found = append(found, finding{
			Check: "people", OK: true, Warn: true, Text: "away, no longer in [[people]], so not served: " + strings.Join(namesOf(away), "; "),
			Mend: "name them again, or remove each one for good with \"switchboard person remove NAME\"",
		})
	}
	if is {
		for _, fault := range faults.Faults {
			found = append(found, finding{Check: "people", Text: fault, Mend: "correct this in [[people]]; until then the next start fails"})
		}
	}
	if len(list) > 0 {
		found = append(found, finding{
			Check: "people", OK: true, Warn: true,
			Text: "[[people]] names somebody who was named at run time, without all their identities: " + strings.Join(list, ", ") + "; those are strangers from the next start on",
		})
	}
	return found
}

func checkCluster(ctx context.Context, db *store.DB) finding {
	f := finding{Check: "cluster", Mend: "check [store] url and data_dir; \"switchboard serve\" says how to accept them as they are"}
	name, err := db.Cluster(ctx)
	switch {
	case err != nil:
		f.Text = err.Error()
	case name == "":
		f.OK, f.Text = true, "database and data folder get a name at the first start"
	default:
		f.OK, f.Text = true, "database and data folder belong together ("+name+")"
	}
	return f
}

func checkClock(ctx context.Context, db *store.DB) finding {
	f := finding{Check: "clock", Mend: "let both machines keep their clocks by a time server"}
	ahead, within, err := engines.ClockDifference(ctx, db.DB)
	if err != nil {
		f.Text = err.Error()
		return f
	}
	apart := max(ahead.Abs()-within, 0)
	f.OK, f.Warn = apart < clockFail, apart >= clockWarn
	if f.Text = "the database's clock and ours agree"; apart > 0 {
		f.Text = fmt.Sprintf("the database's clock is %s %s ours", ahead.Abs().Round(time.Millisecond), map[bool]string{true: "ahead of", false: "behind"}[ahead > 0])
	}
	return f
}

func checkNotify(ctx context.Context, db *store.DB) finding {
	f := finding{Check: "notify", Mend: "connect to the server itself, or through a pooler that keeps sessions; without it engines find each other's work up to 15 s late, and their locks do not hold"}
	took, err := engines.Notified(ctx, db.DB)
	if err != nil {
		f.Text = err.Error()
		return f
	}
	f.OK, f.Text = true, fmt.Sprintf("engines hear each other (%s)", took.Round(100*time.Microsecond))
	return f
}

// checkEngines tells of each engine that works on the database, and of those that died
// within a day.
func checkEngines(ctx context.Context, db *store.DB) (findings []finding) {
	list, err := engines.List(ctx, db.DB)
	if err != nil {
		return []finding{{Check: "engine", Text: err.Error(), Mend: "see what the database's log says"}}
	}
	heirs := "the next one to start goes on with what it did"
	if slices.ContainsFunc(list, func(e engines.View) bool { return e.State == "alive" }) {
		heirs = "others go on with what it did"
		if db.Kind() == "sqlite" { // one at a time
			heirs = "the one that runs now goes on with what it did"
		}
	}
	for i := range list {
		if e := &list[i]; e.State != "ended" {
			findings = append(findings, engineFinding(e, heirs))
		}
	}
	return findings
}

// engineFinding tells of one engine; heirs says who goes on for one that is dead.
func engineFinding(e *engines.View, heirs string) finding {
	f := finding{Check: "engine", OK: true, Text: fmt.Sprintf("%d on %s, process %d: %s since %s", e.ID, e.Host, e.PID, e.State, at(e.StartedAt))}
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
		f.OK, f.Mend = false, "see whether its process runs and reaches the database; others, or its restart, take over its work"
		f.Text += "; it does not renew its row"
	case !e.Locked:
		f.OK, f.Mend = false, "see whether its connection to the database lives, and goes to the server itself or through a pooler that keeps sessions"
		f.Text += "; its lock is not held, so it begins nothing"
	}
	return f
}

// checkFacts tells what in the ledger needs somebody's eye.
func checkFacts(ctx context.Context, db *store.DB) []finding {
	facts, err := db.Facts(ctx)
	if err != nil {
		return []finding{{Check: "ledger", Text: err.Error(), Mend: "see what the database's log says"}}
	}
	turns := finding{Check: "ledger", OK: true, Text: "nothing is being worked on"}
	if facts.Open > 0 {
		turns.Text = words.Count(facts.Open, "message") + " being worked on or waiting"
		turns.Text += fmt.Sprintf(", the oldest was asked %s ago", facts.Oldest.Round(time.Second))
	}
	if facts.Oldest > longOpen {
		turns.Warn = true
		turns.Text += "; see \"switchboard turn list --state running\" and \"--state queued\""
	}
	parts := finding{Check: "ledger", OK: true, Text: "nothing waits to be sent"}
	if facts.Pending > 0 {
		parts.Text = words.Count(facts.Pending, "message part") + " waiting to be sent"
	}
	findings := []finding{turns, parts}
	for _, lost := range []struct {
		n           int
		state, want string
	}{
		{facts.Dead, "dead", "not shown"},
		{facts.Unknown, "unknown", "perhaps shown"},
	} {
		if lost.n > 0 {
			findings = append(findings, finding{Check: "ledger", OK: true, Warn: true, Text: fmt.Sprintf(
				"%s %s, %s; see \"switchboard delivery list --state %s\", then \"delivery retry\" or \"delivery drop\"",
				words.Count(lost.n, "message part"), lost.state, lost.want, lost.state)})
		}
	}
	return findings
}
