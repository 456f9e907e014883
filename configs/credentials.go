package configs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
)

// credentials reads those that a tree names, and notes where they are kept.
type credentials struct {
	*problems
	mask    *secrets.Masker
	secrets func(name string) (secrets.Secret, error)
	env     variables
	dir     string // of the file: what "file:" paths begin at
	refs    map[string]string
	fresh   map[string]bool // keys that are being changed at run time
}

// written is the text of a credential. A change at run time is kept where people can read it, and
// comes from a chat, which is not to reach files and variables of the machine.
func (c *credentials) written(n *node, key string) (string, bool) {
	s, ok := c.text(n, key)
	switch kept := strings.HasPrefix(s, "env:") || strings.HasPrefix(s, "file:"); {
	case !ok || !n.src.change || s == "" || s == llm.NoKey.Reveal() || strings.HasPrefix(s, "secret:"):
		return s, ok
	case kept && c.fresh[key]:
		c.fault(n.src, key, "env: and file: can be written in the settings file alone; "+setSecret)
	case kept: // of an older build: without it a channel or a model might be lost
		c.warn(n.src, key, "still works, but env: and file: can be written in the settings file alone; "+setSecret)
		return s, ok
	default:
		if !strings.HasPrefix(s, "/") { // which may be a command
			c.mask.Add(secrets.Secret(s))
		}
		c.fault(n.src, key, "a credential would stand readable in the database; "+setSecret)
	}
	return "", false
}

// setSecret says how a credential is set at run time.
const setSecret = "set it with /secret set NAME, at Secrets on the page or with \"switchboard secret set NAME\", and write secret:NAME here"

// maxSecretFile bounds what "file:PATH" reads, in bytes.
const maxSecretFile = 64 << 10

// resolve is the credential that s stands for. A variable that is not set is no
// fault here: whether the credential may be missing is for validate to say.
func (c *credentials) resolve(s string, n *node, key string) string {
	value := c.lookUp(s, n, key)
	if key != "store.url" { // an address, of which the password alone is secret
		c.mask.Add(secrets.Secret(value))
	}
	return value
}

func (c *credentials) lookUp(s string, n *node, key string) string {
	if name, ok := strings.CutPrefix(s, "env:"); ok {
		value := c.env[name]
		c.notes[key], c.refs[key] = s, s
		if value == "" {
			c.notes[key] = "variable " + name + " is not set"
		}
		return value
	}
	if name, ok := strings.CutPrefix(s, "secret:"); ok {
		value, err := c.stored(name, n, key)
		if err != nil {
			c.warn(n.src, key, err.Error())
		}
		return value.Reveal()
	}
	path := c.secretFile(s, key)
	if path == "" {
		return s
	}
	value, err := readSecret(path)
	if err != nil {
		c.fault(n.src, key, "%v", err)
	}
	return value
}

// credential is s as one that is read at each use. That it is missing is no fault:
// what needs it waits for it. Empty says that none is written.
func (c *credentials) credential(s string, n *node, key string) channels.Credential {
	kept := c.kept(s, n, key)
	return channels.NewCredential(func() (secrets.Secret, error) {
		value, err := kept.Read()
		c.mask.Add(value)
		return value, err
	})
}

func (c *credentials) kept(s string, n *node, key string) channels.Credential {
	if name, ok := strings.CutPrefix(s, "env:"); ok {
		value := c.env[name] // the environment of a process stays as it is
		c.notes[key], c.refs[key] = s, s
		return channels.NewCredential(func() (secrets.Secret, error) {
			if value == "" {
				return "", fmt.Errorf("%w: variable %s is not set", channels.ErrNoCredentials, name)
			}
			return secrets.Secret(value), nil
		})
	}
	if name, ok := strings.CutPrefix(s, "secret:"); ok {
		_, _ = c.stored(name, n, key) // where it is unknown, that is a fault; what else is wrong is said at each use
		return channels.NewCredential(func() (secrets.Secret, error) {
			if c.secrets == nil {
				return "", fmt.Errorf("%w: the secret %q is not looked up yet", channels.ErrNoCredentials, name)
			}
			value, err := c.secrets(name) // it may be set again while the program runs
			if err != nil {
				return "", fmt.Errorf("%w: the secret %q cannot be used: %w", channels.ErrNoCredentials, name, err)
			}
			return value, nil
		})
	}
	path := c.secretFile(s, key)
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
func (c *credentials) stored(name string, n *node, key string) (secrets.Secret, error) {
	c.notes[key], c.refs[key] = "secret:"+name, "secret:"+name
	unknown := secrets.Secret(rand.Text())
	switch {
	case key == "store.url":
		c.fault(n.src, key, "cannot be a secret of the encrypted store, which is in the database that it names; use env:NAME or file:PATH")
		return unknown, nil
	case c.secrets == nil:
		return unknown, nil
	}
	value, err := c.secrets(name)
	switch {
	case errors.Is(err, secrets.ErrUnknown):
		c.fault(n.src, key, "there is no secret %q; set it with: switchboard secret set %s", name, name)
		return unknown, nil
	case err != nil:
		return unknown, fmt.Errorf("the secret %q cannot be used: %w", name, err)
	}
	return value, nil
}

// secretFile is the path that "file:PATH" names; empty for a literal.
func (c *credentials) secretFile(s, key string) string {
	path, found := strings.CutPrefix(s, "file:")
	if !found {
		return ""
	}
	c.notes[key] = s
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	if abs, err := filepath.Abs(path); err == nil { // so that people see where it was looked for
		path = abs
	}
	c.refs[key] = "file:" + path
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

// Credentials are those of the adapter's part, by their keys.
func (c Channel) Credentials() map[string]channels.Credential {
	all := map[string]channels.Credential{}
	for key, v := range credentialsOf(c.Adapter) {
		all[key] = v.Interface().(channels.Credential)
	}
	return all
}

// credentialsOf yields the credentials among the keys of an adapter's part.
func credentialsOf(adapter any) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		if adapter == nil {
			return
		}
		v := reflect.ValueOf(adapter).Elem()
		for f := range fieldsOf(v.Type()) {
			if f.typ == reflect.TypeFor[channels.Credential]() && !yield(f.key, v.FieldByIndex(f.index)) {
				return
			}
		}
	}
}

// AddressKey is the key of an adapter's part that says where its platform is.
const AddressKey = "api_url"

// Address is where the platform is: elsewhere is another one, with accounts of its own.
func (c Channel) Address() string {
	address, _ := AddressIn(c.Adapter)
	return address
}

// AddressIn is what an adapter's part has at AddressKey; not settable: it has no such key.
func AddressIn(adapter any) (address string, settable bool) {
	v := reflect.ValueOf(adapter).Elem()
	for f := range fieldsOf(v.Type()) {
		if f.key == AddressKey {
			return v.FieldByIndex(f.index).String(), true
		}
	}
	return "", false
}

// maskCredentials makes known which words within the settings are secret, besides those that
// are so by their type.
func (c *checker) maskCredentials(s *Settings) {
	for _, p := range s.LLM.Providers {
		s.Mask.Add(p.Credentials()...)
	}
	if u, err := url.Parse(s.Store.URL.Reveal()); err == nil {
		if password, ok := u.User.Password(); ok {
			s.Mask.Add(secrets.Secret(password))
		}
	}
}

// misdirected are the addresses, changed at run time, to which a credential of the file or the
// environment would go. A new one is a fault; one of an older build is to be left out.
func (c *checker) misdirected(s *Settings) (stored []string) {
	look := func(table, address string, part reflect.Value) {
		key, touched := dot(table, address), false
		if !c.sources[key].change {
			return
		}
		for fresh := range c.fresh {
			touched = touched || strings.HasPrefix(fresh, table+".")
		}
		for l := range leaves(part, table, false) {
			header := strings.HasPrefix(l.key, table+".headers.")
			secret := header || isSecret(l.value.Type()) || l.value.Type() == reflect.TypeFor[channels.Credential]()
			if !secret || c.sources[l.key].change || c.refs[l.key] == "" && hidden(l) == "" && !header {
				continue
			}
			if !touched {
				stored = append(stored, key)
				return
			}
			c.fault(c.sources[key], key, "%s would go to another address: it is set in the file or the environment, and so is its address", l.key)
		}
	}
	for name, p := range s.LLM.Providers {
		look("llm.providers."+name, "base_url", reflect.ValueOf(p))
	}
	for name, ch := range s.Channels {
		if ch.Adapter != nil {
			look("channels."+name, AddressKey, reflect.ValueOf(ch.Adapter).Elem())
		}
	}
	return stored
}

// keptApart refuses references to what lies in data_dir, such as what the secrets are encrypted with: a
// provider could be sent it.
func (c *checker) keptApart(s *Settings) {
	for key, ref := range c.refs {
		path, isFile := strings.CutPrefix(ref, "file:")
		if isFile && liesIn(s.DataDir, path) || ref == "env:"+vault.Variable {
			c.fault(c.sources[key], key, "lies with the data of the program itself; name a file elsewhere, or set it with \"switchboard secret set NAME\" and write secret:NAME")
		}
	}
}

// liesIn says whether a file lies in a folder, whatever path leads there: links, other mounts, /proc/self/root.
func liesIn(dir, path string) bool {
	if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) {
		return true
	}
	folder, err := os.Stat(dir)
	if err != nil {
		return false // it is not there yet
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, at := range []string{path, real} {
		for up := filepath.Dir(at); up != at; at, up = up, filepath.Dir(up) {
			if info, err := os.Stat(up); err == nil && os.SameFile(info, folder) {
				return true
			}
		}
	}
	file, err := os.Stat(path)
	if err != nil {
		return false
	}
	entries, _ := os.ReadDir(dir) // a hard link has no path in common
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		info, err := e.Info()
		return err == nil && os.SameFile(info, file)
	})
}
