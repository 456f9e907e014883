package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	agentmemory "switchboard/agent/memory"
	"switchboard/internal/retry"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/memory"
	"switchboard/store/people"
	"switchboard/store/sessions"
)

// An Erasure is who is erased, for whom, and what else is done for it.
type Erasure struct {
	Name string
	By   core.Actor
	// KeepOthers leaves memories that others gave and that name them.
	KeepOthers bool
	Owner      int64 // the engine that does it
	// Own removes what a chat of theirs alone has outside of the database; Shared says that one with others has something there, which
	// stays.
	Own    func(session int64) error
	Shared func(session int64) bool
	// Unused is told of bytes of files that no row names any more.
	Unused func(ctx context.Context, blob string) error
}

// underWay is how long Erase waits for turns that had read what it erased.
const underWay = time.Minute

// eraser erases one person, some hundred rows at a time. Each step finds nothing to do where it was done before, so that one that was
// cut off anywhere is finished by running it again.
type eraser struct {
	Erasure
	*sweeper
	audit  audit.Erasure
	marks  string // of the names that they have or wrote under, which are who
	who    []any
	theirs string // the condition that a message m is theirs, with its arguments
	args   []any
	names  func(text string) bool // a text names them
	done   routermemory.Erased

	sealing           int64 // the fence of the sealer's lease
	toMessage, toTurn int64 // those that were there when it began
	last              int64 // the newest turn that may have read what is erased
	everywhere        bool  // what they gave may stand in the prompts of every chat

	wrote, spoke map[int64]bool            // conversations and sessions that have messages of theirs
	sent         map[int64]map[string]bool // files that others were sent, by session
}

// Erase takes what somebody said out of everything, and what is remembered of them, and returns how much. ErrNotFound: nobody is
// called so, nor was. *core.StateError: it cannot be done now.
func (db *DB) Erase(ctx context.Context, what Erasure) (*routermemory.Erased, error) {
	if err := db.takeIntoAudit(ctx); err != nil { // what ended stands there under their name
		return nil, err
	}
	e, err := db.eraser(ctx, what)
	if err != nil {
		return nil, err
	}
	for lease, why := range map[string]string{retaining: "old rows are cleared away, or somebody is erased", sealing: "the audit log is sealed"} {
		fence, ok, err := db.lease(ctx, lease, what.Owner)
		if err == nil && !ok {
			err = &core.StateError{Sentence: "Not now, because " + why + ": please try again in a few minutes."}
		}
		if err != nil {
			return nil, err
		}
		defer db.endLease(ctx, lease, fence)
		if lease == retaining {
			e.fence = fence
		} else {
			e.sealing = fence
		}
	}
	for _, step := range []func(context.Context) error{e.begin, e.memories, e.messages, e.turns, e.chats, e.rest, e.files, e.log} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := db.Compact(ctx, erasedTables...); err != nil {
		return nil, err
	}
	return &e.done, db.Write(ctx, database.Durable, "end an erasure", func(t *database.Tx) error { return e.say(t, "done") })
}

// Erasable counts what there is of somebody. ErrNotFound: nobody is called so, nor was.
func (r *Router) Erasable(ctx context.Context, name string) (*routermemory.Erased, error) {
	if err := r.db.takeIntoAudit(ctx); err != nil {
		return nil, err
	}
	e, err := r.db.eraser(ctx, Erasure{Name: name})
	if err != nil {
		return nil, err
	}
	if err := e.count(ctx); err != nil {
		return nil, err
	}
	return &e.done, e.countMore(ctx)
}

func (db *DB) eraser(ctx context.Context, what Erasure) (*eraser, error) {
	what.Name = database.Clean(what.Name)
	e := &eraser{Erasure: what, sweeper: &sweeper{db: db}, spoke: map[int64]bool{}, done: routermemory.Erased{Person: what.Name, OthersStay: what.KeepOthers}}
	e.audit = audit.Erasure{Names: []string{e.Name}, Hash: audit.ErasedName(e.Name), By: what.By}
	if e.By.Person == e.Name {
		e.audit.By.Person = e.audit.Hash
	}
	return e, db.Read(ctx, "look for somebody", func(t *database.Tx) error {
		taken, err := t.Names(takenBy, e.Name)
		if err != nil {
			return err
		}
		p, err := sessions.Person(t, e.Name)
		if err == nil && p == nil {
			p, err = people.AwayNamed(t, e.Name)
		}
		switch {
		case err != nil:
			return err
		case p != nil:
			e.audit.Identities = slices.DeleteFunc(slices.Clone(p.Identities), func(id string) bool { return slices.Contains(taken, id) })
		case e.Name == "":
			return core.ErrNotFound
		default:
			if err := t.Must(core.ErrNotFound, isNamed, []any{e.Name, e.Name, e.Name, agentmemory.OfPerson(e.Name), e.Name, e.Name, "person " + e.audit.Hash}); err != nil {
				return err
			}
		}
		former, err := t.Names(identitiesOf, e.Name, e.Name, e.Name)
		if err != nil {
			return err
		}
		e.audit.Identities = append(e.audit.Identities, former...)
		marks, identities := database.In(append([]string{e.audit.Hash}, e.audit.Identities...)) // which is nobody's identity: no list is empty
		wrote, err := t.Names(fmt.Sprintf(namesOf, marks), append(identities, e.Name)...)
		e.audit.Names = append(e.audit.Names, wrote...)
		e.names = routermemory.Naming(e.audit.Names)
		e.marks, e.who = database.In(e.audit.Names)
		e.theirs, e.args = fmt.Sprintf(theirs, e.marks, marks), slices.Concat(e.who, e.who, e.who, identities)
		return err
	})
}

// A message is one as it is counted.
type message struct {
	ID, Session      int64
	Theirs, In, Held bool // Held: something of it is there
	Text             string
}

// count counts what there is.
func (e *eraser) count(ctx context.Context) error {
	err := e.db.Read(ctx, "count what is somebody's", func(t *database.Tx) (err error) {
		if e.done.Memories, err = memory.CountOf(t, e.audit.Names); err != nil {
			return err
		}
		_, err = t.Row(fmt.Sprintf(eraseCounts, e.marks), slices.Concat(e.who, e.who, e.who, e.who), &e.done.Jobs, &e.done.Notifications, &e.done.Files, &e.done.Prompts)
		return err
	})
	if err == nil {
		err = e.eachMemory(ctx, func(list []memory.Text) error {
			e.done.Others += int64(len(list))
			for _, m := range list {
				if len(e.done.Texts) < routermemory.MostTexts {
					e.done.Texts = append(e.done.Texts, m.Text)
				}
			}
			return nil
		})
	}
	for after := int64(0); err == nil; {
		var list []message
		if list, err = database.List[message](ctx, e.db.DB, "look for messages to erase", fmt.Sprintf(someMessages, e.theirs), append(slices.Clone(e.args), after)...); len(list) == 0 {
			return err
		}
		for _, m := range list {
			if m.Theirs {
				e.spoke[m.Session] = true
			}
			switch after = m.ID; {
			case m.Theirs && m.Held && m.In:
				e.done.Messages++
			case m.Theirs && m.Held:
				e.done.Answers++
			case !m.Theirs && m.In && e.names(m.Text):
				e.done.Naming++
			}
		}
	}
	return err
}

// countMore adds what an erasure finds on its way alone. count went before it.
func (e *eraser) countMore(ctx context.Context) error {
	chats, err := database.Read(ctx, e.db.DB, "list chats", e.list)
	if err != nil {
		return err
	}
	for _, c := range chats {
		if c.Touched && c.Summed {
			e.done.Summaries++
		}
	}
	last, err := database.Value[int64](ctx, e.db.DB, "find the end of the audit log", audit.LastAudit, 0)
	for after := int64(0); err == nil && after < last; after += lookedAt {
		var found *audit.Found
		found, err = database.Read(ctx, e.db.DB, "look into the audit log", func(t *database.Tx) (*audit.Found, error) { return e.audit.Find(t, after, after+lookedAt) })
		e.done.AuditRows += found.Rows()
	}
	return err
}

// say writes into the audit log that somebody is erased, by a hash of the name.
func (e *eraser) say(t *database.Tx, outcome string) error {
	counts := e.done
	counts.Person, counts.Texts = e.audit.Hash, nil
	return audit.Write(t, e.audit.By, audit.Entry{Action: "memory.erase", Target: "person " + e.audit.Hash, Outcome: outcome, Data: counts})
}

// begin refuses while something of theirs is under way, and ends what would begin.
func (e *eraser) begin(ctx context.Context) error {
	if err := e.count(ctx); err != nil {
		return err
	}
	e.done.Files, e.done.Prompts = 0, 0 // others' may go with theirs
	e.done.Texts = nil
	_, err := e.batch(ctx, func(t *database.Tx) (int64, error) {
		open, err := t.IDs(fmt.Sprintf(openOf, e.marks), e.who...)
		if err == nil && len(open) > 0 {
			err = &core.StateError{Sentence: fmt.Sprintf("I still work for %s: write /stop there, or \"switchboard turn cancel %d\", and then try again.", e.Name, open[0])}
		}
		if err == nil {
			_, err = t.Row(newest, nil, &e.toMessage, &e.toTurn)
		}
		if err == nil {
			e.everywhere, err = t.Has(fmt.Sprintf(gaveAll, e.marks), append(slices.Clone(e.who), "person "+e.audit.Hash)...)
		}
		for _, name := range e.audit.Names {
			if err == nil {
				_, err = t.Each(eraseOwn, []any{name})
			}
			if err == nil {
				err = t.Do(eraseRequests, name, "%"+database.LikeText(database.JSONText(name))+"%")
			}
		}
		if err == nil {
			err = t.Do(cancelRequests)
		}
		if err != nil {
			return 0, err
		}
		return 0, e.say(t, "begun")
	})
	return err
}

// memories deletes what is remembered of them.
func (e *eraser) memories(ctx context.Context) error {
	if err := e.drop(ctx); err != nil || e.KeepOthers {
		return err
	}
	return e.eachMemory(ctx, func(list []memory.Text) error {
		e.everywhere = true // some may be for everybody
		ids := make([]int64, len(list))
		for i, m := range list {
			ids[i] = m.ID
		}
		_, err := e.batch(ctx, func(t *database.Tx) (int64, error) { return 0, memory.Delete(t, ids) })
		return err
	})
}

func (e *eraser) drop(ctx context.Context) error {
	_, err := e.batch(ctx, func(t *database.Tx) (int64, error) {
		for _, name := range e.audit.Names {
			if err := memory.Erase(t, name); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	return err
}

// eachMemory finds memories that others gave and that name them.
func (e *eraser) eachMemory(ctx context.Context, do func(list []memory.Text) error) error {
	for after := int64(0); ; {
		list, err := database.Read(ctx, e.db.DB, "look who is named", func(t *database.Tx) ([]memory.Text, error) { return memory.TextsAfter(t, e.audit.Names, after) })
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1].ID
		list = slices.DeleteFunc(list, func(m memory.Text) bool { return !e.names(m.Text) })
		if len(list) > 0 {
			if err := do(list); err != nil {
				return err
			}
		}
	}
}

// lookedAt is how many messages, or rows of the audit log, are looked at in one read.
const lookedAt = 10_000

// messages blanks what they wrote, and were answered and asked, with the files and those that were made for them.
func (e *eraser) messages(ctx context.Context) error {
	e.wrote, e.spoke, e.sent = map[int64]bool{}, map[int64]bool{}, map[int64]map[string]bool{}
	var ids []int64
	for after := int64(0); after < e.toMessage; after += lookedAt {
		began, end := time.Now(), min(after+lookedAt, e.toMessage)
		list, err := database.List[struct{ ID, Conversation, Session int64 }](ctx, e.db.DB, "look for messages to erase", fmt.Sprintf(messagesOf, e.theirs), append([]any{after, end}, e.args...)...)
		if err != nil {
			return err
		}
		retry.Sleep(ctx, time.Since(began))
		for _, m := range list {
			e.wrote[m.Conversation], e.spoke[m.Session] = true, true
			ids = append(ids, m.ID)
		}
		for len(ids) >= batchRows || end == e.toMessage && len(ids) > 0 {
			args := padded(ids, batchRows)
			ids = ids[min(batchRows, len(ids)):]
			n, err := e.batch(ctx, func(t *database.Tx) (int64, error) { return e.blank(t, args) })
			if e.done.Files += n; err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// blank blanks some messages, and says how many files go with them.
func (e *eraser) blank(t *database.Tx, ids []any) (files int64, err error) {
	made, err := e.made(t, ids)
	if err != nil {
		return 0, err
	}
	sent, err := t.Exec(eraseSent, ids...)
	if err == nil {
		_, err = t.Each(eraseMessages, ids)
	}
	return made + sent, err
}

// turns blanks what they had done.
func (e *eraser) turns(ctx context.Context) error {
	theirs := func(do func(t *database.Tx, args []any) (int64, error)) (int64, error) {
		e.rows = 0
		err := e.walk(ctx, fmt.Sprintf(turnsOf, e.marks), batchTurns, append(slices.Clone(e.who), e.toTurn), func(t *database.Tx, ids []int64) (int64, error) {
			return do(t, padded(ids, batchTurns))
		})
		return e.rows, err
	}
	n, err := theirs(func(t *database.Tx, args []any) (int64, error) {
		files, err := linked(t, published, args)
		if err != nil {
			return 0, err
		}
		return e.unlessSent(t, files)
	})
	if e.done.Files += n; err != nil {
		return err
	}
	n, err = theirs(func(t *database.Tx, args []any) (int64, error) {
		prompts, err := t.Exec(bodiesOfTurns, args...)
		if err == nil {
			_, err = t.Each(eraseTurns, args)
		}
		return prompts, err
	})
	e.done.Prompts += n
	return err
}

// rest drops what could not be read where they wrote, and what was learned of them while they were erased.
func (e *eraser) rest(ctx context.Context) error {
	for ids := range slices.Chunk(slices.Collect(maps.Keys(e.wrote)), batchRows) {
		marks, args := database.In(ids)
		if _, err := e.batch(ctx, func(t *database.Tx) (int64, error) { return t.Exec(fmt.Sprintf(eraseRejected, marks), args...) }); err != nil {
			return err
		}
	}
	return e.drop(ctx)
}

// files has the bytes removed that only they had.
func (e *eraser) files(ctx context.Context) error {
	for {
		blobs, err := database.Read(ctx, e.db.DB, "look for files to remove", func(t *database.Tx) ([]string, error) { return t.Names(goneBlobs) })
		if err != nil || len(blobs) == 0 {
			return err
		}
		for _, blob := range blobs {
			if err := e.Unused(ctx, blob); err != nil {
				return err
			}
		}
		marks, args := database.In(blobs)
		if _, err := e.batch(ctx, func(t *database.Tx) (int64, error) { return t.Exec(fmt.Sprintf(dropBlobs, marks), args...) }); err != nil {
			return err
		}
	}
}

// log takes them out of the audit log.
func (e *eraser) log(ctx context.Context) error {
	segments, err := e.db.Segments(ctx)
	if err != nil {
		return err
	}
	after := int64(0)
	for i := range segments {
		s := &segments[i]
		if err := e.logged(ctx, s.FirstID-1, s.LastID, s); err != nil {
			return err
		}
		after = s.LastID
	}
	last, err := database.Value[int64](ctx, e.db.DB, "find the end of the audit log", audit.LastAudit, after)
	for ; err == nil && after < last; after += batchRows {
		err = e.logged(ctx, after, after+batchRows, nil)
	}
	return err
}

// logged takes them out of a stretch of the audit log, if they are there. What is read of it stays so: both leases are held.
func (e *eraser) logged(ctx context.Context, after, last int64, s *audit.Segment) error {
	found, err := database.Read(ctx, e.db.DB, "look into the audit log", func(t *database.Tx) (*audit.Found, error) { return e.audit.Find(t, after, last) })
	if err != nil || found == nil {
		return err
	}
	n, err := e.batch(ctx, func(t *database.Tx) (int64, error) {
		if err := engines.Fenced(t, leaseRun, sealing, e.sealing); err != nil {
			return 0, err
		}
		return e.audit.Erase(t, found, s)
	})
	e.done.AuditRows += n
	return err
}
