// Package settings has the versions of the settings and the secrets that are kept encrypted.
package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
)

// secretSet stands in the differences of a version of the settings that sets a secret, before its name.
const secretSet = "secret "

// ConfirmWithin is how long a change that could lock out who asks for it counts unconfirmed.
const ConfirmWithin = time.Minute

// A Version is the layer of settings that were changed at run time, as it is after one
// change of it.
type Version struct {
	ID     int64             `json:"id"`   // 0: nothing was ever changed
	Base   int64             `json:"base"` // the version that it was made of
	Values map[string]string `json:"-"`    // the whole layer: dotted key → text, as the environment would have it
	Diff   []Diff            `json:"diff"` // to Base, by key
	Undoes int64             `json:"undoes,omitempty"`
	Person string            `json:"person"`
	At     time.Time         `json:"at"`
	// ConfirmBy is until when its person has to confirm it in Conversation, by the database's clock;
	// zero: it needs no confirmation.
	ConfirmBy    time.Time     `json:"confirm_by,omitzero"`
	Conversation string        `json:"conversation,omitempty"`
	Confirmed    bool          `json:"confirmed,omitempty"`
	Lapsed       bool          `json:"lapsed,omitempty"` // it counts no longer
	Left         time.Duration `json:"-"`                // until ConfirmBy, as it was read; 0: it does not wait
	// Question is the message of ours in Conversation whose buttons ended with this change of the
	// version; 0: there is none.
	Question int64 `json:"-"`
}

// Waiting says that the version counts only until ConfirmBy, unless it is confirmed.
func (v *Version) Waiting() bool { return v.Left > 0 }

// Asked is the direct chat in which the version was asked for, as far as its key says; no channel:
// on the machine.
func (v *Version) Asked() channels.Conversation {
	asked := core.OfSession(v.Conversation)
	asked.Kind = channels.Direct
	return asked
}

// ConfirmCommand is the command of the button that confirms the version.
func (v *Version) ConfirmCommand() string { return fmt.Sprintf("config confirm %d", v.ID) }

// Secret is the name of the secret that the version set, in place of settings; empty: it set these.
func (v *Version) Secret() string {
	if len(v.Diff) != 1 {
		return ""
	}
	name, _ := strings.CutPrefix(v.Diff[0].Key, secretSet)
	if name == v.Diff[0].Key {
		return ""
	}
	return name
}

// SecretSet is the difference of a version that sets a secret. No value is in it.
func SecretSet(name string) []Diff { return []Diff{{Key: secretSet + name}} }

// Keys are those that the version changed, with commas between.
func (v *Version) Keys() string { return keysOf(v.Diff) }

// A Diff is what a version changed of one key. Nil: the layer does not have it.
type Diff struct {
	Key string  `json:"key"`
	Was *string `json:"was"`
	Is  *string `json:"is"`
}

// Compare is what differs in two layers, by key.
func Compare(was, is map[string]string) (diff []Diff) {
	at := func(layer map[string]string, key string) *string {
		if text, set := layer[key]; set {
			return &text
		}
		return nil
	}
	keys := slices.Sorted(maps.Keys(was))
	keys = slices.AppendSeq(keys, maps.Keys(is))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if d := (Diff{key, at(was, key), at(is, key)}); !same(d.Was, d.Is) {
			diff = append(diff, d)
		}
	}
	return diff
}

func same(a, b *string) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// Undo is what has to be set and unset in a layer for the version's keys to be as they were
// before it. Changed are those that a later version changed again, for which nothing can be said.
func (v *Version) Undo(layer map[string]string) (set map[string]string, unset, changed []string) {
	set = map[string]string{}
	for _, d := range v.Diff {
		now, there := layer[d.Key]
		switch {
		case there != (d.Is != nil), there && now != *d.Is:
			changed = append(changed, d.Key)
		case d.Was != nil:
			set[d.Key] = *d.Was
		default:
			unset = append(unset, d.Key)
		}
	}
	return set, unset, changed
}

// Standing is the newest of versions, given newest first, that makes a change of settings which nothing
// has taken back; nil: there is none. One that takes back another is no change of its own, and one
// that takes back an undo brings back what that took.
func Standing(list []Version) *Version {
	undone := map[int64]bool{}
	for i := range list {
		switch v := &list[i]; {
		case undone[v.ID], v.Secret() != "":
		case v.Undoes == 0:
			return v
		default:
			undone[v.Undoes] = true
		}
	}
	return nil
}

// A Change makes a version of the settings, or decides about the one that waits.
type Change struct {
	Kind ChangeKind
	// ID (ConfirmSettings, TakeBackSettings) is the version that is meant; 0: whichever waits.
	ID int64
	// SetSettings: Base is the version that it was made of, Values the whole layer after it, and
	// Undoes the version that it takes back, if it does. ConfirmWithin is for how long it counts
	// unless it is confirmed from Conversation; 0: it needs no confirmation.
	Base          int64
	Values        map[string]string
	Undoes        int64
	ConfirmWithin time.Duration
	Conversation  string // a session's key; empty: the machine that the program runs on
	// Counting (ConfirmSettings) is the version by which the program goes: only what counts already
	// shows that nobody is locked out by it.
	Counting int64
	// Version is filled in: the one that was made, confirmed or taken back.
	Version *Version
}

// A ChangeKind is what a Change does.
type ChangeKind string

const (
	Set     ChangeKind = "set"
	Confirm ChangeKind = "confirm"   // the version that waits; by its person, in its conversation
	Revert  ChangeKind = "take_back" // the version that waits, before its time is over
)

// Names implements Change.
func (c *Change) Names() (action, target string) {
	target = "settings"
	if v := c.Version; v != nil {
		target = "settings " + cmp.Or(v.Keys(), "as they were")
	}
	return "config." + string(c.Kind), target
}

func keysOf(diff []Diff) string {
	keys := make([]string, len(diff))
	for i, d := range diff {
		keys[i] = d.Key
	}
	return strings.Join(keys, ", ")
}

// A FileChange notes what an engine goes by because its settings file has it so now. No
// credential is in it.
type FileChange struct {
	File string
	Diff []Diff
}

// Names implements Change.
func (c *FileChange) Names() (action, target string) {
	return "config.file", "settings " + keysOf(c.Diff)
}
