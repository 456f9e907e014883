package tokens_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"switchboard/internal/secrets"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/tokens"
	"switchboard/store/storetest"
	storetokens "switchboard/store/tokens"
)

// service is one as an engine has it; what it logs is in the buffer.
func service(h *house, configured ...tokens.Configured) (*tokens.Service, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return &tokens.Service{
		Store: h.Router, Configured: func() []tokens.Configured { return configured },
		Mask: secrets.NewMasker(), Log: slog.New(slog.NewTextHandler(log, nil)),
	}, log
}

// change makes a change of the service's as whoever runs the program.
func change(h *house, c *tokens.Change, err error) error {
	if err == nil {
		err = h.Router.Change(h.Ctx, c, people.LocalActor("owner"))
	}
	return err
}

func TestTokensAreMadeFoundAndRevoked(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.SetPeople(storetest.Root)
		s, log := service(h)
		expires := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		made, err := s.Create(tokens.Token{Name: "ci", Scopes: []string{"messages", "read"}, People: []string{"root"}, ExpiresAt: expires})
		if err = change(h, made, err); err != nil {
			t.Fatal(err)
		}
		want := tokens.Token{Name: "ci", Scopes: []string{"messages", "read"}, People: []string{"root"}, Source: tokens.Made, CreatedAt: made.Token.CreatedAt, ExpiresAt: expires}
		if !reflect.DeepEqual(made.Token, want) || want.CreatedAt.IsZero() {
			t.Errorf("made %+v, want %+v", made.Token, want)
		}
		secret := made.Secret.Reveal()
		if !strings.HasPrefix(secret, tokens.Prefix) || len(secret) != len(tokens.Prefix)+52 {
			t.Errorf("the secret has %d characters, and begins with %.3s", len(secret), secret)
		}
		found, err := s.Find(h.Ctx, secret)
		if err != nil || !reflect.DeepEqual(*found, want) {
			t.Fatalf("found %+v, %v", found, err)
		}
		list, err := s.List(h.Ctx)
		if err != nil || len(list) != 1 || time.Since(list[0].LastUsed).Abs() > time.Minute {
			t.Errorf("listed %+v, %v", list, err)
		}
		if any, err := s.Any(h.Ctx); err != nil || !any {
			t.Errorf("any is %v, %v", any, err)
		}
		for _, other := range []string{"", "sb_", secret[:len(secret)-1], secret + " ", strings.ToUpper(secret), "ci"} {
			if found, err := s.Find(h.Ctx, other); !errors.Is(err, tokens.ErrUnknown) {
				t.Errorf("%q is %+v, %v", other, found, err)
			}
		}

		elsewhere, _ := service(h) // as another engine has it
		if _, err := elsewhere.Find(h.Ctx, secret); err != nil {
			t.Error(err)
		}
		if masked := elsewhere.Mask.Text("x " + secret); masked != "x [redacted]" {
			t.Errorf("an engine that saw the secret writes %q", masked)
		}
		revoke, err := s.Revoke("ci")
		if err = change(h, revoke, err); err != nil || revoke.Token.RevokedAt.IsZero() {
			t.Fatal(err)
		}
		for _, at := range []*tokens.Service{s, elsewhere} {
			if _, err := at.Find(h.Ctx, secret); !errors.Is(err, tokens.ErrRevoked) {
				t.Errorf("revoked it is %v", err)
			}
		}
		if any, err := s.Any(h.Ctx); err != nil || any {
			t.Errorf("after it was revoked, any is %v, %v", any, err)
		}
		h.WantCount(1, `SELECT count(*) FROM audit WHERE action = 'token.create' AND target = 'token ci' AND person = 'owner' AND outcome = 'done'
			AND data LIKE '%"people":["root"],"scopes":["messages","read"]%'`)
		h.WantCount(1, "SELECT count(*) FROM audit WHERE action = 'token.revoke' AND target = 'token ci' AND outcome = 'done'")

		// Neither rows nor files nor logs have the secret, or the part that nobody could guess.
		traces := storetest.Traces(t, h.DB) + log.String()
		for _, form := range []string{secret, secret[len(tokens.Prefix):], hex.EncodeToString([]byte(secret))} {
			if strings.Contains(traces, form) {
				t.Error("the secret stands somewhere")
			}
		}
	})
}

// What cannot be made or revoked changes nothing, and the refusal stands in the audit log.
func TestTokensThatAreRefused(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s, _ := service(h, tokens.Configured{Name: "file", Value: "value-of-the-file", Scopes: []string{"read"}})
		create := func(token tokens.Token) error {
			c, err := s.Create(token)
			return change(h, c, err)
		}
		read := []string{"read"}
		if err := create(tokens.Token{Name: "ci", Scopes: read}); err != nil {
			t.Fatal(err)
		}
		for want, token := range map[string]tokens.Token{
			"ci is taken: each token has a name of its own, also after it was revoked.":     {Name: "ci", Scopes: read},
			`There is nobody called "nobody".`:                                              {Name: "x", Scopes: read, People: []string{"nobody"}},
			"file is the name of a token in [[server.tokens]]; choose another":              {Name: "file", Scopes: read},
			`there is no scope "all", only messages, read, send, admin`:                     {Name: "x", Scopes: []string{"read", "all"}},
			"a token needs a scope: messages, read, send, admin":                            {Name: "x"},
			`"a b" is no name of a token: it has 1 to 64 letters, digits, '.', '_' and '-'`: {Name: "a b", Scopes: read},
			"the token would have expired already":                                          {Name: "x", Scopes: read, ExpiresAt: time.Now().Add(-time.Second)},
		} {
			if err := create(token); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		h.WantCount(1, "SELECT count(*) FROM tokens")
		h.WantCount(2, "SELECT count(*) FROM audit WHERE action = 'token.create' AND outcome = 'refused'")

		revoke := func(name string) error {
			c, err := s.Revoke(name)
			return change(h, c, err)
		}
		if err := revoke("none"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("of one that there is not: %v", err)
		}
		if err := revoke("file"); err == nil || err.Error() != "file is in the settings; take it out of [[server.tokens]] there" {
			t.Error(err)
		}
		if err := errors.Join(revoke("ci"), revoke("ci")); err == nil || err.Error() != "ci is revoked already." {
			t.Error(err)
		}
		if err := create(tokens.Token{Name: "ci", Scopes: read}); err == nil || !strings.HasPrefix(err.Error(), "ci is taken") {
			t.Errorf("a revoked name again: %v", err)
		}
	})
}

// A token speaks no more for somebody who was removed, nor for whoever is given the name later.
func TestTokensOfSomebodyWhoWasRemoved(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.SetPeople(storetest.Root)
		s, _ := service(h)
		for _, name := range []string{"ann", "bob"} {
			add := &people.Change{Kind: people.ChangeAdd, Person: core.Person{Name: name, Role: core.RoleUser, Identities: []string{"tg:" + name}, Tools: []string{"*"}}}
			if err := h.Router.Change(h.Ctx, add, people.LocalActor("owner")); err != nil {
				t.Fatal(err)
			}
		}
		secret := map[string]string{}
		for name, speaksFor := range map[string][]string{"both": {"ann", "bob"}, "all": nil, "hers": {"ann"}} {
			c, err := s.Create(tokens.Token{Name: name, Scopes: []string{"messages"}, People: speaksFor})
			if err = change(h, c, err); err != nil {
				t.Fatal(err)
			}
			secret[name] = c.Secret.Reveal()
		}
		remove := &people.Change{Kind: people.ChangeRemove, Person: core.Person{Name: "ann"}}
		if err := h.Router.Change(h.Ctx, remove, people.LocalActor("owner")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Find(h.Ctx, secret["hers"]); !errors.Is(err, tokens.ErrRevoked) {
			t.Errorf("hers: %v", err)
		}
		for name, want := range map[string][]string{"both": {"bob"}, "all": {}} {
			if found, err := s.Find(h.Ctx, secret[name]); err != nil || !reflect.DeepEqual(found.People, want) {
				t.Errorf("%s: %+v, %v", name, found, err)
			}
		}
		h.WantCount(1, `SELECT count(*) FROM audit WHERE action = 'person.remove' AND data LIKE '%"revoked_tokens":["hers"]%'`)
	})
}

func TestTokenIsFoundByIndex(t *testing.T) {
	each(t, func(_ *testing.T, h *house) {
		h.WantNoScans(map[string]string{"find": storetest.Literal(storetokens.FindToken, map[bool]string{true: `'\x00'`, false: `x'00'`}[h.DB.PG()])})
	})
}
