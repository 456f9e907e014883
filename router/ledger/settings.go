package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// A SettingsVersion is the layer of settings that were changed at run time, as it is after one
// change of it.
type SettingsVersion struct {
	ID     int64             `json:"id"`   // 0: nothing was ever changed
	Base   int64             `json:"base"` // the version that it was made of
	Values map[string]string `json:"-"`    // the whole layer: dotted key → text, as the environment would have it
	Diff   []SettingsDiff    `json:"diff"` // to Base, by key
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
}

// Waiting says that the version counts only until ConfirmBy, unless it is confirmed.
func (v *SettingsVersion) Waiting() bool { return v.Left > 0 }

// Keys are those that the version changed, with commas between.
func (v *SettingsVersion) Keys() string { return keysOf(v.Diff) }

// A SettingsDiff is what a version changed of one key. Nil: the layer does not have it.
type SettingsDiff struct {
	Key string  `json:"key"`
	Was *string `json:"was"`
	Is  *string `json:"is"`
}

// DiffSettings is what differs in two layers, by key.
func DiffSettings(was, is map[string]string) (diff []SettingsDiff) {
	at := func(layer map[string]string, key string) *string {
		if text, set := layer[key]; set {
			return &text
		}
		return nil
	}
	all := maps.Clone(was)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, is)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if d := (SettingsDiff{key, at(was, key), at(is, key)}); !same(d.Was, d.Is) {
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
func (v *SettingsVersion) Undo(layer map[string]string) (set map[string]string, unset, changed []string) {
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

// A SettingsChange makes a version of the settings, or decides about the one that waits.
type SettingsChange struct {
	Kind SettingsChangeKind
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
	Version *SettingsVersion
}

// A SettingsChangeKind is what a SettingsChange does.
type SettingsChangeKind string

const (
	SetSettings      SettingsChangeKind = "set"
	ConfirmSettings  SettingsChangeKind = "confirm"   // the version that waits; by its person, in its conversation
	TakeBackSettings SettingsChangeKind = "take_back" // the version that waits, before its time is over
)

// Names implements Change.
func (c *SettingsChange) Names() (action, target string) {
	target = "settings"
	if v := c.Version; v != nil {
		target = "settings " + cmp.Or(v.Keys(), "as they were")
	}
	return "config." + string(c.Kind), target
}

func keysOf(diff []SettingsDiff) string {
	keys := make([]string, len(diff))
	for i, d := range diff {
		keys[i] = d.Key
	}
	return strings.Join(keys, ", ")
}

// A SettingsFileChange notes what an engine goes by because its settings file has it so now. No
// credential is in it.
type SettingsFileChange struct {
	File string
	Diff []SettingsDiff
}

// Names implements Change.
func (c *SettingsFileChange) Names() (action, target string) {
	return "config.file", "settings " + keysOf(c.Diff)
}
