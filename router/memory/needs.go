// Package memory has what people do with what is remembered: the one gate that everything passes before it is kept, the commands
// /memory, /remember, /learn, /rules, /forget and /private, what stands behind the tools memory.*, and what a turn is told.
//
// Kinds, scopes and how something is found again are agent/memory's, the rows store/memory's.
package memory

import (
	"context"

	"switchboard/agent/memory"
	"switchboard/channels"
	"switchboard/router/core"
)

// A Store has what is remembered. Implemented by store.
type Store interface {
	memory.Finds
	RecordStore
	// MemoryPlace is where a person speaks in a conversation, of which no more than its ID need be known.
	MemoryPlace(ctx context.Context, conv channels.Conversation, person string) (memory.Place, error)
	// Memories lists what fits a filter, the newest first.
	Memories(ctx context.Context, f Filter) ([]memory.Entry, error)
	// LastAnswer is our last message in a session before a turn, 0: of all, and of which turn it is; empty: there is none since the
	// last reset.
	LastAnswer(ctx context.Context, session string, turn int64) (text string, of int64, err error)
	// Summaries lists those of sessions by the Scopes, Person and Limit of a filter, those used last first.
	Summaries(ctx context.Context, f Filter) ([]Summary, error)
	// StandingMemories are preferences, rules and open questions that hold at a place, and rules that did; recalls says whether the
	// person wants more than the rules of every prompt.
	StandingMemories(ctx context.Context, at memory.Place, minConfidence float64) (known memory.Known, recalls bool, err error)
	// MemoriesUsed notes that some stand in a prompt, once a day.
	MemoriesUsed(ctx context.Context, ids []int64) error
	// MemorySettings are those of a person.
	MemorySettings(ctx context.Context, person string) (Settings, error)
}

// A Changer makes changes, with their audit rows.
type Changer func(ctx context.Context, change core.Change, by core.Actor) error

// A Filter says which memories; its zero value: all that are active.
type Filter struct {
	Scopes []memory.Scope // nil: any
	Kinds  []memory.Kind  // nil: any
	IDs    []int64        // nil: any
	Person string         // who said it; empty: anybody
	All    bool           // also what is archived, or waits
	Before int64          // only those with a lower number; 0: from the newest
	Limit  int            // 0: 1000
}

// Settings are what a person set of what is remembered of them. Defaults has those of who set nothing.
type Settings struct {
	Learning bool     `json:"learning"`
	Recall   bool     `json:"recall"`
	Expire   int64    `json:"expire_after"` // days; 0: as the settings of the program say
	Denied   []string `json:"denied_categories"`
}

// Defaults are the settings of who set nothing.
func Defaults() Settings { return Settings{Learning: true, Recall: true} }
