package llm

import (
	"cmp"
	"fmt"
	"strings"
)

// A SetupError says that no call can succeed until somebody changes the settings, the
// provider's account or its server. Reason and Mend are for an administrator to read,
// half a sentence each; they hold no credential and nothing of the provider's words,
// which are in Err beside one of this package's sentinels.
type SetupError struct {
	Reason string // what is wrong
	Fix    string // what to do, naming the setting
	Err    error
}

func (e *SetupError) Error() string { return e.Err.Error() + "; " + e.Fix }
func (e *SetupError) Unwrap() error { return e.Err }

// setup makes a SetupError.
func setup(reason, mend string, err error) error { return &SetupError{reason, mend, err} }

// setKey is how to give the provider a key.
func (p *provider) setKey() string {
	key := "llm.providers." + p.name + ".api_key"
	if variable, ok := strings.CutPrefix(p.keyFrom, "env:"); ok {
		return fmt.Sprintf("set the variable %s (%s) to a valid key", variable, key)
	}
	if path, ok := strings.CutPrefix(p.keyFrom, "file:"); ok {
		return fmt.Sprintf("write a valid key into %s (%s)", path, key)
	}
	if secret, ok := strings.CutPrefix(p.keyFrom, "secret:"); ok {
		return fmt.Sprintf("set the secret %s (%s) to a valid key: switchboard secret set %s", secret, key, secret)
	}
	return "set " + key + " to a valid key"
}

// setModel is where the model's name stands.
func (t target) setModel(role string) string {
	if t.alias != "" {
		return "llm.models." + t.alias + ".model"
	}
	return cmp.Or(t.provider.named[t.provider.name+"/"+t.id], "agent."+role)
}
