package configs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

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
	if len(faults) > 0 {
		return nil, nil, sorted(faults) // the rest would be guesses
	}
	p := &problems{sources: map[string]source{}, notes: map[string]string{}}
	l := &layers{p, root, env}
	l.changes(opts.Changes)
	l.overlay()
	l.fromTokens(opts.Kinds)
	if opts.DataDir != "" {
		l.plant([]string{"data_dir"}, &node{kind: word, text: opts.DataDir, src: source{flag: "--data"}})
	}
	if opts.LogLevel != "" {
		l.plant([]string{"log", "level"}, &node{kind: word, text: opts.LogLevel, src: source{flag: "--log-level"}})
	}
	kept := &credentials{problems: p, mask: s.Mask, secrets: opts.Secrets, env: env, dir: filepath.Dir(path), refs: map[string]string{}, fresh: opts.fresh}
	open := s.LLM.Providers[openRouter] // it has its key from the environment
	reflect.ValueOf(&open.APIKey).Elem().SetString(kept.resolve(openRouterKey, &node{}, "llm.providers."+openRouter+".api_key"))
	s.LLM.Providers[openRouter] = open
	b := &binder{problems: p, credentials: kept, kinds: opts.Kinds}
	b.bindStruct(root, "", reflect.ValueOf(s).Elem())
	c := &checker{p, env, kept.refs, opts.fresh, b.tables}
	if stored := c.misdirected(s); len(stored) > 0 {
		return loadWithout(stored, opts, s.Mask, env, path, data)
	}
	c.dataDir(s, opts.Dir)
	c.keptApart(s)
	if s.Vault = opts.Vault; s.Vault == nil {
		s.Vault = vault.New(s.DataDir, env[vault.Variable], s.Mask)
	}
	s.sources, s.notes, s.refs = p.sources, p.notes, kept.refs
	s.opts, s.text = opts, data
	s.opts.fresh = nil
	c.maskCredentials(s)
	c.validate(s)
	c.strayVariables(s)
	if len(p.faults) > 0 {
		return nil, p.unsaid(), sorted(p.faults)
	}
	c.later(s)
	return s, p.warns, nil
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
	if dir := osDir(env, "XDG_CONFIG_HOME", ".config"); dir != "" {
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
