package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels/console"
	"switchboard/cmd/switchboard/socket"
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
	Name    string   `arg:"" help:"How logs and the audit log call it."`
	Scopes  []string `name:"scope" default:"messages" enum:"messages,read,send,admin" help:"The calls it may make: messages, read, send or admin (again for more)." placeholder:"SCOPE"`
	People  []string `name:"person" help:"A person it may speak for (again for more); none: anybody of role user." placeholder:"NAME"`
	Expires lasting  `help:"How long it is good: 30d, 4w or 12h; for ever if it is not given." placeholder:"TIME"`
}

// Run implements the command.
func (c *tokenCreateCmd) Run(a *app) error {
	settings, err := a.talked(a.settings)
	if err != nil {
		return err
	}
	how := url.Values{"name": {c.Name}, "scope": c.Scopes, "person": c.People}
	if c.Expires > 0 {
		how.Set("expires", time.Duration(c.Expires).String())
	}
	var made socket.NewToken
	return a.change(settings, api.Call{Method: http.MethodPost, Path: "/v1/tokens?" + how.Encode()}, "token create "+c.Name, &made, func() error {
		a.mask.Add(secrets.Secret(made.Secret))
		fmt.Fprintf(a.err, "%s may make calls of %s, for %s; it is good %s. Keep it now: it is not shown again.\n",
			console.Printable(made.Name), scopes(made.Scopes), speaksFor(made.People), until(made.ExpiresAt))
		_, err := fmt.Fprintln(a.out, made.Secret)
		return err
	})
}

// A lasting is how long something is good, on the command line.
type lasting time.Duration

// UnmarshalText reads a number of weeks or days, or a duration of Go.
func (l *lasting) UnmarshalText(text []byte) error {
	number, unit := string(text), time.Duration(0)
	if n, ok := strings.CutSuffix(number, "d"); ok {
		number, unit = n, 24*time.Hour
	} else if n, ok := strings.CutSuffix(number, "w"); ok {
		number, unit = n, 7*24*time.Hour
	}
	var within time.Duration
	var err error
	if unit == 0 {
		within, err = time.ParseDuration(number)
	} else {
		var n int
		n, err = strconv.Atoi(number)
		within = time.Duration(n) * unit
		if err == nil && (n > mostDays || n < -mostDays) {
			err = strconv.ErrRange
		}
	}
	if err != nil || within <= 0 {
		return fmt.Errorf("%q is no time for which a token is good: say days, weeks, hours or minutes, as in 30d, 4w, 12h or 30m", text)
	}
	*l = lasting(within)
	return nil
}

// mostDays keeps a number of weeks within a time.Duration.
const mostDays = 10_000

// scopes names those of a new token, and that more can be asked for where it has no more than the default.
func scopes(given []string) string {
	if slices.Equal(given, []string{"messages"}) {
		return "messages (the default; --scope read adds reading)"
	}
	return strings.Join(given, ", ")
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
