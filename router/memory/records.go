package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"switchboard/agent/memory"
	"switchboard/internal/retry"
	"switchboard/router/core"
)

// RecordType and RecordVersion are those of each Record.
const (
	RecordType    = "memory.wal"
	RecordVersion = 1
)

// A Record says what became of a memory, for those who keep a copy: a line of "switchboard memory follow".
type Record struct {
	Type    string   `json:"type"`
	Version int      `json:"version"`
	Log     string   `json:"log"` // whose numbers these are
	N       int64    `json:"n"`   // without gaps; of a snapshot, the number it stands at
	Op      RecordOp `json:"op"`
	// Memory is of OpPut and OpRow: as it is when the record is given away, which may be later than N. Session and Turn are empty.
	Memory *Row   `json:"memory,omitempty"`
	ID     int64  `json:"id,string,omitempty"` // of OpDelete
	Person string `json:"person,omitempty"`    // of OpErase: "sha256:" and the hash of the name
}

// A Row is a memory with all that a copy has of it.
type Row struct {
	memory.Entry
	SupersededBy int64     `json:"superseded_by,string,omitempty"` // 0: nothing stands in its place
	AgedAt       time.Time `json:"aged_at,omitzero"`               // until when it lost confidence by age; zero: it did not
}

// A RecordOp is what a Record says.
type RecordOp string

// What records say. A snapshot is all memories there are, by their numbers: OpSnapshot, OpRow for each, OpEnd. It takes the place of all that
// a copy had, and the records behind its number come next.
const (
	OpPut      RecordOp = "put"    // a memory is so
	OpDelete   RecordOp = "delete" // a memory is no more
	OpErase    RecordOp = "erase"  // all of a person is to be deleted
	OpSnapshot RecordOp = "snapshot"
	OpRow      RecordOp = "row"
	OpEnd      RecordOp = "end"
)

// A RecordStore has the records. Implemented by store. What it gives is on the disk, so that no number is given away twice.
type RecordStore interface {
	// MemoryRecords lists records from a number on, some hundreds; none: there are none yet. gone: it is not kept any more.
	// *core.StateError: there are not nearly as many.
	MemoryRecords(ctx context.Context, from int64) (list []Record, gone bool, err error)
	// MemoryRows lists the next rows of a snapshot behind a record of it; last: there are no more.
	MemoryRows(ctx context.Context, after Record) (list []Record, last bool, err error)
}

// followEvery is how often it is looked for more records.
const followEvery = time.Second

// Follow gives the records from a number on, and what comes, until ctx ends or give returns an error. It begins with a snapshot where the
// number is 0, or not kept any more. Each second it gives at least an empty list.
func (s *Service) Follow(ctx context.Context, from int64, give func([]Record) error) error {
	for {
		list, gone, err := s.Store.MemoryRecords(ctx, from)
		if err != nil {
			return err
		}
		if gone {
			if from, err = s.snapshot(ctx, give); err != nil {
				return err
			}
			continue
		}
		if err := give(list); err != nil {
			return err
		}
		if len(list) > 0 {
			from = list[len(list)-1].N + 1
		} else if !retry.Sleep(ctx, followEvery) {
			return nil
		}
	}
}

// snapshot gives all memories, and returns the number of the record that comes next. What is changed meanwhile has a record behind it.
func (s *Service) snapshot(ctx context.Context, give func([]Record) error) (next int64, err error) {
	var at Record
	for last := false; !last; {
		var list []Record
		if list, last, err = s.Store.MemoryRows(ctx, at); err != nil {
			return 0, err
		}
		if err := give(list); err != nil {
			return 0, err
		}
		at = list[len(list)-1]
	}
	return at.N + 1, nil
}

// ReadRecord reads a line of records. *core.StateError says what is wrong with it.
func ReadRecord(line []byte) (r Record, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, &core.StateError{Sentence: "it is no record of \"switchboard memory follow\""}
	}
	return r, r.check()
}

// mostNumbers leaves room for those that come behind.
const mostNumbers = 1 << 62

// timeless says that it has a time which JSON cannot say.
func (m *Row) timeless() bool {
	return slices.ContainsFunc([]time.Time{m.CreatedAt, m.UpdatedAt, m.UsedAt, m.ExpiresAt, m.AgedAt}, func(at time.Time) bool {
		year := at.UTC().Year()
		return year < 0 || year > 9999
	})
}

// Where a record says nothing else than these, it is none.
var (
	recordKinds  = []memory.Kind{memory.Fact, memory.Preference, memory.Rule, memory.Question, memory.Learning}
	recordStates = []string{"active", "promoted", "discarded", "answered", "superseded", "archived", "forgotten"}
)

func (r *Record) check() error {
	no := func(format string, args ...any) error {
		return &core.StateError{Sentence: fmt.Sprintf(format, args...)}
	}
	m := r.Memory
	switch {
	case r.Type != RecordType:
		return no("it is no record of \"switchboard memory follow\"")
	case r.Version != RecordVersion:
		return no("it has version %d, and this build knows version %d: bring both bots to the same build", r.Version, RecordVersion)
	case r.Log == "" || r.N < 0 || r.N > mostNumbers:
		return no("it has no number")
	}
	switch r.Op {
	case OpPut, OpRow:
		if m == nil || m.ID < 1 || m.ID > mostNumbers || m.SupersededBy < 0 || m.timeless() || m.Scope == "" || m.Confidence < 0 || m.Confidence > 1 || !slices.Contains(recordKinds, m.Kind) || !slices.Contains(recordStates, m.State) {
			return no("its memory cannot be read")
		}
	case OpDelete:
		if r.ID < 1 {
			return no("it names no memory")
		}
	case OpErase:
		if r.Person == "" {
			return no("it names nobody")
		}
	case OpSnapshot, OpEnd:
	default:
		return no("this build does not know what %q is: bring both bots to the same build", r.Op)
	}
	return nil
}

// A Taken says up to which record a copy is.
type Taken struct {
	N int64 `json:"n"`
	// Whole: all up to N is in it; else it is in a snapshot.
	Whole bool `json:"whole"`
}

// Take writes records into the memory here, which so becomes a copy, for the operator on the machine; all or none. A record that was taken
// already changes nothing. They were judged where they were written. *core.StateError: one cannot be read, or others have to come first.
func (s *Service) Take(ctx context.Context, list []Record, by core.Actor) (*Taken, error) {
	for i := range list {
		if err := list[i].check(); err != nil {
			return nil, fmt.Errorf("record %d of them: %w", i+1, err)
		}
	}
	c := &Change{Kind: TakeRecords, Records: list, judged: true}
	return &c.Taken, s.Change(ctx, c, by)
}

// EndCopy has a copy be a memory of its own again: it takes no more records, and is written here.
func (s *Service) EndCopy(ctx context.Context, by core.Actor) error {
	return s.Change(ctx, &Change{Kind: EndCopy, judged: true}, by)
}
