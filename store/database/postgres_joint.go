package database

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

const (
	// jointWidth is how many calls of one joint are under way before others wait for
	// them: one by one nobody waits, and many share round trips and commits.
	jointWidth = 2
	// jointSize bounds how many go together, and so how long the first of them waits.
	jointSize = 32
)

// A joint joins transactions of one kind into calls of a function that takes a list
// of them and answers with one, as the writer of SQLite joins all of them. One that fails takes no other with
// it: where a call of several is rolled back, each is called by itself.
//
// It has no goroutine: whoever finds less than jointWidth calls under way makes one for all who wait, and then lets the next of
// them do so.
type joint struct {
	pg    *postgres
	pool  *sqlx.DB
	query string // of one argument, the JSON list

	mu    sync.Mutex
	under int // calls under way
	queue []*joined
}

// joint makes each once.
func (p *postgres) joint(mode Durability, query string) *joint {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := jointKey{mode, query}
	if p.joints[key] == nil {
		pool := p.pool(mode)
		if mode == Result {
			pool = p.results
		}
		p.joints[key] = &joint{pg: p, pool: pool, query: query}
	}
	return p.joints[key]
}

type jointKey struct {
	mode  Durability
	query string
}

// A joined is one transaction of a joint.
type joined struct {
	order  int64 // calls lock rows by it
	arg    string
	answer json.RawMessage
	err    error
	leads  bool
	lead   chan struct{} // it is to make the next call
	ready  chan struct{}
}

// CallJoined is Call of a function that takes a list of transactions and answers with one:
// those that wait go together. arg is JSON. ctx counts until it begins. Those that may wait
// for each other's locks are ordered by order.
func (db *DB) CallJoined(ctx context.Context, mode Durability, op string, out any, query string, order int64, arg string) error {
	j := db.pg.joint(mode, query)
	one := &joined{order: order, arg: arg, lead: make(chan struct{}, 1), ready: make(chan struct{})}
	j.join(one)
	j.await(ctx, one)
	return decoded(op, one.answer, one.err, out)
}

// await returns when one is over.
func (j *joint) await(ctx context.Context, one *joined) {
	for {
		select {
		case <-one.lead:
			j.make(ctx, one)
			j.pass()
			continue
		case <-one.ready:
		case <-ctx.Done():
			j.forget(one, ctx.Err())
			<-one.ready
		}
		break
	}
	select {
	case <-one.lead: // taken along before it made a call of its own
		j.pass()
	default:
	}
}

func (j *joint) join(one *joined) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.queue = append(j.queue, one)
	if j.under < jointWidth {
		j.under++
		one.leads = true
		one.lead <- struct{}{}
	}
}

// pass lets the next who waits make a call, in place of one that is over.
func (j *joint) pass() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, one := range j.queue {
		if !one.leads {
			one.leads = true
			one.lead <- struct{}{}
			return
		}
	}
	j.under--
}

// make makes one call for those who wait. They are asked only when there is a connection, so
// that whoever came meanwhile goes along, and one who waits for it in vain fails alone.
func (j *joint) make(ctx context.Context, one *joined) {
	var list []*joined
	sent := false
	err := j.pg.detached(ctx, j.pool, func(ctx context.Context, conn *sqlx.Conn) error {
		if list == nil {
			list = j.take()
		}
		if len(list) == 0 {
			return nil
		}
		err := j.send(ctx, conn, list)
		sent = !errors.Is(err, driver.ErrBadConn) // so the driver promises
		return err
	})
	if err != nil && len(list) == 0 {
		j.forget(one, err)
		return
	}
	// From here on it is not for the caller of one alone.
	again := func(list []*joined) error {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer stop()
		return j.pg.detached(ctx, j.pool, func(ctx context.Context, conn *sqlx.Conn) error { return j.send(ctx, conn, list) })
	}
	if err != nil && !sent && len(list) > 1 {
		err = again(list)
	}
	for _, each := range list {
		each.err = err
		if err != nil && len(list) > 1 && rolledBack(err) {
			each.err = again([]*joined{each})
		}
		close(each.ready)
	}
}

func (j *joint) send(ctx context.Context, conn *sqlx.Conn, list []*joined) error {
	size := 2
	for _, each := range list {
		size += len(each.arg) + 1
	}
	arg := append(make([]byte, 0, size), '[')
	for i, each := range list {
		if i > 0 {
			arg = append(arg, ',')
		}
		arg = append(arg, each.arg...)
	}
	var answer []byte
	if err := conn.QueryRowContext(ctx, j.query, string(append(arg, ']'))).Scan(&answer); err != nil {
		return err
	}
	var answers []json.RawMessage
	if err := json.Unmarshal(answer, &answers); err != nil {
		return err
	}
	if len(answers) != len(list) {
		return fmt.Errorf("%d answers for %d transactions", len(answers), len(list))
	}
	for i, each := range list {
		each.answer = answers[i]
	}
	return nil
}

// take takes those who came first from the queue.
func (j *joint) take() []*joined {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.queue), jointSize)
	list := slices.Clone(j.queue[:n])
	j.queue = slices.Delete(j.queue, 0, n)
	slices.SortStableFunc(list, func(a, b *joined) int { return cmp.Compare(a.order, b.order) })
	return list
}

// forget ends one that nobody took.
func (j *joint) forget(one *joined, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := slices.Index(j.queue, one); i >= 0 {
		j.queue = slices.Delete(j.queue, i, i+1)
		one.err = err
		close(one.ready)
	}
}

// rolledBack says that the server refused a call, so that nothing of it was done, and goes on.
func rolledBack(err error) bool {
	pe, ok := errors.AsType[*pq.Error](err)
	return ok && pe.Code.Class() != "57" && pe.Code.Class() != "08"
}

// Call runs one function of PostgreSQL as one transaction and decodes its JSON into out.
func (db *DB) Call(ctx context.Context, mode Durability, op string, out any, query string, args ...any) error {
	var answer []byte
	err := db.pg.detached(ctx, db.pg.pool(mode), func(ctx context.Context, conn *sqlx.Conn) error {
		return conn.QueryRowContext(ctx, query, args...).Scan(&answer)
	})
	return decoded(op, answer, err, out)
}

// decoded decodes what a function gave into out.
func decoded(op string, answer []byte, err error, out any) error {
	if err == nil {
		err = json.Unmarshal(answer, out)
	}
	return failed(op, err)
}
