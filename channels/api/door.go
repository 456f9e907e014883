package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/internal/api"
	"switchboard/internal/retry"
	"switchboard/router/tokens"
)

const (
	// failuresMost is how many wrong tokens an address may bring in failureWindow before it waits.
	failuresMost  = 10
	failureWindow = time.Minute
	// addressesMost bounds the addresses that are remembered for that.
	addressesMost = 10_000
	// tokenRate is how many calls of one token are answered in a second, tokenBurst how many at once after a rest. An engine on
	// two cores answers some 400 to 600 messages a second.
	tokenRate, tokenBurst = 100, 100
	// turnWait is how long a call waits for its turn, so that a flood becomes even, and after which it is told that there are too
	// many: who then calls again at once takes no time from others.
	turnWait = 250 * time.Millisecond
	// takeWait is how long a client may take to read an answer.
	takeWait = 30 * time.Second
	// tokenAtOnce is how many calls of one token that change something are worked on at once, so that the
	// others' do not wait behind them; of those that wait for a turn or take in a file, tokenLasting; of streams, tokenStreams,
	// each of which holds some 35 KB.
	tokenAtOnce, tokenLasting, tokenStreams = 32, 256, 2000
)

// A Door is how the API is reached over TCP.
type Door struct {
	Tokens Tokens
	// Hosts are the names, without a port, by which the server may be called besides loopback's.
	Hosts []string
	// InternalToken is the token of /internal, as it is now; empty: it is closed.
	InternalToken func() string
	// Proxies are those whose X-Forwarded-For counts.
	Proxies []netip.Prefix
	// Page makes what answers every call that is none of the API's; nil: nothing does.
	Page func(Visits) http.Handler
}

// Visits knows where calls come from.
type Visits interface {
	// Address is where a call comes from: beyond proxies of ours, the last that they name.
	Address(r *http.Request) netip.Addr
	// Failed counts a wrong secret, and says whether its address has to wait.
	Failed(at netip.Addr) (waits bool)
	// Waits says whether an address has to wait.
	Waits(at netip.Addr) bool
}

// Failed implements Visits.
func (g *guard) Failed(at netip.Addr) bool { return g.failed(at) > 0 }

// Waits implements Visits.
func (g *guard) Waits(at netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.failures[whose(at)]
	return f != nil && f.n > failuresMost && time.Since(f.since) < failureWindow
}

// whose is the address under which wrong tokens are counted: whoever has one of IPv6 has all that begin so.
func whose(at netip.Addr) netip.Addr {
	if !at.Is6() {
		return at
	}
	net, _ := at.WithZone("").Prefix(64) // it has so many bits
	return net.Addr()
}

// calls says whether a path is one of the API's.
func calls(path string) bool {
	return slices.Contains(openPaths, path) || path == "/metrics" || slices.ContainsFunc([]string{"/v1/", "/internal/", "/debug/"}, func(p string) bool { return strings.HasPrefix(path, p) })
}

// Tokens finds the token that a secret belongs to. tokens.ErrUnknown, tokens.ErrExpired and tokens.ErrRevoked say why there is none.
type Tokens interface {
	Find(ctx context.Context, secret string) (*tokens.Token, error)
}

// openPaths need no token and no known Host.
var openPaths = []string{"/healthz", "/readyz"}

// Socket serves whoever runs the program, by the socket in the data folder.
func (a *API) Socket() http.Handler {
	local := &Caller{Local: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.serve(w, withCaller(r, local))
	})
}

// TCP serves programs with a token.
func (a *API) TCP(door Door) http.Handler {
	guard := &guard{Door: door, api: a, failures: map[netip.Addr]*failures{}, next: map[string]time.Time{}}
	guard.calls = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, id := time.Now(), requestOf(r)
		seen := &answered{ResponseWriter: w, status: http.StatusOK}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
		if r.ContentLength != 0 { // also for who is refused, and for what is left of the body then
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWait)) // not every connection has one
		}
		caller, err := guard.admit(r)
		if slices.Contains(openPaths, r.URL.Path) { // what stands before us may send a header of its own
			err = nil
		}
		r = withCaller(r, cmp.Or(caller, &Caller{}))
		if most := atOnce(r); caller != nil && err == nil && most > 0 {
			var done func() bool
			if done, err = guard.begin(caller.Token, most); err == nil {
				defer done()
			}
		}
		if err != nil {
			if f, ok := errors.AsType[*api.Failure](err); ok && f.Err.Status == http.StatusTooManyRequests {
				retry.Sleep(r.Context(), turnWait)
			}
			a.refuse(seen, r, err)
		} else {
			a.serve(seen, r)
		}
		guard.note(r, seen.status, time.Since(began))
	})
	if door.Page == nil {
		return guard.calls
	}
	page := door.Page(guard)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls(r.URL.Path) {
			guard.calls.ServeHTTP(w, r)
		} else if err := guard.host(r); err != nil {
			a.refuse(w, withCaller(r, &Caller{}), err)
		} else {
			page.ServeHTTP(w, r)
		}
	})
}

// note counts and logs an answer.
func (g *guard) note(r *http.Request, status int, took time.Duration) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		g.api.Metrics.RefusedCall()
	}
	if !slices.Contains(openPaths, r.URL.Path) {
		g.api.Log.InfoContext(r.Context(), "call", "token", CallerOf(r.Context()).Token, "method", r.Method, "path", r.URL.Path,
			"status", status, "request_id", requestID(r.Context()), "address", g.Address(r).String(), "duration", took.String())
	}
}

// atOnce is how many calls of that sort a token may have at once; 0: any number.
func atOnce(r *http.Request) int {
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		if strings.HasSuffix(path, "/events") || path == wsPath || r.URL.Query().Has("wait") {
			return tokenStreams
		}
		return 0
	case slices.ContainsFunc([]string{"/v1/chat/", "/v1/tools/", "/v1/uploads"}, func(p string) bool { return strings.HasPrefix(path, p) }):
		return tokenLasting
	}
	return tokenAtOnce
}

// answered notes the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter. A client has takeWait to read an answer that is no stream and sets no time of its own.
func (w *answered) WriteHeader(status int) {
	w.status = status
	if w.Header().Get("Content-Type") != eventStream {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(takeWait)) // not every connection has one
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *answered) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A timedBody takes the time limit off a body that has come: the server reads on to see whether the client leaves.
type timedBody struct {
	io.ReadCloser
	out *http.ResponseController
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.out.SetReadDeadline(time.Time{}) // not every connection has one
	}
	return n, err
}

// bodyOf is the whole body of a call, of so many bytes at most; tooLarge refuses one that is longer.
func bodyOf(w http.ResponseWriter, r *http.Request, limit int64, tooLarge error) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, tooLarge
	} else if err != nil {
		return nil, api.Failed(http.StatusBadRequest, "send it again", "the body did not come whole")
	}
	return body, nil
}

type requestKey struct{}

// requestID is the id of the request that has this context.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// requestOf is the id that the client gave the request, if it is a plain one, or a new one.
func requestOf(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= 64 && api.CheckSession(id) == nil {
		return id
	}
	return strings.ToLower(rand.Text()[:16])
}

// A guard admits calls.
type guard struct {
	Door
	api   *API
	calls http.Handler // which it guards

	mu       sync.Mutex
	failures map[netip.Addr]*failures
	next     map[string]time.Time // by token: the turn of its next call, if that comes no later
	busy     Busy                 // by token and sort of call
}

// failures are the wrong tokens of an address.
type failures struct {
	n     int
	since time.Time
}

// admit finds out who calls; nil: nobody who needs to be known.
func (g *guard) admit(r *http.Request) (*Caller, error) {
	if err := g.host(r); err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.URL.Path, "/internal/") {
		return g.internal(r)
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return nil, api.Failed(http.StatusUnauthorized, `send "Authorization: Bearer TOKEN"; "switchboard token create NAME" makes a token`, "this call needs a token")
	}
	address := g.Address(r)
	token, err := g.Tokens.Find(r.Context(), strings.TrimSpace(secret))
	switch {
	case tokens.NotGood(err):
		return nil, g.wrong(address, `"switchboard token list" shows the tokens there are`, "the token is not valid: %v", err)
	case err != nil:
		return nil, err
	}
	return &Caller{Token: token.Name, Scopes: token.Scopes, People: token.People, door: g.calls, still: func(ctx context.Context) error {
		_, err := g.Tokens.Find(ctx, strings.TrimSpace(secret))
		return err
	}}, g.turn(r.Context(), token.Name)
}

// internal admits whoever has the token of /internal.
func (g *guard) internal(r *http.Request) (*Caller, error) {
	want, got := sha256.Sum256([]byte(g.InternalToken())), sha256.Sum256([]byte(r.Header.Get(internalHeader)))
	switch {
	case g.InternalToken() == "":
		return nil, api.Failed(http.StatusNotFound, "server.internal_token opens it", "/internal is not available here")
	case r.Header.Get(internalHeader) == "":
		return nil, api.Failed(http.StatusUnauthorized, "send the header "+internalHeader, "this call needs the internal token")
	case subtle.ConstantTimeCompare(want[:], got[:]) == 0:
		return nil, g.wrong(g.Address(r), "server.internal_token is the right one", "the internal token is not valid")
	}
	return &Caller{Scopes: []string{string(internalScope)}}, nil
}

// wrong refuses a call with a wrong token, or whatever comes from an address with too many of them.
func (g *guard) wrong(address netip.Addr, hint, format string, args ...any) error {
	wait := g.failed(address)
	if wait == 0 {
		return api.Failed(http.StatusUnauthorized, hint, format, args...)
	}
	f := api.Failed(http.StatusTooManyRequests, "wait, and look at the token", "too many wrong tokens came from this address")
	f.Err.RetryAfter = wait
	return f
}

// host refuses names that are not ours: a page elsewhere may have its own name lead here (DNS rebinding), and its
// reader's browser then takes it for us. Nor does a page of elsewhere call us.
func (g *guard) host(r *http.Request) error {
	if name := hostOnly(r.Host); !g.ours(name) {
		return api.Failed(http.StatusForbidden, "call it by the name in server.public_url or server.listen", "this server does not answer to the name %.100q", name)
	}
	if from := r.Header.Get("Origin"); from != "" {
		if u, err := url.Parse(from); err != nil || !g.ours(hostOnly(u.Host)) {
			return api.Failed(http.StatusForbidden, "", "pages of %.100q may not call this server", from)
		}
	}
	return nil
}

// ours says whether a name is one of this server's.
func (g *guard) ours(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.IsLoopback() || slices.Contains(g.Hosts, name)
}

// hostOnly is HOST or HOST:PORT without the port, in small letters.
func hostOnly(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// Address implements Visits.
func (g *guard) Address(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	at := peer.Addr().Unmap()
	trusted := func(a netip.Addr) bool {
		return slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && trusted(at); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		at = hop.Unmap()
	}
	return at
}

// failed counts a wrong token, and says how long its address has to wait.
func (g *guard) failed(at netip.Addr) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	at = whose(at)
	f := g.failures[at]
	if f == nil || now.Sub(f.since) >= failureWindow {
		if len(g.failures) >= addressesMost {
			clear(g.failures)
		}
		f = &failures{since: now}
		g.failures[at] = f
	}
	if f.n++; f.n > failuresMost {
		return failureWindow - now.Sub(f.since)
	}
	return 0
}

// turn waits for the turn of a call of a token, or refuses it where that is far.
func (g *guard) turn(ctx context.Context, token string) error {
	g.mu.Lock()
	now, at := time.Now(), g.next[token]
	if rested := now.Add(-tokenBurst * time.Second / tokenRate); at.Before(rested) {
		at = rested
	}
	wait := at.Sub(now)
	if wait <= turnWait {
		g.next[token] = at.Add(time.Second / tokenRate)
	}
	g.mu.Unlock()
	if wait > turnWait {
		f := api.Failed(http.StatusTooManyRequests, "send fewer calls", "the token %q makes more than %d calls a second", token, tokenRate)
		f.Err.RetryAfter = wait
		return f
	}
	if wait > 0 {
		retry.Sleep(ctx, wait)
	}
	return nil
}

// begin begins a call of a token that may have so many of the sort at once, until done is called, or refuses it.
func (g *guard) begin(token string, most int) (done func() bool, err error) {
	done, ok := g.busy.Begin(fmt.Sprint(most, " ", token), most)
	if !ok {
		f := api.Failed(http.StatusTooManyRequests, "wait for the answers of some", "%d calls of the token %q are worked on already", most, token)
		f.Err.RetryAfter = time.Second
		return nil, f
	}
	return done, nil
}
