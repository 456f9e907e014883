package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"switchboard/agent/tools"
	"switchboard/channels/console"
	"switchboard/configs"
	"switchboard/router/ledger"
	"switchboard/secrets"
	"switchboard/secrets/vault"
	"switchboard/store"
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
	settings, err := a.loadUnresolved()
	if err != nil {
		return err
	}
	if err := checkSecretName(c.Name); err != nil {
		return usageError{err}
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
	settings, err := a.loadUnresolved()
	if err == nil {
		err = hasLedger(settings)
	}
	if err != nil {
		return err
	}
	return a.changeSecret(settings, http.MethodDelete, c.Name, nil, "is taken away")
}

func (a *app) changeSecret(settings *configs.Settings, method, name string, how url.Values, done string) error {
	var used secretUse
	answered, err := a.send(settings, method, "/secrets/"+url.PathEscape(name)+"?"+how.Encode(), &used)
	if !answered {
		return fmt.Errorf("secret %s: %w", name, err)
	}
	fmt.Fprintf(a.out, "%s %s\n", console.Printable(name), done)
	if method == http.MethodPost && len(used.By) > 0 {
		fmt.Fprintf(a.err, "It is used by %s.\n", strings.Join(used.By, ", "))
	}
	return err
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
	typed := make(chan secrets.Secret, 1)
	go func() { // a signal ends the wait; the read ends with the program
		if text, err := term.ReadPassword(int(f.Fd())); err == nil {
			typed <- secrets.Secret(strings.TrimSpace(string(text)))
			return
		}
		close(typed)
	}()
	defer fmt.Fprintln(a.err)
	select {
	case value, ok := <-typed:
		if !ok {
			return "", errLeft
		}
		return value, nil
	case <-a.ctx.Done():
		_ = term.Restore(int(f.Fd()), former)
		return "", a.ctx.Err()
	}
}

type secretListCmd struct{ jsonFlag }

// A secretUse is a secret as it is listed.
type secretUse struct {
	ledger.Secret
	By []string `json:"used_by"` // settings
}

// Run implements the command.
func (c *secretListCmd) Run(a *app) error {
	return list(a, "/secrets", c.JSON, "NAME\tUSED BY\tTOOLS\tSET BY\tWHEN\tVERSION", func(s secretUse) []any {
		return []any{s.Name, oneLine(strings.Join(s.By, ", "), 60), oneLine(strings.Join(s.Tools, ", "), 40), s.Person, at(s.At), s.Version}
	})
}

// checkSecretName says why no secret can have that name.
func checkSecretName(name string) error {
	if !secrets.ValidName(name) {
		return fmt.Errorf("%q is no name of a secret: it has 1 to 64 letters, digits, '.', '_' and '-'", name)
	}
	return nil
}

// secretRoutes set the secrets of the encrypted store.
func (e *engine) secretRoutes(mux *http.ServeMux) {
	route(mux, "POST /secrets/{name}", func(r *http.Request) (any, error) {
		name := r.PathValue("name")
		if err := errors.Join(r.ParseForm(), checkSecretName(name)); err != nil {
			return nil, err
		}
		sealed, err := base64.RawURLEncoding.DecodeString(r.Form.Get("sealed"))
		if err != nil {
			return nil, fmt.Errorf("the secret came garbled: %w", err)
		}
		return e.setSecret(r.Context(), &ledger.SecretChange{Kind: ledger.SetSecret, Name: name, Ciphertext: sealed, Tools: r.Form["tool"]})
	})
	route(mux, "DELETE /secrets/{name}", func(r *http.Request) (any, error) {
		return e.setSecret(r.Context(), &ledger.SecretChange{Kind: ledger.RemoveSecret, Name: r.PathValue("name")})
	})
}

// setSecret makes a change that whoever runs the program wants.
func (e *engine) setSecret(ctx context.Context, c *ledger.SecretChange) (*secretUse, error) {
	used := &secretUse{Secret: ledger.Secret{Name: c.Name}, By: e.settings.UsedBy(c.Name)}
	if c.Kind == ledger.SetSecret {
		value, err := e.settings.Vault.Open(c.Ciphertext)
		if err != nil {
			return nil, err
		}
		e.settings.Mask.Add(value)
	} else if len(used.By) > 0 {
		return nil, stillUsed(c.Name, used.By)
	}
	return used, e.db.Router().ChangeSecret(ctx, c, ledger.OwnerHand(ownerName))
}

// stillUsed says that a secret cannot go: the next start would find none.
func stillUsed(name string, by []string) error {
	return &ledger.StateError{Sentence: fmt.Sprintf("%s is used by %s; change that first", name, strings.Join(by, ", "))}
}

// stored looks secrets up in a list that is read once, when the first one is needed. What it
// opens is masked from then on.
func stored(settings *configs.Settings, read func() ([]ledger.Secret, error)) func(string) (secrets.Secret, error) {
	var list []ledger.Secret
	var failed error
	done := false
	return func(name string) (secrets.Secret, error) {
		if !done {
			list, failed = read()
			done = true
		}
		if failed != nil {
			return "", failed
		}
		for _, s := range list {
			if s.Name == name {
				value, err := settings.Vault.Open(s.Ciphertext)
				settings.Mask.Add(value)
				return value, err
			}
		}
		return "", secrets.ErrUnknown
	}
}

// secretFor is a secret that a tool declares, as it is now.
func (e *engine) secretFor(ctx context.Context, tool, name string) (secrets.Secret, error) {
	list, err := e.db.Router().Secrets(ctx)
	if err != nil {
		return "", errors.New("the database does not answer")
	}
	for _, s := range list {
		switch {
		case s.Name != name:
		case !tools.Named(s.Tools, tool):
			return "", fmt.Errorf("an admin has to allow it: switchboard secret set %s --tool %s", name, tool)
		default:
			return e.settings.Vault.Open(s.Ciphertext)
		}
	}
	return "", fmt.Errorf("%w; an admin has to set it: switchboard secret set %s --tool %s", secrets.ErrUnknown, name, tool)
}

// storedNow looks secrets up where no engine has the database open here.
func (a *app) storedNow(settings *configs.Settings) func(string) (secrets.Secret, error) {
	return stored(settings, func() ([]ledger.Secret, error) {
		if hasLedger(settings) != nil {
			return nil, nil
		}
		ctx, stop := context.WithTimeout(a.ctx, 10*time.Second)
		defer stop()
		db, err := store.OpenReadOnly(ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		defer db.Close()
		return db.Router().Secrets(ctx)
	})
}
