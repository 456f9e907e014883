package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"switchboard/channels/console"
	"switchboard/cmd/switchboard/interview"
	"switchboard/cmd/switchboard/socket"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
	"switchboard/internal/words"
	routersettings "switchboard/router/settings"
)

// secretCmd is what an operator gives the program to use and never to show.
type secretCmd struct {
	Set    secretSetCmd    `cmd:"" help:"Encrypt a secret; its value is read from standard input, or asked for on a terminal."`
	List   secretListCmd   `cmd:"" help:"List the secrets by name; no value is shown."`
	Remove secretRemoveCmd `cmd:"" help:"Take a secret away."`
}

type secretSetCmd struct {
	Name  string   `arg:"" help:"What settings call it: \"secret:NAME\"."`
	Tools []string `name:"tool" help:"A tool that may have it (again for more); none: the settings alone use it." placeholder:"PATTERN"`
}

// Run implements the command. The value is encrypted here, so that it goes nowhere else.
func (c *secretSetCmd) Run(a *app) error {
	settings, err := a.unresolved()
	if err != nil {
		return err
	}
	if err := routersettings.CheckSecretName(c.Name); err != nil {
		return configs.Usage(err)
	}
	value, err := a.readSecret("Value of " + c.Name + ": ")
	if err != nil {
		return err
	}
	if err := settings.MakeDataDir(); err != nil {
		return err
	}
	sealed, err := settings.Vault.Seal(value)
	if err != nil {
		return fmt.Errorf("secret set %s: %w", c.Name, err)
	}
	how := url.Values{"sealed": {base64.RawURLEncoding.EncodeToString(sealed)}, "tool": c.Tools}
	return a.changeSecret(settings, http.MethodPost, c.Name, how, "is set")
}

type secretRemoveCmd struct {
	Name string `arg:"" help:"The secret's name."`
}

// Run implements the command.
func (c *secretRemoveCmd) Run(a *app) error {
	settings, err := stored(a.talked(a.unresolved))
	if err != nil {
		return err
	}
	return a.changeSecret(settings, http.MethodDelete, c.Name, nil, "is taken away")
}

func (a *app) changeSecret(settings *configs.Settings, method, name string, how url.Values, done string) error {
	var used socket.SecretUse
	return a.change(settings, api.Call{Method: method, Path: "/v1/credentials/" + url.PathEscape(name) + "?" + how.Encode()}, "secret "+name, &used, func() error {
		fmt.Fprintf(a.out, "%s %s\n", console.Printable(name), done)
		if len(used.By) > 0 {
			fmt.Fprintf(a.err, "It is used by %s.\n", strings.Join(used.By, ", "))
		}
		return nil
	})
}

// readSecret reads a value from a pipe, or asks for it on a terminal without showing it.
func (a *app) readSecret(prompt string) (secrets.Secret, error) {
	f, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		data, err := io.ReadAll(io.LimitReader(a.in, vault.MaxValue+2))
		if err != nil {
			return "", fmt.Errorf("read the value: %w", err)
		}
		return secrets.Secret(strings.TrimRight(string(data), "\r\n")), nil
	}
	former, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", fmt.Errorf("ask on the terminal: %w", err)
	}
	fmt.Fprint(a.err, prompt)
	defer fmt.Fprintln(a.err)
	value, err := interview.Typed(a.ctx, func() (string, error) {
		text, err := term.ReadPassword(int(f.Fd()))
		return string(text), err
	})
	if a.ctx.Err() != nil {
		_ = term.Restore(int(f.Fd()), former)
	}
	return secrets.Secret(value), err
}

type secretListCmd struct{ jsonFlag }

// Run implements the command.
func (c *secretListCmd) Run(a *app) error {
	return list(a, "/v1/credentials", 0, c.JSON, "\"switchboard secret set NAME\" keeps one", "NAME\tUSED BY\tTOOLS\tSET BY\tWHEN\tVERSION", func(s socket.SecretUse) []any {
		return []any{s.Name, oneLine(strings.Join(s.By, ", "), 60), oneLine(strings.Join(s.Tools, ", "), 40), s.Person, words.At(s.At), s.Version}
	})
}
