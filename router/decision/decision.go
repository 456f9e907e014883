// Package decision asks an external decision service, such as Open Policy Agent, whether a tool may run or a memory may be
// written. It is asked after the rules of the program, so that it only narrows what they allow; a service that does not answer
// allows nothing.
//
// The gates of tools (router) and of memory (router/memory) call it. It knows no channel, no database and no text of anybody's.
package decision

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/internal/secrets"
)

// Rule is the rule by which the service refuses, or its silence does.
const Rule = "policy.service"

// What is asked about: Question.Action.
const (
	ToolExecute = "tool.execute"
	MemoryWrite = "memory.write"
)

const (
	wait       = 2 * time.Second // for an answer
	connecting = time.Second     // of that, for a connection
	remembered = 2 * time.Second // is how long an answer holds
	mostKept   = 1000            // answers
	mostBytes  = 64 << 10        // of an answer
)

// ErrRefused and ErrNoAnswer are returned by Ask: the service does not allow it, or gave no answer that could be read.
var (
	ErrRefused  = errors.New("the policy service does not allow it")
	ErrNoAnswer = errors.New("the policy service does not answer")
)

// A Question is all that the service is told; each field is sent, empty where it does not apply.
type Question struct {
	Action  string `json:"action"` // ToolExecute | MemoryWrite
	Person  string `json:"person"` // in whose name; empty: nobody's
	Role    string `json:"role"`   // theirs, as it is now
	Channel string `json:"channel"`
	Scope   string `json:"scope"`  // where it is, or where the memory surfaces: memory.Scope
	Kind    string `json:"kind"`   // of the memory
	Taint   string `json:"taint"`  // where text from elsewhere came from; empty: there is none
	Tool    string `json:"tool"`   // its name
	Effect  string `json:"effect"` // of the tool: read | write | outside
}

// A Service is one that may be changed while it is used, by several goroutines at once. The zero Service and nil are none, which
// allows everything.
type Service struct {
	Log *slog.Logger // of answers that do not come; nil: nothing is logged
	now atomic.Pointer[target]
}

// A target is a service at one address, with what it answered of late.
type target struct {
	address string
	token   secrets.Secret
	client  *http.Client

	mu   sync.Mutex
	kept map[Question]answer // by the zero Question that it cannot be reached
}

type answer struct {
	err   error
	until time.Time
}

// Apply has the service at an address asked from now on; empty: none. The token, if there is one, goes with each question.
func (s *Service) Apply(address string, token secrets.Secret) {
	old := s.now.Load()
	if old == nil && address == "" || old != nil && old.address == address && old.token == token {
		return
	}
	var next *target
	if address != "" {
		next = &target{address: address, token: token, kept: map[Question]answer{}, client: &http.Client{
			Transport: &http.Transport{
				Proxy:                  http.ProxyFromEnvironment,
				DialContext:            (&net.Dialer{Timeout: connecting}).DialContext,
				ForceAttemptHTTP2:      true,
				MaxIdleConnsPerHost:    64,
				IdleConnTimeout:        30 * time.Second,
				MaxResponseHeaderBytes: mostBytes,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
	}
	s.now.Store(next)
	if old != nil {
		old.client.CloseIdleConnections()
	}
}

// Set says that there is a service.
func (s *Service) Set() bool { return s != nil && s.now.Load() != nil }

// Ask says whether the service allows something: nil, ErrRefused or ErrNoAnswer. An answer holds for two seconds; where no
// connection comes about, nothing else is asked for as long.
func (s *Service) Ask(ctx context.Context, q Question) error {
	var t *target
	if s != nil {
		t = s.now.Load()
	}
	if t == nil {
		return nil
	}
	if ok, err := t.known(q); ok {
		return err
	}
	away, err := t.ask(ctx, q)
	if err != nil && ctx.Err() != nil { // the asker has left, which says nothing of the service
		return err
	}
	if errors.Is(err, ErrNoAnswer) && s.Log != nil {
		s.Log.WarnContext(ctx, "what the policy service was asked about is refused", "action", q.Action, "tool", q.Tool, "error", err)
	}
	t.keep(q, away, err)
	return err
}

func (t *target) known(q Question) (ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range [...]Question{q, {}} {
		if a, ok := t.kept[key]; ok && time.Now().Before(a.until) {
			return true, a.err
		}
	}
	return false, nil
}

func (t *target) keep(q Question, away bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) >= mostKept {
		clear(t.kept)
	}
	delete(t.kept, Question{})
	if away {
		q = Question{}
	}
	t.kept[q] = answer{err, time.Now().Add(remembered)}
}

// ask asks the service itself; away: there is no connection to it, whatever is asked.
func (t *target) ask(ctx context.Context, q Question) (away bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	body, err := json.Marshal(map[string]Question{"input": q})
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrNoAnswer, plain(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "switchboard")
	req.Header["Idempotency-Key"] = nil // not sent: on a connection that was closed meanwhile it is asked again
	if t.token != "" {
		req.Header.Set("Authorization", "Bearer "+t.token.Reveal())
	}
	resp, err := t.client.Do(req)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true, fmt.Errorf("%w: %w", ErrNoAnswer, op)
	} else if err != nil {
		return false, fmt.Errorf("%w: %w", ErrNoAnswer, plain(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%w: it says %s", ErrNoAnswer, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrNoAnswer, plain(err))
	}
	var said map[string]json.RawMessage
	switch {
	case len(text) > mostBytes:
		return false, fmt.Errorf("%w: its answer is longer than %d KB", ErrNoAnswer, mostBytes>>10)
	case json.Unmarshal(text, &said) != nil:
		return false, fmt.Errorf("%w: its answer is no JSON object", ErrNoAnswer)
	case !allows(said["result"]):
		return false, ErrRefused
	}
	return false, nil
}

// allows reads a result: true, or an object with allow true. None is Open Policy Agent's undefined.
func allows(result json.RawMessage) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(result, &object) == nil {
		result = object["allow"]
	}
	return string(bytes.TrimSpace(result)) == "true"
}

// plain is what went wrong with a request, without its address, which may hold a credential.
func plain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("nothing came within %s", wait)
	}
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}
