package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/router/tokens"
)

// A Scope is what a token may do; each call names one.
type Scope string

// The scopes. A token has those that it was given and no other: admin does not contain read.
const (
	Messages Scope = tokens.ScopeMessages
	Read     Scope = tokens.ScopeRead
	Send     Scope = tokens.ScopeSend
	Admin    Scope = tokens.ScopeAdmin
)

// A Caller is who calls.
type Caller struct {
	// Local: whoever runs the program, by the socket of the data folder, who may do everything.
	Local bool
	// Token is the name of the token, Scopes are its.
	Token  string
	Scopes []string
	// People are those for whom the token may speak; empty: everybody whose role is user.
	People []string
	// still says why the token is not good any more; nil: it is, or there is none.
	still func(context.Context) error
	// asked is when that was asked last, in nanoseconds.
	asked atomic.Int64
	// door is what the calls of the token come through; nil: it is no token's.
	door http.Handler
}

// goodFor is how long a call that lasts goes on without asking whether its token is still good.
const goodFor = 250 * time.Millisecond

// errTokenEnded ends a call that lasts.
var errTokenEnded = api.Failed(http.StatusUnauthorized, `"switchboard token list" shows the tokens there are`, "the token is not valid any more")

// good says whether the caller may go on with a call that lasts: nil, or errTokenEnded. That the database cannot be asked ends nothing.
func (c *Caller) good(ctx context.Context) error {
	now, last := time.Now().UnixNano(), c.asked.Load()
	if c.still == nil || now-last < int64(goodFor) && last != 0 {
		return nil
	}
	if tokens.NotGood(c.still(ctx)) {
		return errTokenEnded
	}
	c.asked.Store(now)
	return nil
}

type callerKey struct{}

// CallerOf is who makes the call that has this context.
func CallerOf(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

func withCaller(r *http.Request, c *Caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// Has says whether the caller may make calls of a scope.
func (c *Caller) Has(scope Scope) bool { return c.Local || slices.Contains(c.Scopes, string(scope)) }

// may refuses a call of a scope that the caller does not have.
func (c *Caller) may(scope Scope) error {
	if c.Has(scope) {
		return nil
	}
	return api.Failed(http.StatusForbidden, `make a token with it: "switchboard token create NAME --scope `+string(scope)+`"`,
		"this call needs the scope %q, which the token %q does not have", scope, c.Token)
}

// whose says of whom the caller may read.
func (c *Caller) whose() sessions.Whose { return sessions.Whose{People: c.People, All: c.Has(Admin)} }

// SpeaksFor says whether the caller may speak for somebody, and read what is theirs.
func (c *Caller) SpeaksFor(p *core.Person) bool {
	switch {
	case c.Local:
		return true
	case p == nil:
		return false
	case len(c.People) > 0:
		return slices.Contains(c.People, p.Name)
	}
	return p.Role == core.RoleUser
}

// only is the person of a token that has one alone; empty: it has none, or several.
func (c *Caller) only() string {
	if len(c.People) != 1 {
		return ""
	}
	return c.People[0]
}

// as is who writes in the name of a person.
func (c *Caller) as(person string) channels.Sender {
	return channels.Sender{ID: cmp.Or(c.Token, person), Label: person, Person: person, Token: c.Token}
}

// Self is what a token is told of itself.
type Self struct {
	Token  string   `json:"token"`
	Scopes []string `json:"scopes"`
	People []string `json:"people" doc:"For whom it may speak; none: for everybody whose role is user."`
}

func (a *API) selfCall() {
	register(a, Call{Scope: Read, Method: http.MethodGet, Path: "/v1/whoami", ID: "whoami", Tag: "about", Summary: "What the token may do."},
		func(ctx context.Context, _ *struct{}) (*Self, error) {
			c := CallerOf(ctx)
			return &Self{c.Token, some(c.Scopes), some(c.People)}, nil
		})
}

// A Busy counts what is under way by a key, such as a person. The zero value is ready, also for several goroutines at once.
type Busy struct {
	mu sync.Mutex
	of map[string]int
}

// Begin says whether one more of a key may begin, of which there may be so many at once. Then end has to be called; it says whether
// that was the last one.
func (b *Busy) Begin(key string, most int) (end func() (last bool), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[key] >= most {
		return nil, false
	}
	if b.of == nil {
		b.of = map[string]int{}
	}
	b.of[key]++
	return func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.of[key]--; b.of[key] > 0 {
			return false
		}
		delete(b.of, key)
		return true
	}, true
}
