package router

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
)

// A Roster is the people of the Directory held in memory, read without locks.
type Roster struct {
	dir  Directory
	snap atomic.Pointer[rosterSnapshot]
}

type rosterSnapshot struct {
	byName     map[string]*Person
	byIdentity map[string]*Person
}

// NewRoster returns a roster that knows nobody until Reload.
func NewRoster(dir Directory) *Roster {
	r := &Roster{dir: dir}
	r.snap.Store(&rosterSnapshot{})
	return r
}

// Reload reads the people anew. On an error the former ones stay.
func (r *Roster) Reload(ctx context.Context) error {
	people, err := r.dir.People(ctx)
	if err != nil {
		return fmt.Errorf("read people: %w", err)
	}
	snap := &rosterSnapshot{byName: map[string]*Person{}, byIdentity: map[string]*Person{}}
	for i := range people {
		p := &people[i]
		snap.byName[p.Name] = p
		for _, id := range p.Identities {
			snap.byIdentity[id] = p
		}
	}
	r.snap.Store(snap)
	return nil
}

// Named returns the person of that name, or nil.
func (r *Roster) Named(name string) *Person { return r.snap.Load().byName[name] }

// Everybody lists the people in the order of their names.
func (r *Roster) Everybody() []*Person {
	return slices.SortedFunc(maps.Values(r.snap.Load().byName), func(a, b *Person) int { return cmp.Compare(a.Name, b.Name) })
}

// Identified returns the person who owns the first of these identities that
// anybody owns, or nil.
func (r *Roster) Identified(identities ...string) *Person {
	snap := r.snap.Load()
	for _, id := range identities {
		if p := snap.byIdentity[id]; p != nil {
			return p
		}
	}
	return nil
}
