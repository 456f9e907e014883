// Package memory knows what the bot remembers of people and places: what kinds of memories there are, where each surfaces, and
// how one is found again by its words. What is written down, and by whose right, is router/memory's.
package memory

import (
	"fmt"
	"strings"
	"time"

	"switchboard/agent/tools"
)

// A Kind says what a memory is.
type Kind string

// The kinds.
const (
	Fact       Kind = "fact"
	Preference Kind = "preference" // has a category and a key, of which the newest counts
	Rule       Kind = "rule"       // has a category: how to answer, or to work
	Question   Kind = "question"   // to be put to its person
	Learning   Kind = "learning"   // what a review or a look taught; the curator decides about it
)

// A Scope says where a memory surfaces.
type Scope string

// Global is everywhere.
const Global Scope = "global"

// OfPerson is what somebody said in a direct chat: it surfaces in their own direct chats, whatever the channel, and in no group.
func OfPerson(name string) Scope { return Scope("person:" + name) }

// OfGroup is what was said in a group, its threads and topics: it surfaces there alone. place is channels.Conversation.Place.
func OfGroup(channel, place string) Scope { return Scope("group:" + channel + ":" + place) }

// OfSession is what surfaces in one session alone.
func OfSession(id int64) Scope { return Scope(fmt.Sprintf("session:%d", id)) }

// others says that what somebody said and has the scope is another's word for a person: what was said where others take part, and not by
// them. What is everybody's is an admin's word.
func (s Scope) others(said, person string) bool {
	return s != Global && s != OfPerson(person) && (said == "" || said != person)
}

// MaxTokens bounds the text of one memory, as llm.Tokens counts.
const MaxTokens = 512

// An Entry is a memory.
type Entry struct {
	ID         int64       `json:"id,string"`
	Kind       Kind        `json:"kind"`
	Scope      Scope       `json:"scope"`
	Category   string      `json:"category,omitempty"` // of a preference or a rule
	Key        string      `json:"key,omitempty"`      // of a preference
	Text       string      `json:"text"`
	State      string      `json:"state"`
	Outcome    string      `json:"outcome,omitempty"` // why it is in that state
	Person     string      `json:"person"`            // who said it; empty: nobody we know
	Source     string      `json:"source"`            // how: said, command, review, rest, curator, answer, merge, import
	Session    string      `json:"session,omitempty"` // where: the session's key; empty: in none that is there
	Turn       int64       `json:"turn,string,omitempty"`
	Confidence float64     `json:"confidence"`
	Taint      tools.Taint `json:"taint,omitempty"`
	Kept       bool        `json:"kept"`                        // it does not age
	Always     bool        `json:"always"`                      // a rule in every prompt
	AskedTurn  int64       `json:"asked_turn,string,omitempty"` // of a question, the turn that put it; 0: none did
	CreatedAt  time.Time   `json:"created_at"`
	UpdatedAt  time.Time   `json:"updated_at"`
	UsedAt     time.Time   `json:"used_at,omitzero"`    // zero: never
	ExpiresAt  time.Time   `json:"expires_at,omitzero"` // zero: never
}

// Named is the text with what it is called.
func (e *Entry) Named() string {
	if e.Key == "" {
		return e.Text
	}
	return e.Category + ", " + e.Key + ": " + e.Text
}

// TaintFor is the taint of the memory in what is done for a person: what others said taints. A rule is an admin's outside of their own chats.
func (e *Entry) TaintFor(person string) tools.Taint {
	rule := e.Kind == Rule && !strings.HasPrefix(string(e.Scope), "person:")
	return e.Taint.JoinIf(!rule && e.Scope.others(e.Person, person), tools.Others)
}

// ByPerson are parts of a list, one of each person, in the order in which people come first.
func ByPerson[T any](list []T, person func(T) string) (parts [][]T) {
	at := map[string]int{}
	for _, one := range list {
		i, known := at[person(one)]
		if !known {
			i = len(parts)
			at[person(one)], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], one)
	}
	return parts
}
