package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"switchboard/channels/console"
	"switchboard/cmd/switchboard/socket"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/secrets"
	"switchboard/internal/words"
	"switchboard/router/tokens"
)

// tokenCmd makes, shows and revokes API tokens.
type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Make a token and print it: alone on stdout, this once."`
	List   tokenListCmd   `cmd:"" help:"The tokens, those of the settings too; no secret is shown."`
	Revoke tokenRevokeCmd `cmd:"" help:"Have a token open nothing from now on."`
}

type tokenCreateCmd struct {
	Name    string        `arg:"" help:"How logs and the audit log call it."`
	Scopes  []string      `name:"scope" default:"messages" enum:"messages,read,send,admin" help:"The calls it may make: messages, read, send or admin (again for more)." placeholder:"SCOPE"`
	People  []string      `name:"person" help:"A person it may speak for (again for more); none: anybody of role user." placeholder:"NAME"`
	Expires time.Duration `help:"How long it is good, e.g. 720h; for ever if it is not given." placeholder:"DURATION"`
}

// Run implements the command.
func (c *tokenCreateCmd) Run(a *app) error {
	if c.Expires < 0 {
		return configs.Usage(errors.New("--expires: a token cannot expire before it is made"))
	}
	settings, err := a.talked(a.settings)
	if err != nil {
		return err
	}
	how := url.Values{"name": {c.Name}, "scope": c.Scopes, "person": c.People}
	if c.Expires > 0 {
		how.Set("expires", c.Expires.String())
	}
	var made socket.NewToken
	return a.change(settings, api.Call{Method: http.MethodPost, Path: "/v1/tokens?" + how.Encode()}, "token create "+c.Name, &made, func() error {
		a.mask.Add(secrets.Secret(made.Secret))
		fmt.Fprintf(a.err, "%s may make calls of %s, for %s; it is good %s. Keep it now: it is not shown again.\n",
			console.Printable(made.Name), strings.Join(made.Scopes, ", "), speaksFor(made.People), until(made.ExpiresAt))
		_, err := fmt.Fprintln(a.out, made.Secret)
		return err
	})
}

// speaksFor says whom a token may speak for.
func speaksFor(people []string) string {
	if len(people) == 0 {
		return "anybody of role user"
	}
	return console.Printable(strings.Join(people, ", "))
}

func until(at time.Time) string {
	if at.IsZero() {
		return "until it is revoked"
	}
	return "until " + words.At(at)
}

type tokenListCmd struct{ jsonFlag }

// Run implements the command.
func (c *tokenListCmd) Run(a *app) error {
	now := time.Now()
	return list(a, "/v1/tokens", 0, c.JSON, "\"switchboard token create NAME\" makes one", "NAME\tSCOPES\tSPEAKS FOR\tFROM\tMADE\tLAST USED\tGOOD", func(t tokens.Token) []any {
		return []any{oneLine(t.Name, 64), strings.Join(t.Scopes, ", "), oneLine(speaksFor(t.People), 60), t.Source, when(t.CreatedAt), when(t.LastUsed), good(&t, now)}
	})
}

// good says whether a token opens something, and until when.
func good(t *tokens.Token, now time.Time) string {
	err := t.Fault(now)
	switch {
	case t.Source == tokens.FromSettings:
		return "while it is in the settings"
	case errors.Is(err, tokens.ErrRevoked):
		return "no, revoked " + words.At(t.RevokedAt)
	case errors.Is(err, tokens.ErrExpired):
		return "no, expired " + words.At(t.ExpiresAt)
	case err != nil:
		return "no, the settings have another one of this name"
	}
	return until(t.ExpiresAt)
}

type tokenRevokeCmd struct {
	Name string `arg:"" help:"The token's name."`
}

// Run implements the command.
func (c *tokenRevokeCmd) Run(a *app) error {
	settings, err := stored(a.talked(a.settings))
	if err != nil {
		return err
	}
	var t tokens.Token
	return a.change(settings, api.Call{Method: http.MethodPost, Path: "/v1/tokens/" + url.PathEscape(c.Name) + "/revoke"}, "token revoke "+c.Name, &t, func() error {
		_, err := fmt.Fprintf(a.out, "%s is revoked: it opens nothing any more\n", console.Printable(t.Name))
		return err
	})
}
