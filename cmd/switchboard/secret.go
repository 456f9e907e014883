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
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/settings"
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
	answered, err := a.send(settings, method, "/v1/credentials/"+url.PathEscape(name)+"?"+how.Encode(), &used)
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
	settings.Secret
	By []string `json:"used_by"` // settings
}

// Run implements the command.
func (c *secretListCmd) Run(a *app) error {
	return list(a, "/v1/credentials", 0, c.JSON, "\"switchboard secret set NAME\" keeps one", "NAME\tUSED BY\tTOOLS\tSET BY\tWHEN\tVERSION", func(s secretUse) []any {
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
	route(mux, "POST /v1/credentials/{name}", func(r *http.Request) (any, error) {
		name := r.PathValue("name")
		if err := errors.Join(r.ParseForm(), checkSecretName(name)); err != nil {
			return nil, err
		}
		sealed, err := base64.RawURLEncoding.DecodeString(r.Form.Get("sealed"))
		if err != nil {
			return nil, fmt.Errorf("the secret came garbled: %w", err)
		}
		return e.setSecret(r.Context(), &settings.SecretChange{Kind: settings.SetSecret, Name: name, Ciphertext: sealed, Tools: r.Form["tool"]})
	})
	route(mux, "DELETE /v1/credentials/{name}", func(r *http.Request) (any, error) {
		return e.setSecret(r.Context(), &settings.SecretChange{Kind: settings.RemoveSecret, Name: r.PathValue("name")})
	})
}

// setSecret makes a change that whoever runs the program wants.
func (e *engine) setSecret(ctx context.Context, c *settings.SecretChange) (*secretUse, error) {
	used := &secretUse{Secret: settings.Secret{Name: c.Name}, By: e.settings().UsedBy(c.Name)}
	if c.Kind == settings.SetSecret {
		if _, err := e.settings().Vault.Open(c.Ciphertext); err != nil {
			return nil, err
		}
	} else if len(used.By) > 0 {
		return nil, stillUsed(c.Name, used.By)
	}
	if err := e.router.Change(ctx, c, people.LocalActor(ownerName)); err != nil {
		return nil, err
	}
	return used, nil
}

// Seal implements router.Secrets.
func (e *engine) Seal(value secrets.Secret) ([]byte, error) { return e.settings().Vault.Seal(value) }

// UsedBy implements router.Secrets.
func (e *engine) UsedBy(name string) []string { return e.settings().UsedBy(name) }

// Changed implements router.Secrets: what the settings use is read anew, and a channel connects with
// it. Settings that could not be used may have lacked a secret.
func (e *engine) Changed(ctx context.Context) error {
	e.reloading.Lock()
	err, broken := e.readSecrets(ctx), e.broken != ""
	e.reloading.Unlock()
	if err == nil && broken {
		err = e.reload(ctx)
	}
	return err
}

// readSecrets is Changed under the lock of those who reload.
func (e *engine) readSecrets(ctx context.Context) error {
	sealed, err := sealedOf(ctx, e.db)
	if err != nil {
		return err
	}
	changed := e.settings().Vault.Keep(sealed)
	if len(changed) == 0 {
		return nil
	}
	var keys, channels []string
	for _, name := range changed {
		keys = append(keys, e.settings().UsedBy(name)...)
	}
	for _, key := range keys {
		if name, of := strings.CutPrefix(key, "channels."); of {
			channels = append(channels, name[:strings.LastIndexByte(name, '.')])
		}
	}
	if len(keys) > 0 {
		next, _, err := e.settings().With(e.settings().Changes())
		var c *change
		if err == nil {
			c, err = e.prepare(ctx, next, channels...)
		}
		if err == nil {
			err = e.apply(ctx, c)
		}
		if e.unusable = err; err != nil {
			e.log.ErrorContext(ctx, "secrets that were set anew cannot be used, and the former ones stay", "error", err)
		} else {
			e.log.InfoContext(ctx, "secrets were set anew, and count now", "settings", strings.Join(keys, ", "))
		}
	}
	if err := e.db.EmptyLog(ctx); err != nil { // of what was replaced
		e.log.WarnContext(ctx, "a replaced secret may stand in the write-ahead log, encrypted, until it is overwritten", "error", err)
	}
	return nil
}

// sealedOf are the secrets of a database, by name.
func sealedOf(ctx context.Context, db *store.DB) (map[string][]byte, error) {
	list, err := db.Router().Secrets(ctx)
	sealed := make(map[string][]byte, len(list))
	for _, s := range list {
		sealed[s.Name] = s.Ciphertext
	}
	return sealed, err
}

// stillUsed says that a secret cannot go: the next start would find none.
func stillUsed(name string, by []string) error {
	return &core.StateError{Sentence: fmt.Sprintf("%s is used by %s; change that first", name, strings.Join(by, ", "))}
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
			return e.settings().Vault.Open(s.Ciphertext)
		}
	}
	return "", fmt.Errorf("%w; an admin has to set it: switchboard secret set %s --tool %s", secrets.ErrUnknown, name, tool)
}

// lookUp has the secrets of the database looked up, where no engine has it open here.
func (a *app) lookUp(settings *configs.Settings) (look func(string) (secrets.Secret, error)) {
	if hasLedger(settings) != nil {
		return settings.Vault.Look // there is none
	}
	ctx, stop := context.WithTimeout(a.ctx, 10*time.Second)
	defer stop()
	db, err := store.OpenReadOnly(ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
	if err == nil {
		defer db.Close()
		var sealed map[string][]byte
		if sealed, err = sealedOf(ctx, db); err == nil {
			settings.Vault.Keep(sealed)
			return settings.Vault.Look
		}
	}
	return func(string) (secrets.Secret, error) { return "", err }
}
