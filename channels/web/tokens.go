package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/router/core"
	"switchboard/router/tokens"
)

// A TokenKeeper knows the API tokens.
type TokenKeeper interface {
	// List is every token: those of the settings, then those that were made.
	List(ctx context.Context) ([]tokens.Token, error)
	// Create and Revoke are the changes that make a token and revoke one. An error is for people.
	Create(t tokens.Token) (*tokens.Change, error)
	Revoke(name string) (*tokens.Change, error)
}

func (s *Site) tokenPages() {
	s.onlyAdmins("GET /tokens", func(w http.ResponseWriter, r *http.Request) error { return s.tokens(w, r, nil) })
	s.onlyAdmins("POST /tokens", s.makeToken)
	s.onlyAdmins("POST /tokens/revoke", s.revokeToken)
}

// A tokenRow is a token in the list.
type tokenRow struct {
	tokens.Token
	State string // whether it opens something, and until when, before the instant At
	At    time.Time
	Good  bool
}

// Settled says that the settings have it.
func (t *tokenRow) Settled() bool { return t.Source == tokens.FromSettings }

// A tokensBody is the page of the tokens.
type tokensBody struct {
	Tokens []tokenRow
	Scopes []string
	People []string
	Made   *tokens.Change // just now
}

func (s *Site) tokens(w http.ResponseWriter, r *http.Request, made *tokens.Change) error {
	list, err := s.TokenKeeper.List(r.Context())
	body := tokensBody{Scopes: tokens.Scopes, Made: made}
	if err == nil {
		var all []personRow
		all, err = s.everyone(r.Context())
		for _, p := range all {
			if p.Away.IsZero() {
				body.People = append(body.People, p.Name)
			}
		}
	}
	if err != nil {
		return err
	}
	now := time.Now()
	for _, t := range list {
		body.Tokens = append(body.Tokens, tokenState(t, now))
	}
	return s.show(w, r, "secrets", "API tokens", "tokens", body)
}

// tokenState says whether a token opens something.
func tokenState(t tokens.Token, now time.Time) tokenRow {
	row := tokenRow{Token: t}
	switch err := t.Fault(now); {
	case t.Source == tokens.FromSettings:
		row.State, row.Good = "while it is in the settings", true
	case errors.Is(err, tokens.ErrRevoked):
		row.State, row.At = "no, revoked", t.RevokedAt
	case errors.Is(err, tokens.ErrExpired):
		row.State, row.At = "no, expired", t.ExpiresAt
	case err != nil:
		row.State = "no, the settings have another one of this name"
	case t.ExpiresAt.IsZero():
		row.State, row.Good = "until it is revoked", true
	default:
		row.State, row.At, row.Good = "until", t.ExpiresAt, true
	}
	return row
}

// makeToken makes a token and shows its secret, this once.
func (s *Site) makeToken(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimSpace(r.PostFormValue("name")) // which reads the form
	t := tokens.Token{Name: name, Scopes: r.PostForm["scope"], People: r.PostForm["person"]}
	var err error
	if days, wrong := strconv.Atoi(r.PostFormValue("days")); wrong != nil || days < 0 || days > 10_000 {
		err = errors.New("say for how many days the token is good; 0 is until it is revoked")
	} else if days > 0 {
		t.ExpiresAt = time.Now().AddDate(0, 0, days)
	}
	if err == nil && slices.Contains(t.People, "") {
		t.People = nil
	}
	var c *tokens.Change
	if err == nil {
		c, err = s.TokenKeeper.Create(t)
	}
	if err != nil {
		return wrong("No token was made: " + err.Error() + ".")
	}
	if err := s.Changer.Change(r.Context(), c, visitorOf(r).actor()); err != nil {
		return err
	}
	return s.tokens(w, r, c)
}

func (s *Site) revokeToken(w http.ResponseWriter, r *http.Request) error {
	c, err := s.TokenKeeper.Revoke(r.PostFormValue("name"))
	if err != nil {
		err = &core.StateError{Sentence: err.Error() + "."}
	} else if err = s.Changer.Change(r.Context(), c, visitorOf(r).actor()); errors.Is(err, core.ErrNotFound) {
		err = &core.StateError{Sentence: "There is no token of that name."}
	}
	return s.led(w, r, "/tokens", err)
}
