package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/decision"
	"switchboard/router/money"
)

const (
	restEvery = time.Minute // between looks for sessions that rest, unless one is noted before
	restLimit = 50          // sessions that one look finds
	restAtOne = 4           // people whose sessions are worked on at once

	lookFrom  = 3  // new messages of a person that are worth a look
	lookMost  = 40 // messages that one look reads
	sumMost   = 60 // messages that one summary takes
	curateAll = 20 // learnings that are judged at once
	knownMost = 100

	askedFor   = 30 * 24 * time.Hour // after which a question expires
	giveUp     = 8                   // tries, after which what a model cannot do is left undone
	firstPause = time.Minute
	longest    = 6 * time.Hour
)

// Sources of what nobody wrote.
const (
	Review  = "review"  // a review taught it
	AtRest  = "rest"    // a look at rest did
	Curator = "curator" // it was promoted, or is to be asked
	Merge   = "merge"   // several became one
	Answer  = "answer"  // a person answered a question of ours
)

// ErrEnough says that a model was asked often enough today for the sake of a person's memory.
var ErrEnough = errors.New("[memory] per_day is used up")

// A Rester does the work of memory while sessions rest: it indexes, looks, judges, sums up and consolidates, one piece after the other
// and for one person one session at a time.
type Rester struct {
	*Service
	Rests RestStore
	Owner int64
	// Ask is what asks models for a person, and counts what it costs.
	Ask func(person string) memory.Asker
	// Indexed is called when something new may be found; nil: it is not.
	Indexed func()
	// Limits are as they are now.
	Limits func() RestLimits

	soon chan struct{}
}

// RestLimits are settings of the work at rest.
type RestLimits struct {
	Idle      time.Duration // after which a session rests
	Retries   int           // of an answer with faults
	SumFrom   int           // new messages that are summed up
	MostFacts int           // of a scope, above which they are consolidated
	Strangers []string      // channels in whose groups is told what strangers say
	Day       string        // as money is counted
	DayOver   time.Time
}

// NewRester makes one; it does nothing before Run.
func NewRester(r Rester) *Rester {
	r.soon = make(chan struct{}, 1)
	return &r
}

// Wake has it look at once: a session rests.
func (r *Rester) Wake() { retry.Signal(r.soon) }

// Run works until ctx ends. With nothing that it could do it asks the database once a minute.
func (r *Rester) Run(ctx context.Context) {
	for {
		r.strangersSpoke(ctx)
		list, err := r.Rests.Resting(ctx, r.Owner, r.Now().Add(-r.Limits().Idle), restLimit)
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "cannot look for sessions that rest", "error", err)
		}
		if r.all(ctx, list) && ctx.Err() == nil {
			if r.Indexed != nil {
				r.Indexed()
			}
			continue // there may be more, of them or of others
		}
		if !retry.Await(ctx, r.soon, restEvery) {
			return
		}
	}
}

// all works on sessions, those of one person one after the other, and says whether anything was done.
func (r *Rester) all(ctx context.Context, list []Resting) bool {
	var work errgroup.Group
	work.SetLimit(restAtOne)
	var did atomic.Bool
	for _, theirs := range memory.ByPerson(list, func(rest Resting) string { return rest.Person }) {
		work.Go(func() error {
			for _, rest := range theirs {
				if ctx.Err() == nil && r.session(ctx, rest.Session) {
					did.Store(true)
				}
			}
			return nil
		})
	}
	_ = work.Wait()
	return did.Load()
}

// session does all that is to be done in one, and says whether that was something.
func (r *Rester) session(ctx context.Context, id int64) (worked bool) {
	for {
		now, err := r.Rests.Rest(ctx, id, r.Owner, r.Now().Add(-r.Limits().Idle))
		if err != nil || now == nil {
			if err != nil && ctx.Err() == nil {
				r.Log.WarnContext(ctx, "cannot work on a session that rests", "session_id", id, "error", err)
			}
			return worked
		}
		did, err := r.piece(ctx, now)
		if err == nil && !did && now.Due {
			err = r.Rests.Rested(ctx, now)
			worked = worked || err == nil
		}
		worked = worked || did
		if err != nil && ctx.Err() == nil {
			r.failed(ctx, now, err)
		}
		freeing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		if err := r.Rests.FreeRest(freeing, now); err != nil {
			r.Log.WarnContext(ctx, "a lease was not given back", "session_id", id, "error", err)
		}
		cancel()
		if err != nil || !did || ctx.Err() != nil {
			return worked
		}
	}
}

// failed notes why a piece of work was not done.
func (r *Rester) failed(ctx context.Context, now *Resting, err error) {
	if errors.Is(err, core.ErrFenced) {
		return // another engine is at it, or who it was for is gone
	}
	again := r.Now().Add(retry.Pause(now.Tries, firstPause, longest))
	switch {
	case errors.Is(err, ErrEnough):
		again, now.Tries = r.Limits().DayOver, -1 // it was not tried
	case overLimit(err) != "":
		now.Tries = min(now.Tries, giveUp/2) // nor was it then, so it is not given up for it; calls under way may leave room soon
	case errors.Is(err, decision.ErrNoAnswer):
		again = r.Now().Add(firstPause)
		now.Tries-- // nor does this say anything of it
	case errors.Is(err, core.ErrConflict) && now.Tries == 0:
		again = now.UsedAt // at once: what it was made from is not so any more: the next look finds what is
	case skips(now, err):
		again = time.Time{}
	}
	r.Log.WarnContext(ctx, "memory's work at rest was not done", "session_id", now.Session, "person", now.Person, "tries", now.Tries+1, "error", err)
	if err := r.Rests.RestFailed(ctx, now, tools.Shorten(r.Hide(err.Error()), 300, 100), again); err != nil {
		r.Log.WarnContext(ctx, "cannot note that work at rest was not done", "session_id", now.Session, "error", err)
	}
}

// caught has a panic be an error: what goes wrong here ends nothing else.
func caught(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
	}
}

// piece does the next thing that is to be done there, if there is one.
func (r *Rester) piece(ctx context.Context, now *Resting) (did bool, err error) {
	defer caught(&err)
	now.Denied = r.Settings().DeniedCategories
	if more, err := r.Rests.IndexRest(ctx, now); err != nil || more {
		return more, err
	}
	if !now.Due {
		return false, nil
	}
	if !r.pays(now) {
		return r.report(ctx, now) // goes through it without a call
	}
	for _, do := range []func(context.Context, *Resting) (bool, error){r.look, r.curate, r.sum, r.consolidate, r.report} {
		if did, err := do(ctx, now); err != nil || did {
			return did, err
		}
	}
	return false, nil
}

// learns says that something may be learned of a person unasked, and what may not.
func (r *Rester) learns(ctx context.Context, person string) (learns bool, denied []string, err error) {
	own, err := r.Store.MemorySettings(ctx, person)
	return own.Learning && r.Settings().Learning, append(own.Denied, r.Settings().DeniedCategories...), err
}

// fewer does something with n things, and with half of them where a model reads no more. A panic is an error.
func fewer(n int, do func(n int) error) error {
	safely := func(n int) (err error) {
		defer caught(&err)
		return do(n)
	}
	for ; ; n /= 2 {
		if err := safely(n); n < 2 || !errors.Is(err, llm.ErrContextTooLong) {
			return err
		}
	}
}

// skips says that what cannot be done is left undone for good: it was tried often enough, and not for want of a model.
func skips(now *Resting, err error) bool {
	return err != nil && now.Tries+1 >= giveUp && !errors.Is(err, core.ErrFenced) && !errors.Is(err, context.Canceled) && !errors.Is(err, decision.ErrNoAnswer) &&
		(now.answered || errors.Is(err, llm.ErrRefused) || errors.Is(err, llm.ErrContextTooLong))
}

// overLimit is the limit of [budget] that has no room for a call; empty: it is not for that.
func overLimit(err error) money.SpendingScope {
	if over, is := errors.AsType[*money.OverLimitError](err); is {
		return over.Scope
	}
	return ""
}

// ofThemAlone says that a call failed for what one person wrote, or may spend.
func ofThemAlone(err error) bool {
	return memory.ForWords(err) || errors.Is(err, ErrEnough) || overLimit(err) == money.SpentByPerson && !llm.Away(err)
}

// look has a model look at what people wrote, each by themselves.
func (r *Rester) look(ctx context.Context, now *Resting) (did bool, err error) {
	spoken, err := r.Rests.SpokenAfter(ctx, now, max(now.LookedTo, now.Reset), lookMost)
	if err != nil {
		return false, err
	}
	written := map[string]int{}
	var people []string
	for _, m := range spoken {
		if m.In && m.Own && now.by(m.Who) && r.Person(m.Who) != nil {
			if written[m.Who]++; written[m.Who] == 1 {
				people = append(people, m.Who)
			}
		}
	}
	if !slices.ContainsFunc(people, func(name string) bool { return written[name] >= lookFrom }) && len(spoken) < lookMost {
		return false, nil
	}
	err = fewer(len(spoken), func(n int) error {
		some := spoken[:n]
		var learned []memory.Entry
		var left error
		looked := false
		for _, name := range people {
			learns, denied, err := r.learns(ctx, name)
			if err != nil {
				return err
			}
			if !learns || now.Private || now.Copied {
				continue
			}
			var said []memory.Said
			for _, m := range some {
				switch {
				case m.Hidden:
				case m.In && m.Own && m.Who == name:
					said = append(said, memory.Said{By: name, At: m.At, Text: tools.Shorten(m.Text, 1500, 500)})
				case !m.In && m.Who == name: // what they were answered
					said = append(said, memory.Said{At: m.At, Text: tools.Shorten(m.Text, 400, 100), Taint: m.Taint})
				}
			}
			if !slices.ContainsFunc(said, func(m memory.Said) bool { return m.By != "" }) {
				continue
			}
			texts, err := r.clerk(now, name).Look(ctx, said)
			if ofThemAlone(err) {
				left = err
				r.Log.WarnContext(ctx, "what somebody said is not looked at", "session_id", now.Session, "person", name, "error", err)
				continue // the others' words do not wait for theirs
			} else if err != nil {
				return err
			}
			looked = true
			for _, text := range texts {
				if memory.Denied(denied, "", text) != "" {
					continue
				}
				learned = append(learned, memory.Entry{
					Kind: memory.Learning, Scope: memory.OfSession(now.Session), Text: r.Hide(text), Person: name, Source: AtRest, Confidence: 0.8,
				})
			}
		}
		if left != nil && !looked {
			return left
		}
		return r.Rests.WriteLook(ctx, now, some[n-1].ID, learned)
	})
	if skips(now, err) {
		err = r.Rests.WriteLook(ctx, now, spoken[len(spoken)-1].ID, nil)
	}
	return err == nil, err
}

// sum makes the summary again, with what was said since. In a direct chat what came from elsewhere is not in it, so that the chat is tainted
// only while that is among its latest messages; memory.search finds it.
func (r *Rester) sum(ctx context.Context, now *Resting) (did bool, err error) {
	spoken, err := r.Rests.SpokenAfter(ctx, now, max(now.SummedTo, now.Reset), max(sumMost, r.Limits().SumFrom))
	if err != nil || len(spoken) < r.Limits().SumFrom {
		return false, err
	}
	err = fewer(len(spoken), func(n int) error {
		var said []memory.Said
		for _, m := range spoken[:n] {
			line := memory.Said{At: m.At, Text: tools.Shorten(m.Text, 1500, 500), Taint: m.Taint}
			if m.In {
				line.By = m.Who
			}
			if !now.Direct || m.Who != now.Person { // others read what it says, or said it
				line.Taint = m.Taint.Join(tools.Others)
			}
			if !m.Hidden && (!now.Direct || line.Taint == tools.Clean) {
				said = append(said, line)
			}
		}
		text, taint := now.Summary, now.SummaryTaint
		if len(said) > 0 {
			if text, taint, err = r.clerk(now, now.Person).Summarize(ctx, text, taint, said); err != nil {
				return err
			}
		}
		return r.Rests.WriteSummary(ctx, now, spoken[n-1].ID, r.Hide(text), taint)
	})
	if skips(now, err) {
		err = r.Rests.WriteSummary(ctx, now, spoken[len(spoken)-1].ID, now.Summary, now.SummaryTaint)
	}
	return err == nil, err
}

// consolidate makes fewer of the facts of the place, where a fifth of as many as there may be is new.
func (r *Rester) consolidate(ctx context.Context, now *Resting) (did bool, err error) {
	at, most := now.Place(now.Person), r.Limits().MostFacts
	all, fresh, err := r.Rests.MergeableFacts(ctx, at.Own())
	if err != nil || all <= most || fresh*5 < most || now.Private {
		return false, err
	}
	if learns, _, err := r.learns(ctx, now.Person); err != nil || !learns {
		return false, err
	}
	if err := r.heard(ctx, &at, tools.Clean); err != nil {
		return false, err
	}
	facts, err := r.Store.Memories(ctx, Filter{Scopes: []memory.Scope{at.Own()}, Kinds: []memory.Kind{memory.Fact}, Limit: 4 * most})
	if err != nil || len(facts) == 0 { // all of them expired, or were forgotten meanwhile
		return false, err
	}
	slices.Reverse(facts)
	newest := facts[len(facts)-1].ID
	err = fewer(len(facts), func(n int) error {
		merged, err := r.clerk(now, now.Person).Consolidate(ctx, facts[:n])
		if errors.Is(err, memory.ErrRuinous) {
			r.Log.WarnContext(ctx, "a consolidation was aborted", "scope", at.Own(), "error", err)
			err = nil
		}
		if err != nil {
			return err
		}
		var list []*Change
		for _, m := range merged {
			change, err := r.merged(ctx, &at, m, facts[:n])
			if err != nil {
				return err
			}
			if change.Refusal == nil {
				list = append(list, change)
			}
		}
		return r.Rests.WriteMerged(ctx, now, at.Own(), newest, list)
	})
	if skips(now, err) {
		err = r.Rests.WriteMerged(ctx, now, at.Own(), newest, nil)
	}
	return err == nil, err
}

// merged is the change that writes a fact in place of several.
func (r *Rester) merged(ctx context.Context, at *memory.Place, m memory.Merged, facts []memory.Entry) (*Change, error) {
	e := memory.Entry{Kind: memory.Fact, Scope: at.Own(), Text: m.Text, Source: Merge}
	who := ""
	for i, id := range m.Of {
		f := &facts[slices.IndexFunc(facts, func(f memory.Entry) bool { return f.ID == id })]
		e.Kept, e.Confidence = e.Kept || f.Kept, max(e.Confidence, f.Confidence)
		if i == 0 {
			who = f.Person
		} else if who != f.Person {
			who = "" // of several
		}
	}
	return r.write(ctx, &Writer{Person: who, Place: *at, Machine: true}, e, m.Of...)
}
