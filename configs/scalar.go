package configs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/secrets"
)

func (b *binder) text(n *node, key string) (string, bool) {
	if n.kind != text && n.kind != word {
		b.mismatch(n, key, "text in quotes")
		return "", false
	}
	return n.text, true
}

func (b *binder) bindScalar(v reflect.Value, n *node, key string) {
	switch v.Kind() {
	case reflect.String:
		if s, ok := b.text(n, key); ok {
			v.SetString(s)
		}
	case reflect.Bool:
		yes := strings.EqualFold(n.text, "true")
		if n.kind != boolean && n.kind != word || !yes && !strings.EqualFold(n.text, "false") {
			b.mismatch(n, key, "true or false")
			return
		}
		v.SetBool(yes)
	case reflect.Int, reflect.Int64:
		base := 10
		if n.kind == number {
			base = 0 // as written: 0x, 0o and 0b are TOML
		}
		i, err := strconv.ParseInt(digits(n), base, 64)
		switch {
		case n.kind != number && n.kind != word, err != nil && !errors.Is(err, strconv.ErrRange):
			b.mismatch(n, key, "a whole number")
		case err != nil || v.OverflowInt(i):
			b.fault(n.src, key, "%s is too large", n.text)
		default:
			v.SetInt(i)
		}
	case reflect.Float64:
		f, err := strconv.ParseFloat(digits(n), 64)
		if n.kind != number && n.kind != decimal && n.kind != word || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			b.mismatch(n, key, "a number")
			return
		}
		v.SetFloat(f)
	default:
		b.fault(n.src, key, "cannot be set (%s)", v.Type())
	}
}

// digits is a number without the underscores TOML allows in it.
func digits(n *node) string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(n.text), "+"), "_", "")
}

func (b *binder) bindDuration(v reflect.Value, n *node, key string) {
	d, err := time.ParseDuration(strings.TrimSpace(n.text))
	if n.kind != text && n.kind != word || err != nil {
		b.mismatch(n, key, `a duration such as "30s", "5m" or "2h"`)
		return
	}
	v.SetInt(int64(d))
}

func (b *binder) bindSize(v reflect.Value, n *node, key string) {
	size, ok := parseSize(digits(n))
	if n.kind != text && n.kind != word && n.kind != number || !ok {
		b.mismatch(n, key, `a size such as "25MB", "64KB" or a number of bytes`)
		return
	}
	v.SetInt(size)
}

var units = []struct {
	name  string
	bytes int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}, {"", 1}}

// parseSize reads bytes; a KB is 1024 of them.
func parseSize(s string) (int64, bool) {
	s = strings.ToUpper(strings.TrimSpace(s))
	for _, u := range units {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return n * u.bytes, err == nil && n >= 0 && n <= math.MaxInt64/u.bytes
		}
	}
	return 0, false
}

// formatSize is the shortest text that parseSize reads as n.
func formatSize(n int64) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 && u.bytes > 1 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// formatDuration is d without the zeros that time.Duration writes.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// maxSecretFile bounds what "file:PATH" reads, in bytes.
const maxSecretFile = 64 << 10

// resolve is the credential that s stands for. A variable that is not set is no
// fault here: whether the credential may be missing is for validate to say.
func (b *binder) resolve(s string, n *node, key string) string {
	value := b.lookUp(s, n, key)
	if key != "store.url" { // an address, of which the password alone is secret
		b.mask.Add(secrets.Secret(value))
	}
	return value
}

func (b *binder) lookUp(s string, n *node, key string) string {
	if name, ok := strings.CutPrefix(s, "env:"); ok {
		value := b.env[name]
		b.notes[key], b.refs[key] = s, s
		if value == "" {
			b.notes[key] = "variable " + name + " is not set"
		}
		return value
	}
	if name, ok := strings.CutPrefix(s, "secret:"); ok {
		value, err := b.stored(name, n, key)
		if err != nil {
			b.warn(n.src, key, err.Error())
		}
		return value.Reveal()
	}
	path := b.secretFile(s, key)
	if path == "" {
		return s
	}
	value, err := readSecret(path)
	if err != nil {
		b.fault(n.src, key, "%v", err)
	}
	return value
}

// credential is s as one that is read at each use. That it is missing is no fault:
// what needs it waits for it. Empty says that none is written.
func (b *binder) credential(s string, n *node, key string) channels.Credential {
	kept := b.kept(s, n, key)
	return channels.NewCredential(func() (secrets.Secret, error) {
		value, err := kept.Read()
		b.mask.Add(value)
		return value, err
	})
}

func (b *binder) kept(s string, n *node, key string) channels.Credential {
	if name, ok := strings.CutPrefix(s, "env:"); ok {
		value := b.env[name] // the environment of a process stays as it is
		b.notes[key], b.refs[key] = s, s
		return channels.NewCredential(func() (secrets.Secret, error) {
			if value == "" {
				return "", fmt.Errorf("%w: variable %s is not set", channels.ErrNoCredentials, name)
			}
			return secrets.Secret(value), nil
		})
	}
	if name, ok := strings.CutPrefix(s, "secret:"); ok {
		_, _ = b.stored(name, n, key) // where it is unknown, that is a fault; what else is wrong is said at each use
		return channels.NewCredential(func() (secrets.Secret, error) {
			if b.secrets == nil {
				return "", fmt.Errorf("%w: the secret %q is not looked up yet", channels.ErrNoCredentials, name)
			}
			value, err := b.secrets(name) // it may be set anew while the program runs
			if err != nil {
				return "", fmt.Errorf("%w: the secret %q cannot be used: %w", channels.ErrNoCredentials, name, err)
			}
			return value, nil
		})
	}
	path := b.secretFile(s, key)
	return channels.NewCredential(func() (secrets.Secret, error) {
		if s == "" {
			name := key[strings.LastIndexByte(key, '.')+1:]
			return "", fmt.Errorf("%w: write %s = \"env:NAME\" with that variable set, or %s = \"file:PATH\"", channels.ErrNoCredentials, name, name)
		}
		if path == "" {
			return secrets.Secret(s), nil
		}
		value, err := readSecret(path)
		if err == nil && value == "" {
			err = fmt.Errorf("%s is empty", path)
		}
		if err != nil {
			return "", fmt.Errorf("%w: %w", channels.ErrNoCredentials, err)
		}
		return secrets.Secret(value), nil
	})
}

// stored is a secret of the encrypted store. With an error, and where nothing is looked up
// yet, it is a value that nobody knows: what it should open stays closed, and the rest goes on.
func (b *binder) stored(name string, n *node, key string) (secrets.Secret, error) {
	b.notes[key], b.refs[key] = "secret:"+name, "secret:"+name
	unknown := secrets.Secret(rand.Text())
	switch {
	case key == "store.url":
		b.fault(n.src, key, "cannot be a secret of the encrypted store, which is in the database that it names; use env:NAME or file:PATH")
		return unknown, nil
	case b.secrets == nil:
		return unknown, nil
	}
	value, err := b.secrets(name)
	switch {
	case errors.Is(err, secrets.ErrUnknown):
		b.fault(n.src, key, "there is no secret %q; set it with: switchboard secret set %s", name, name)
		return unknown, nil
	case err != nil:
		return unknown, fmt.Errorf("the secret %q cannot be used: %w", name, err)
	}
	return value, nil
}

// secretFile is the path that "file:PATH" names; empty for a literal.
func (b *binder) secretFile(s, key string) string {
	path, found := strings.CutPrefix(s, "file:")
	if !found {
		return ""
	}
	b.notes[key] = s
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.dir, path)
	}
	if abs, err := filepath.Abs(path); err == nil { // so that people see where it was looked for
		path = abs
	}
	b.refs[key] = "file:" + path
	return path
}

// readSecret reads a credential's file, without line breaks at its end.
func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no file %s", path)
	case err != nil:
		return "", fmt.Errorf("the credential cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file", path)
	case info.Size() > maxSecretFile:
		return "", fmt.Errorf("%s is larger than a credential (64KB)", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the credential cannot be read: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
