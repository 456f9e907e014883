package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/router/core"
)

// SeenEvery is how often it is noted that somebody let in by an open policy was seen, so
// that retention knows who has gone. It is far shorter than retention keeps anybody.
const SeenEvery = 24 * time.Hour

// Directory knows the people.
type Directory interface {
	// Everyone lists everybody with their identities, and apart who is away.
	Everyone(ctx context.Context) (people, away []core.Person, err error)
	// Person finds one of them by name. ErrNotFound.
	Person(ctx context.Context, name string) (core.Person, error)
}

// A Roster is the people of the Directory held in memory. Its methods may be called from
// several goroutines at once.
type Roster struct {
	dir Directory

	// reading is held from a read to its end in memory: an older read never takes the place
	// of a newer one.
	reading sync.Mutex

	mu         sync.RWMutex
	byName     map[string]*core.Person
	byIdentity map[string]*core.Person
	// joined are the names of those who became another person while we ran: a turn that began
	// before knows them by it.
	joined map[string]string
	away   map[string]bool   // see core.Person.Away
	awayBy map[string]string // their names, by the identities that they had
	change chan struct{}     // closed once the people are read again
}

// NewRoster returns a roster that knows nobody until Reload.
func NewRoster(dir Directory) *Roster {
	return &Roster{dir: dir, byName: map[string]*core.Person{}, byIdentity: map[string]*core.Person{}, joined: map[string]string{}, change: make(chan struct{})}
}

// Change is closed once the people are read again.
func (r *Roster) Change() <-chan struct{} {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.change
}

// changed tells whoever waits for Change; mu is held.
func (r *Roster) changed() {
	close(r.change)
	r.change = make(chan struct{})
}

// Reload reads the people again. On an error the former ones stay.
func (r *Roster) Reload(ctx context.Context) error {
	r.reading.Lock()
	defer r.reading.Unlock()
	people, away, err := r.dir.Everyone(ctx)
	if err != nil {
		return fmt.Errorf("read people: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.changed()
	was := r.byName
	r.byName, r.byIdentity = map[string]*core.Person{}, map[string]*core.Person{}
	for i := range people {
		r.put(&people[i])
	}
	r.away, r.awayBy = map[string]bool{}, map[string]string{}
	for _, p := range away {
		r.away[p.Name] = true
		for _, id := range p.Identities {
			r.awayBy[id] = p.Name
		}
	}
	for name, p := range was {
		if r.byName[name] != nil || r.away[name] || len(p.Identities) == 0 {
			continue
		}
		if now := r.byIdentity[p.Identities[0]]; now != nil {
			r.joined[name] = now.Name
		}
	}
	return nil
}

// Learn reads one person again, so that everybody else's number does not count. Nobody of
// that name is no error.
func (r *Roster) Learn(ctx context.Context, name string) error {
	r.reading.Lock()
	defer r.reading.Unlock()
	person, err := r.dir.Person(ctx, name)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("read a person: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.changed()
	if was := r.byName[name]; was != nil {
		delete(r.byName, name)
		for _, id := range was.Identities {
			if r.byIdentity[id] == was {
				delete(r.byIdentity, id)
			}
		}
	}
	if err == nil {
		r.put(&person)
	}
	return nil
}

// put adds a person; mu is held.
func (r *Roster) put(p *core.Person) {
	delete(r.away, p.Name)
	r.byName[p.Name] = p
	for _, id := range p.Identities {
		r.byIdentity[id] = p
	}
}

// Named returns the person of that name, or whom they became, or nil.
func (r *Roster) Named(name string) *core.Person {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for range len(r.joined) {
		now, joined := r.joined[name]
		if r.byName[name] != nil || r.away[name] || !joined {
			break
		}
		name = now
	}
	return r.byName[name]
}

// Away says that nobody is served by that name now, and that what is theirs waits.
func (r *Roster) Away(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.away[name] && r.byName[name] == nil
}

// AwayAs is the name of who is away and had one of these identities; empty: nobody.
func (r *Roster) AwayAs(identities ...string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range identities {
		if name := r.awayBy[id]; r.away[name] {
			return name
		}
	}
	return ""
}

// Everybody lists the people in the order of their names.
func (r *Roster) Everybody() []*core.Person {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.byName), func(a, b *core.Person) int { return cmp.Compare(a.Name, b.Name) })
}

// Identified returns the person who owns the first of these identities that
// anybody owns, or nil.
func (r *Roster) Identified(identities ...string) *core.Person {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range identities {
		if p := r.byIdentity[id]; p != nil {
			return p
		}
	}
	return nil
}

// Called is the name of who is known, or is away, and is called so in any case of letters, as it is written; empty: nobody is.
func (r *Roster) Called(ctx context.Context, name string) (string, error) {
	all, away, err := r.dir.Everyone(ctx)
	return core.Called(name, append(all, away...)), err
}

// Knows says that somebody is called so, in any case of letters. Where that cannot be found out it says so too.
func (r *Roster) Knows(ctx context.Context, name string) bool {
	called, err := r.Called(ctx, name)
	return err != nil || called != ""
}

// Admins lists the admins' IDs on a channel.
func (r *Roster) Admins(channel, kind string) (ids []string) {
	for _, p := range r.Everybody() {
		if p.Role != core.RoleAdmin {
			continue
		}
		for _, identity := range p.Identities {
			for _, of := range []string{channel, kind} {
				if id, ok := strings.CutPrefix(identity, of+":"); ok && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}
