package database

import "sync"

// A Batch is one group commit of the SQLite writer.
type Batch struct {
	Full         bool // durable to power loss; otherwise it rides on the next full one
	Transactions int  // how many shared it, failed ones included
}

// batchLog keeps the latest batches.
type batchLog struct {
	mu   sync.Mutex
	ring [1024]Batch
	n    int   // ever added
	full int64 // of them durable to power loss
}

func (l *batchLog) add(b Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring[l.n%len(l.ring)] = b
	l.n++
	if b.Full {
		l.full++
	}
}

// FullCommits counts the group commits so far that were synced to the disk; 0 on
// PostgreSQL.
func (db *DB) FullCommits() int64 {
	if db.lite == nil {
		return 0
	}
	l := &db.lite.log
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// Batches lists the latest group commits of the SQLite writer, at most 1024,
// oldest first; nil on PostgreSQL, where each transaction has its own mode.
func (db *DB) Batches() []Batch {
	if db.lite == nil {
		return nil
	}
	l := &db.lite.log
	l.mu.Lock()
	defer l.mu.Unlock()
	k := min(l.n, len(l.ring))
	out := make([]Batch, 0, k)
	for i := l.n - k; i < l.n; i++ {
		out = append(out, l.ring[i%len(l.ring)])
	}
	return out
}
