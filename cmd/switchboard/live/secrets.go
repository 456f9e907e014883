package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/configs"
	"switchboard/internal/secrets"
	"switchboard/router/settings"
	"switchboard/store"
)

var _ settings.Secrets = (*Settings)(nil)

// Seal encrypts a value; the error is for people.
func (l *Settings) Seal(value secrets.Secret) ([]byte, error) { return l.Now().Vault.Seal(value) }

// UsedBy are the settings that name a secret.
func (l *Settings) UsedBy(name string) []string { return l.Now().UsedBy(name) }

// Changed reads the secrets again: what the settings use is read, and a channel connects with
// it. Settings that could not be used may have lacked a secret.
func (l *Settings) Changed(ctx context.Context) error {
	l.reloading.Lock()
	err, broken := l.readSecrets(ctx), l.broken != ""
	l.reloading.Unlock()
	if err == nil && broken {
		err = l.Reload(ctx)
	}
	return err
}

// readSecrets is Changed under the lock of those who reload.
func (l *Settings) readSecrets(ctx context.Context) error {
	sealed, err := sealedIn(ctx, l.db)
	if err != nil {
		return err
	}
	changed := l.Now().Vault.Keep(sealed)
	if len(changed) == 0 {
		return nil
	}
	var keys, renew []string
	for _, name := range changed {
		keys = append(keys, l.UsedBy(name)...)
	}
	for _, key := range keys {
		if name, of := strings.CutPrefix(key, "channels."); of {
			renew = append(renew, name[:strings.LastIndexByte(name, '.')])
		}
	}
	if len(keys) > 0 {
		next, _, err := l.Now().With(l.Now().Changes())
		var c *change
		if err == nil {
			c, err = l.prepare(ctx, next, renew...)
		}
		if err == nil {
			err = l.apply(ctx, c)
		}
		if l.unusable = err; err != nil {
			l.log.ErrorContext(ctx, "secrets that were set again cannot be used, and the former ones stay", "error", err)
		} else {
			l.log.InfoContext(ctx, "secrets were set again, and count now", "settings", strings.Join(keys, ", "))
		}
	}
	if err := l.db.EmptyLog(ctx); err != nil { // of what was replaced
		l.log.WarnContext(ctx, "a replaced secret may stand in the write-ahead log, encrypted, until it is overwritten", "error", err)
	}
	return nil
}

// sealedIn are the secrets of a database, by name.
func sealedIn(ctx context.Context, db *store.DB) (map[string][]byte, error) {
	list, err := db.Router().Secrets(ctx)
	sealed := make(map[string][]byte, len(list))
	for _, s := range list {
		sealed[s.Name] = s.Ciphertext
	}
	return sealed, err
}

// SecretFor is a secret that a tool declares, as it is now.
func (l *Settings) SecretFor(ctx context.Context, tool, name string) (secrets.Secret, error) {
	list, err := l.db.Router().Secrets(ctx)
	if err != nil {
		return "", errors.New("the database does not answer")
	}
	for _, s := range list {
		switch {
		case s.Name != name:
		case !tools.Named(s.Tools, tool):
			return "", fmt.Errorf("an admin has to allow it: switchboard secret set %s --tool %s", name, tool)
		default:
			return l.Now().Vault.Open(s.Ciphertext)
		}
	}
	return "", fmt.Errorf("%w; an admin has to set it: switchboard secret set %s --tool %s", secrets.ErrUnknown, name, tool)
}

// LookUp has the secrets of the database looked up, where no program has it open here.
func LookUp(ctx context.Context, settings *configs.Settings) (look func(string) (secrets.Secret, error)) {
	if settings.Stored() != nil {
		return settings.Vault.Look // there is none
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	db, err := Open(ctx, settings)
	if err == nil {
		defer db.Close()
		var sealed map[string][]byte
		if sealed, err = sealedIn(ctx, db); err == nil {
			settings.Vault.Keep(sealed)
			return settings.Vault.Look
		}
	}
	return func(string) (secrets.Secret, error) { return "", err }
}
