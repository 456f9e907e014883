package tokens

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"switchboard/internal/secrets"
	"switchboard/router/core"
)

// A Configured is a token of the settings.
type Configured struct {
	Name           string
	Value          secrets.Secret // empty: it opens nothing
	Scopes, People []string
}

// Store has the tokens that were made.
type Store interface {
	// FindToken is the one whose secret has that hash, in any state. core.ErrNotFound: there is none.
	FindToken(ctx context.Context, hash []byte) (*Token, error)
	// Tokens lists all by name, revoked ones too.
	Tokens(ctx context.Context) ([]Token, error)
	// TokenUsed notes that a token was used at that time.
	TokenUsed(ctx context.Context, name string, at time.Time) error
}

// usedEvery is how often at most it is noted that a token was used.
const usedEvery = time.Minute

// A Service knows the tokens. Its methods may be called from several goroutines at once.
type Service struct {
	Store      Store
	Configured func() []Configured // those of the settings, as they are now
	Mask       *secrets.Masker     // learns each secret that Create makes and Find finds
	Log        *slog.Logger

	mu   sync.Mutex
	used map[string]time.Time // when the use of a token was noted last
}

// Find is the token with that secret. ErrUnknown, ErrExpired, ErrRevoked: it opens nothing. Another error says that the
// database cannot be asked now. It asks the database at each call, one row by its hash: a token that was revoked, on
// whichever engine, opens nothing from then on.
func (s *Service) Find(ctx context.Context, secret string) (*Token, error) {
	t, err := s.ByHash(ctx, Hash(secret))
	if err == nil && t.Source == Made {
		s.Mask.Add(secrets.Secret(secret)) // another engine or an earlier run may have made it
	}
	return t, err
}

// ByHash is Find by the Hash of a secret.
func (s *Service) ByHash(ctx context.Context, hash []byte) (*Token, error) {
	if t := s.configured(hash); t != nil {
		return t, nil
	}
	// What the time of the look-up tells is of the hash, which leads to no secret.
	t, err := s.Store.FindToken(ctx, hash)
	if errors.Is(err, core.ErrNotFound) {
		return nil, ErrUnknown
	} else if err != nil {
		return nil, err
	}
	t.Overridden = s.inSettings(t.Name)
	now := time.Now()
	if err := t.Fault(now); err != nil {
		return nil, err
	}
	s.note(ctx, t, now)
	return t, nil
}

// configured is the token of the settings with that hash; nil: there is none. It compares with all of them, each in
// the same time.
func (s *Service) configured(hash []byte) (found *Token) {
	for _, c := range s.Configured() {
		if c.Value != "" && subtle.ConstantTimeCompare(hash, Hash(c.Value.Reveal())) == 1 {
			found = c.token()
		}
	}
	return found
}

func (c *Configured) token() *Token {
	return &Token{Name: c.Name, Scopes: append([]string{}, c.Scopes...), People: append([]string{}, c.People...), Source: FromSettings}
}

func (s *Service) inSettings(name string) bool {
	return slices.ContainsFunc(s.Configured(), func(c Configured) bool { return c.Name == name })
}

// note writes that a token was used. That it cannot is no reason to refuse the call.
func (s *Service) note(ctx context.Context, t *Token, now time.Time) {
	s.mu.Lock()
	due := now.Sub(t.LastUsed) >= usedEvery && now.Sub(s.used[t.Name]) >= usedEvery // the row may be older than what another call is writing
	if due && s.used == nil {
		s.used = map[string]time.Time{}
	}
	if due {
		s.used[t.Name] = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	if err := s.Store.TokenUsed(ctx, t.Name, now); err != nil {
		s.Log.WarnContext(ctx, "the use of a token could not be noted", "token", t.Name, "error", err)
	}
}

// List is every token: those of the settings as they stand there, then those that were made, by name.
func (s *Service) List(ctx context.Context) (list []Token, err error) {
	for _, c := range s.Configured() {
		list = append(list, *c.token())
	}
	made, err := s.Store.Tokens(ctx)
	for i := range made {
		made[i].Overridden = s.inSettings(made[i].Name)
	}
	return append(list, made...), err
}

// Any says whether any token opens anything now.
func (s *Service) Any(ctx context.Context) (bool, error) {
	list, err := s.List(ctx)
	now := time.Now()
	return slices.ContainsFunc(list, func(t Token) bool { return t.Fault(now) == nil }), err
}

// Create is the change that makes a token of that name, scopes, people and expiry, with a secret of its own. An error is
// for people.
func (s *Service) Create(t Token) (*Change, error) {
	switch {
	case !secrets.ValidName(t.Name):
		return nil, fmt.Errorf("%q is no name of a token: it has 1 to 64 letters, digits, '.', '_' and '-'", t.Name)
	case s.inSettings(t.Name):
		return nil, fmt.Errorf("%s is the name of a token in [[server.tokens]]; choose another", t.Name)
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(time.Now()):
		return nil, errors.New("the token would have expired already")
	}
	if err := checkScopes(t.Scopes); err != nil {
		return nil, err
	}
	c := &Change{Kind: Create, Token: t, Secret: newSecret()}
	s.Mask.Add(c.Secret)
	c.Hash = Hash(c.Secret.Reveal())
	return c, nil
}

// Revoke is the change that revokes a token. An error is for people.
func (s *Service) Revoke(name string) (*Change, error) {
	if s.inSettings(name) {
		return nil, fmt.Errorf("%s is in the settings; take it out of [[server.tokens]] there", name)
	}
	return &Change{Kind: Revoke, Token: Token{Name: name}}, nil
}
