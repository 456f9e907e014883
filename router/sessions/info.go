package sessions

import (
	"fmt"
	"time"

	"switchboard/channels"
)

// An Info is what is known of a session, for people and programs to read.
type Info struct {
	Session   string    `json:"session"` // its key, "channel:conversation"
	Person    string    `json:"person"`  // who wrote there last; empty: a group's
	Title     string    `json:"title"`
	Mode      string    `json:"mode,omitempty"`  // empty: the settings'
	Model     string    `json:"model,omitempty"` // the same
	LastEvent int64     `json:"last_event"`      // 0: nothing happened yet
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at"`
	// FirstEvent is the oldest event that is kept; where none is, the next one.
	FirstEvent int64 `json:"-"`
	// Deleted: all that was said was taken out, and nothing has been said since.
	Deleted bool `json:"-"`
}

// A Look is an admin's reading of what somebody else said, which is nothing but noted.
type Look struct {
	Session string // its key
	Person  string // whose it is
}

// Names implements core.Change.
func (l *Look) Names() (action, target string) { return "session.read", "session " + l.Session }

// Whose says of whom something is listed.
type Whose struct {
	People []string // empty: everybody whose role is user
	All    bool     // everybody, and what is nobody's
}

// A Query asks for sessions, those that were used last first.
type Query struct {
	Whose
	Channel string // empty: any
	Text    string // in the title or a message, in any case of letters; empty: anything
	// Before is where the page before ended; zero: the first page.
	Before Mark
	Limit  int
}

// A Mark is a place in the list of sessions.
type Mark struct {
	UsedAt, ID int64
}

// Cursor is a place as clients are given it; of nil it is empty.
func (m *Mark) Cursor() string {
	if m == nil {
		return ""
	}
	return fmt.Sprint(m.UsedAt, ".", m.ID)
}

// ReadMark reads a cursor.
func ReadMark(cursor string) (m Mark, err error) {
	if cursor != "" {
		_, err = fmt.Sscanf(cursor, "%d.%d", &m.UsedAt, &m.ID)
	}
	return m, err
}

// A Wrote is a message that somebody wrote.
type Wrote struct {
	ID    channels.MessageID // that it was handed in with
	State string             // of its turn; empty: it has none
}

// A Reading is how far a person has read a session.
type Reading struct {
	Event  int64 // 0: nothing
	Pinned bool  // they keep it on top
}
