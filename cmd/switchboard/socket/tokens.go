package socket

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"switchboard/cmd/switchboard/access"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/tokens"
	"switchboard/store"
)

// A NewToken is a token that was made just now, with its secret, which nothing shows again.
type NewToken struct {
	tokens.Token
	Secret string `json:"secret"`
}

// readTokenRoutes answer which tokens there are.
func readTokenRoutes(add adder, of *store.Router, settings func() *configs.Settings) {
	known := &tokens.Service{Store: of, Configured: func() []tokens.Configured { return access.Tokens(settings()) }}
	add("GET /v1/tokens", func(r *http.Request) (any, error) { return known.List(r.Context()) })
}

// tokenRoutes make and revoke tokens.
func (s Server) tokenRoutes(add adder) {
	add("POST /v1/tokens", func(r *http.Request) (any, error) {
		t, err := s.asked(r)
		if err != nil {
			return nil, err
		}
		c, err := s.Tokens.Create(t)
		if err == nil {
			err = s.Router.Change(r.Context(), c, owner)
		}
		if err != nil {
			return nil, err
		}
		return NewToken{c.Token, c.Secret.Reveal()}, nil
	})
	add("POST /v1/tokens/{name}/revoke", func(r *http.Request) (any, error) {
		c, err := s.Tokens.Revoke(r.PathValue("name"))
		if err == nil {
			err = s.Router.Change(r.Context(), c, owner)
		}
		if errors.Is(err, core.ErrNotFound) {
			return nil, api.Failed(http.StatusNotFound, "", "there is no token called %q; \"switchboard token list\" shows those there are", c.Token.Name)
		} else if err != nil {
			return nil, err
		}
		return c.Token, nil
	})
}

// asked is the token that a call asks for, with people as they are called.
func (s Server) asked(r *http.Request) (t tokens.Token, err error) {
	if err := r.ParseForm(); err != nil {
		return t, err
	}
	t = tokens.Token{Name: r.Form.Get("name"), Scopes: r.Form["scope"]}
	if text := r.Form.Get("expires"); text != "" {
		within, err := time.ParseDuration(text)
		if err != nil || within <= 0 {
			return t, fmt.Errorf("%q is no time until which the token is good, such as \"720h\"", text)
		}
		t.ExpiresAt = time.Now().Add(within)
	}
	people, _, err := s.Store.Everyone(r.Context())
	for _, name := range r.Form["person"] {
		t.People = append(t.People, cmp.Or(core.Called(name, people), name))
	}
	return t, err
}
