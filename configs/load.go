package configs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
)

// Options say where the settings come from besides the file.
type Options struct {
	// File is what --config names; empty: looked for.
	File string
	// Env is the environment, as os.Environ gives it.
	Env []string
	// Changes are what was changed at run time, above the file and below the environment: keys as
	// in the file ("router.workers"), with values as the environment takes them.
	Changes map[string]string
	// DataDir is what --data names; it overrides file and environment.
	DataDir string
	// LogLevel is what --log-level names; it overrides file and environment.
	LogLevel string
	// Kinds are the kinds of channel in this build.
	Kinds channels.Kinds
	// Dir is where relative paths of the command line begin and ./switchboard.toml
	// is looked for; empty: the working folder.
	Dir string
	// Secrets looks up what "secret:NAME" names. secrets.ErrUnknown is a fault of the settings; with
	// any other error the credential is missing, with a warning. Nil: none is looked up yet, and
	// each stands for something that nobody knows.
	Secrets func(name string) (secrets.Secret, error)
	// Mask learns the credentials that are read; nil: a new one does.
	Mask *secrets.Masker
	// Vault has the secrets that are set at run time; nil: a new one does.
	Vault *vault.Vault

	fresh map[string]bool // keys of Changes, or taken out of them, that are new with this load
}

// maxFile bounds a settings file, in bytes.
const maxFile = 1 << 20

// Load reads the settings: defaults, then the file, then what was changed at run time, then
// the environment, then the command line. The file is the first of Options.File, $SWITCHBOARD_CONFIG,
// ./switchboard.toml and the one in the OS configuration folder; the first two
// must exist, and to have none is fine. An error is a Faults with everything
// that is wrong, except where the file cannot be read at all. Load creates
// nothing.
func Load(opts Options) (*Settings, []Warning, error) {
	env := newVariables(opts.Env)
	path, err := find(opts, env)
	if err != nil {
		return nil, nil, err
	}
	var data []byte
	if path != "" {
		if data, err = readFile(path); err != nil {
			return nil, nil, err
		}
	}
	return load(opts, env, path, data)
}

// Parse is Load of text as if it stood in the file Options.File names, which need not be there.
func Parse(opts Options, text string) (*Settings, []Warning, error) {
	return load(opts, newVariables(opts.Env), below(opts.Dir, opts.File), []byte(text))
}

func load(opts Options, env variables, path string, data []byte) (*Settings, []Warning, error) {
	root, faults := read(path, data)
	s := Defaults()
	s.File, s.Mask = path, opts.Mask
	if s.Mask == nil {
		s.Mask = secrets.NewMasker()
	}
	b := &binder{
		mask: s.Mask, secrets: opts.Secrets, env: env, dir: filepath.Dir(path), kinds: opts.Kinds, faults: faults, fresh: opts.fresh,
		sources: map[string]source{}, notes: map[string]string{}, refs: map[string]string{},
	}
	if len(faults) > 0 {
		return nil, nil, sorted(faults) // the rest would be guesses
	}
	b.changes(root, opts.Changes)
	b.overlay(root)
	b.fromTokens(root)
	if opts.DataDir != "" {
		b.plant(root, []string{"data_dir"}, &node{kind: word, text: opts.DataDir, src: source{flag: "--data"}})
	}
	if opts.LogLevel != "" {
		b.plant(root, []string{"log", "level"}, &node{kind: word, text: opts.LogLevel, src: source{flag: "--log-level"}})
	}
	b.defaultKey(s)
	b.bindStruct(root, "", reflect.ValueOf(s).Elem())
	if stored := b.misdirected(s); len(stored) > 0 {
		return loadWithout(stored, opts, s.Mask, env, path, data)
	}
	b.dataDir(s, opts.Dir)
	b.keptApart(s)
	if s.Vault = opts.Vault; s.Vault == nil {
		s.Vault = vault.New(s.DataDir, env[vault.Variable], b.mask)
	}
	s.sources, s.notes, s.refs = b.sources, b.notes, b.refs
	s.opts, s.text = opts, data
	s.opts.fresh = nil
	b.maskCredentials(s)
	b.validate(s)
	b.strayVariables(s)
	if len(b.faults) > 0 {
		return nil, b.unsaid(), sorted(b.faults)
	}
	b.later(s)
	return s, b.warns, nil
}

// loadWithout is load with some run-time changes of addresses left out.
func loadWithout(keys []string, opts Options, mask *secrets.Masker, env variables, path string, data []byte) (*Settings, []Warning, error) {
	opts.Changes, opts.Mask = maps.Clone(opts.Changes), mask
	for _, key := range keys {
		delete(opts.Changes, key)
	}
	s, warns, err := load(opts, env, path, data)
	for _, key := range keys {
		warns = append(warns, Warning{
			Source: source{change: true}.String(), Key: key,
			Text: "has no effect: a credential of the file or the environment goes to the address that is set there alone; write the address in the file",
		})
	}
	return s, warns, err
}

// defaultKey gives the default provider its key from the environment.
func (b *binder) defaultKey(s *Settings) {
	p := s.LLM.Providers[openRouter]
	key := "llm.providers." + openRouter + ".api_key"
	reflect.ValueOf(&p.APIKey).Elem().SetString(b.resolve(openRouterKey, &node{}, key))
	s.LLM.Providers[openRouter] = p
}

// maskCredentials makes known which words within the settings are secret, besides those that
// are so by their type.
func (b *binder) maskCredentials(s *Settings) {
	for _, p := range s.LLM.Providers {
		b.mask.Add(p.Credentials()...)
	}
	if u, err := url.Parse(s.Store.URL.Reveal()); err == nil {
		if password, ok := u.User.Password(); ok {
			b.mask.Add(secrets.Secret(password))
		}
	}
}

// find is the settings file; "" when there is none.
func find(opts Options, env variables) (string, error) {
	for _, given := range []struct{ path, by string }{
		{opts.File, "--config"}, {env["SWITCHBOARD_CONFIG"], "SWITCHBOARD_CONFIG"},
	} {
		if given.path == "" {
			continue
		}
		path := below(opts.Dir, given.path)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w (write one with: switchboard init)", given.by, err)
		}
		return path, nil
	}
	places := []string{below(opts.Dir, "switchboard.toml")}
	if dir := configDir(env); dir != "" {
		places = append(places, filepath.Join(dir, "switchboard", "switchboard.toml"))
	}
	for _, path := range places {
		_, err := os.Stat(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err // there is one, perhaps, and running without it would surprise
		}
	}
	return "", nil
}

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // to open a pipe would wait for whoever writes into it
		return nil, fmt.Errorf("%s: is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: is larger than 1MB; this is no settings file", path)
	}
	return data, nil
}

// configDir is os.UserConfigDir over the given environment.
func configDir(env variables) string {
	return osDir(env, "XDG_CONFIG_HOME", ".config")
}

// osDir is the user's folder for configuration or data; "" when it is unknown.
func osDir(env variables, xdg, unix string) string {
	home := env["HOME"]
	switch runtime.GOOS {
	case "windows":
		return env["AppData"]
	case "darwin":
		if home != "" {
			return filepath.Join(home, "Library", "Application Support")
		}
		return ""
	}
	if dir := env[xdg]; filepath.IsAbs(dir) { // relative ones are to be ignored, says the XDG specification
		return dir
	}
	if home != "" {
		return filepath.Join(home, unix)
	}
	return ""
}

// defaultDataDir is the folder for data where none is set; "" when it is unknown.
func defaultDataDir(env variables) string {
	base := osDir(env, "XDG_DATA_HOME", filepath.Join(".local", "share"))
	if base == "" {
		return ""
	}
	return filepath.Join(base, "switchboard")
}

// dataDir makes Settings.DataDir absolute: a path in the file begins at the
// file's folder, any other at the working folder.
func (b *binder) dataDir(s *Settings, dir string) {
	src := b.sources["data_dir"]
	switch {
	case s.DataDir == "":
		if s.DataDir = defaultDataDir(b.env); s.DataDir == "" {
			b.fault(src, "data_dir", "there is no home folder to put it in; set data_dir or --data")
			return
		}
		delete(b.sources, "data_dir")
	case strings.HasPrefix(s.DataDir, "~"):
		b.fault(src, "data_dir", "~ is not expanded here; write the whole path")
		return
	case strings.HasPrefix(s.DataDir, "secret:"):
		b.fault(src, "data_dir", "cannot be a secret: the key of the secrets is in it")
		return
	case strings.ContainsRune(s.DataDir, 0):
		b.fault(src, "data_dir", "holds a zero byte")
		return
	case src.file != "":
		s.DataDir = below(b.dir, s.DataDir)
	default:
		s.DataDir = below(dir, s.DataDir)
	}
	abs, err := filepath.Abs(s.DataDir)
	if err != nil {
		b.fault(src, "data_dir", "%v", err)
		return
	}
	s.DataDir = abs
}

// MakeDataDir creates DataDir where it is missing, for its owner alone (0700).
func (s *Settings) MakeDataDir() error {
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data_dir: %w (set data_dir or --data to a folder you may write)", err)
	}
	return nil
}
