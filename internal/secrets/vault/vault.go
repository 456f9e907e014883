// Package vault encrypts the secrets that are set at run time, and opens them again, with a
// key that stands in data_dir or in the environment. Where they are kept is the store's
// business.
package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"filippo.io/age"

	"switchboard/internal/secrets"
)

// Variable is the environment variable that may hold the key in place of the file.
const Variable = "SWITCHBOARD_SECRET_KEY"

// KeyFile is the name of the key's file in data_dir.
const KeyFile = "secret.key"

// MaxValue bounds a secret, in bytes.
const MaxValue = 64 << 10

// A Vault has the key of one data folder, read at each use: engines that share the folder
// share the key. Its methods are safe for use by several goroutines and processes at once.
type Vault struct {
	path  string
	given string
	mask  *secrets.Masker

	mu   sync.Mutex
	kept map[string][]byte // sealed, by name
}

// New makes a Vault whose key is given, "AGE-SECRET-KEY-1…", or where that is empty stands
// in a file of dataDir. mask learns the key, and each secret that is opened; it may be nil.
func New(dataDir, given string, mask *secrets.Masker) *Vault {
	v := &Vault{path: filepath.Join(dataDir, KeyFile), given: strings.TrimSpace(given), mask: mask}
	v.learn(v.given)
	return v
}

func (v *Vault) learn(value string) {
	if v.mask != nil {
		v.mask.Add(secrets.Secret(value))
	}
}

// Keep takes the secrets as they are now, sealed, by name, and says which are others than
// before, or gone. All that can be opened are hidden from then on, whether or not something
// uses them.
func (v *Vault) Keep(sealed map[string][]byte) (changed []string) {
	changed = v.keep(sealed)
	for _, name := range changed {
		_, _ = v.Look(name) // whoever needs it is told why it cannot be opened
	}
	return changed
}

func (v *Vault) keep(sealed map[string][]byte) (changed []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	names := map[string][]byte{}
	maps.Copy(names, v.kept)
	maps.Copy(names, sealed)
	for name := range names {
		if !bytes.Equal(v.kept[name], sealed[name]) {
			changed = append(changed, name)
		}
	}
	v.kept = sealed
	return changed
}

// Look is a secret as it was kept last; secrets.ErrUnknown: there is none of that name.
func (v *Vault) Look(name string) (secrets.Secret, error) {
	v.mu.Lock()
	sealed, ok := v.kept[name]
	v.mu.Unlock()
	if !ok {
		return "", secrets.ErrUnknown
	}
	return v.Open(sealed)
}

// Seal encrypts a value. The first use in a folder makes the key.
func (v *Vault) Seal(value secrets.Secret) ([]byte, error) {
	switch n := len(value.Reveal()); {
	case n < secrets.MinLength:
		return nil, fmt.Errorf("a secret has at least %d characters; a shorter one could not be hidden, because ordinary words hold it", secrets.MinLength)
	case n > MaxValue:
		return nil, fmt.Errorf("a secret has at most %d KB", MaxValue>>10)
	}
	key, err := v.key(true)
	if err != nil {
		return nil, err
	}
	v.learn(value.Reveal())
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, key.Recipient())
	if err == nil {
		_, err = io.WriteString(w, value.Reveal())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt a secret: %w", err)
	}
	return sealed.Bytes(), nil
}

// Open is the value that was sealed. The error says what to do where the key is missing, is
// another, or can be read by others.
func (v *Vault) Open(sealed []byte) (secrets.Secret, error) {
	key, err := v.key(false)
	if err != nil {
		return "", err
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), key)
	if err != nil {
		return "", fmt.Errorf("it was encrypted with another key than that of %s: put the former key back, or set the secret again (switchboard secret set)", v.where())
	}
	value, err := io.ReadAll(r)
	if err != nil {
		return "", fmt.Errorf("it is damaged in the database (%w): set the secret again (switchboard secret set)", err)
	}
	v.learn(string(value))
	return secrets.Secret(value), nil
}

func (v *Vault) where() string {
	if v.given != "" {
		return Variable
	}
	return v.path
}

func (v *Vault) key(create bool) (*age.X25519Identity, error) {
	text := v.given
	if text == "" {
		var err error
		if text, err = v.read(); errors.Is(err, fs.ErrNotExist) && create {
			text, err = v.create()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("the key %s is not there: put it back (or its text into %s), or set the secrets again (switchboard secret set)", v.path, Variable)
		case err != nil:
			return nil, err
		}
	}
	v.learn(text)
	key, err := age.ParseX25519Identity(strings.TrimSpace(text))
	if err != nil { // what it says is not repeated: it may hold a part of the key
		return nil, fmt.Errorf("%s holds no key: it is one line that begins with AGE-SECRET-KEY-1; put the former key back, or take it away and set the secrets again", v.where())
	}
	return key, nil
}

func (v *Vault) read() (string, error) {
	info, err := os.Stat(v.path)
	if err != nil {
		return "", err
	}
	if others := info.Mode().Perm() & 0o077; others != 0 {
		return "", fmt.Errorf("others than its owner can read the key %s: run chmod 600 %s, and if anybody may have read it, take it away and set the secrets again", v.path, v.path)
	}
	data, err := os.ReadFile(v.path)
	if err != nil {
		return "", fmt.Errorf("read the key of the secrets: %w", err)
	}
	return string(data), nil
}

// create makes the key, unless another process does so at the same time.
func (v *Vault) create() (string, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return "", fmt.Errorf("make the key of the secrets: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(v.path), KeyFile+".*") // mode 0600
	if err == nil {
		defer os.Remove(f.Name())
		_, err = f.WriteString(key.String() + "\n")
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		err = os.Link(f.Name(), v.path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the key of the secrets: %w", err)
	}
	return v.read()
}
