package memory

import (
	"context"
	"fmt"
	"time"

	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/audit"
	"switchboard/store/database"
)

const (
	logNow = `
		SELECT x.name, CASE WHEN x.newest > x.n THEN x.newest ELSE x.n END AS n
		FROM (SELECT l.name, l.n, coalesce((SELECT max(w.n) FROM memory_wal w), 0) AS newest FROM memory_log l) x`
	recordsFrom = `SELECT n, memory, erased FROM memory_wal WHERE n >= ? ORDER BY n LIMIT ?`
	recordRow   = `
		SELECT m.id, m.kind, m.scope, m.category, m.key, m.text, m.state, m.outcome, m.person, m.source, m.confidence, m.taint, m.kept, m.always,
			m.created_at, m.updated_at, m.used_at, m.expires_at, coalesce(m.superseded_by, 0) AS superseded_by, m.aged_at FROM memories m WHERE m.state <> 'pending' AND `
	handedOut = `UPDATE memory_log SET handed = CASE WHEN handed < ? THEN ? ELSE handed END`

	lockLog     = `SELECT id FROM memory_log`
	eraseRecord = `INSERT INTO memory_wal (n, memory, erased, at) VALUES (?, 0, ?, ?)`
	clearedTo   = `UPDATE memory_log SET n = ?`
	// OldRecords deletes some of them.
	OldRecords = `
		DELETE FROM memory_wal WHERE n IN (SELECT x.n FROM (SELECT n, at FROM memory_wal WHERE n > 0 ORDER BY n LIMIT 500) x WHERE x.at <= ?)`
	// RecordsLive is how long a record is kept for who was away.
	RecordsLive = 7 * 24 * time.Hour
	// recordsAtOnce is how many are read at once.
	recordsAtOnce = 200
)

// RecordErased tells those who keep copies, by the hash of the name, that all of a person is to be deleted. Their memories have records of
// their own. It comes last in its transaction: from then on all who write memories wait for that to end.
func RecordErased(t *database.Tx, person string) error {
	if _, err := t.Has(t.Locked(lockLog)); err != nil {
		return err
	}
	l, err := logOf(t)
	if err != nil {
		return err
	}
	return t.Do(eraseRecord, l.N+1, audit.ErasedName(person), t.Now)
}

// DropRecords deletes some records of before a time, in µs, and says how many; the snapshot has what they said.
func DropRecords(t *database.Tx, before int64) (n int64, err error) {
	if _, err := t.Has(t.Locked(lockLog)); err != nil {
		return 0, err
	}
	l, err := logOf(t)
	if err == nil {
		err = t.Do(clearedTo, l.N)
	}
	if err != nil {
		return 0, err
	}
	return t.Exec(OldRecords, before)
}

// logged is where the numbers stand.
type logged struct {
	Name string
	N    int64
}

func (l *logged) record(n int64, op routermemory.RecordOp) routermemory.Record {
	return routermemory.Record{Type: routermemory.RecordType, Version: routermemory.RecordVersion, Log: l.Name, N: n, Op: op}
}

func logOf(t *database.Tx) (l logged, err error) {
	_, err = t.Row(logNow, nil, &l.Name, &l.N)
	return l, err
}

// MemoryRecords implements routermemory.RecordStore.
func (s *Store) MemoryRecords(ctx context.Context, from int64) (list []routermemory.Record, gone bool, err error) {
	at, err := database.Read(ctx, s.DB, "look for records", logOf)
	switch {
	case err != nil:
		return nil, false, err
	case from < 1:
		return nil, true, nil
	case from > at.N+1:
		return nil, false, &core.StateError{Sentence: fmt.Sprintf("There is no record %d: they end with %d. If the database was restored, begin again, with --from 0.", from-1, at.N)}
	case from > at.N:
		return nil, false, nil
	}
	err = s.Write(ctx, database.Durable, "hand out records", func(t *database.Tx) error {
		list, err = at.records(t, from)
		if err != nil || len(list) == 0 {
			return err
		}
		last := list[len(list)-1].N
		return t.Do(handedOut, last, last)
	})
	return list, err == nil && len(list) == 0, err
}

// records are the next ones up to where some are gone, each with its memory as it is now.
func (l *logged) records(t *database.Tx, from int64) (list []routermemory.Record, err error) {
	rows, err := database.Select[struct {
		N, Memory int64
		Erased    string
	}](t, recordsFrom, from, recordsAtOnce)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var ids []int64
	for _, r := range rows {
		ids = append(ids, r.Memory)
	}
	marks, args := database.In(ids)
	memories, err := database.Select[routermemory.Row](t, recordRow+"m.id IN ("+marks+")", args...)
	if err != nil {
		return nil, err
	}
	now := map[int64]*routermemory.Row{}
	for i := range memories {
		now[memories[i].ID] = &memories[i]
	}
	for i, r := range rows {
		if r.N != from+int64(i) {
			break
		}
		record := l.record(r.N, routermemory.OpDelete)
		switch m := now[r.Memory]; {
		case r.Erased != "":
			record.Op, record.Person = routermemory.OpErase, r.Erased
		case m != nil:
			record.Op, record.Memory = routermemory.OpPut, m
		default:
			record.ID = r.Memory
		}
		list = append(list, record)
	}
	return list, nil
}

// MemoryRows implements routermemory.RecordStore. The number is read first: what a row of a later page has in advance comes once more.
func (s *Store) MemoryRows(ctx context.Context, after routermemory.Record) (list []routermemory.Record, last bool, err error) {
	err = s.Write(ctx, database.Durable, "hand out memories", func(t *database.Tx) error {
		at, from := logged{after.Log, after.N}, int64(0)
		if list, last = nil, false; after.Memory != nil {
			from = after.Memory.ID
		} else if at, err = logOf(t); err != nil {
			return err
		} else {
			list = append(list, at.record(at.N, routermemory.OpSnapshot))
		}
		rows, err := database.Select[routermemory.Row](t, recordRow+"m.id > ? ORDER BY m.id LIMIT ?", from, recordsAtOnce)
		for i := range rows {
			r := at.record(at.N, routermemory.OpRow)
			r.Memory = &rows[i]
			list = append(list, r)
		}
		if last = len(rows) < recordsAtOnce; last {
			list = append(list, at.record(at.N, routermemory.OpEnd))
		}
		if err != nil {
			return err
		}
		return t.Do(handedOut, at.N, at.N)
	})
	return list, last, err
}
