package channels

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"
)

// A ConversationID names where messages go on a channel: a direct chat, a group,
// or a thread in one. Unique within its channel; only the adapter that made it
// may parse it.
type ConversationID string

// A MessageID is the platform's own ID of a message, unique within its
// conversation; only the adapter that made it may parse it.
type MessageID string

// An EventKey names one thing a platform told us: bot account + conversation +
// message ID for a new message; that + kind + revision or callback ID for
// anything else. The same thing has the same key, however it came.
type EventKey string

// A ConversationKind says who can read along.
type ConversationKind string

const (
	Direct ConversationKind = "direct" // one person and the bot
	Group  ConversationKind = "group"  // several people
	Thread ConversationKind = "thread" // a thread or topic in a group
)

// A Conversation is a place on a channel.
type Conversation struct {
	Channel string // the channel's name
	ID      ConversationID
	Kind    ConversationKind
	// Place is the platform's ID of the group around a thread, as written in
	// allow_conversations; for other kinds it equals ID.
	Place string
	// Within is the platform's ID of what Place is a part of, where it has such (a guild);
	// allow_conversations takes that, too. It is told with events and not kept.
	Within string
	Title  string // a label for people; may be empty
}

// An EventKind says what a platform told.
type EventKind string

const (
	EventMessage     EventKind = "message"     // somebody wrote
	EventEdited      EventKind = "edited"      // somebody changed what they wrote; Message is its new state, whole
	EventDeleted     EventKind = "deleted"     // somebody took back what they wrote; of Message only ID is set
	EventAction      EventKind = "action"      // somebody pressed a button; Action is set
	EventReaction    EventKind = "reaction"    // somebody reacted to a message; Reaction is set
	EventMember      EventKind = "member"      // the bot was let in or put out; Member is set
	EventMoved       EventKind = "moved"       // the conversation has a new ID; Former is the old one
	EventUndecodable EventKind = "undecodable" // the adapter could not read it; Raw and Reason are set
)

// An Event is one thing a platform told us, normalised.
type Event struct {
	Key          EventKey
	Kind         EventKind
	Conversation Conversation
	Sender       Sender
	Message      Message
	Action       Action         // EventAction; of Message ID alone may be set then: what an answer replies to
	Reaction     Reaction       // EventReaction
	Member       Membership     // EventMember
	Former       ConversationID // EventMoved
	At           time.Time      // when the platform says it happened; zero if it did not say
	Mark         Mark           // noted in the transaction that takes the event
	Raw          []byte         // EventUndecodable: the bytes as they came
	Reason       string         // EventUndecodable: what was wrong with them
}

// A Mark says how far a channel has read the history of a conversation, so that after a
// restart it asks the platform for what came since. The zero Mark is none.
type Mark struct {
	Conversation ConversationID // whose history; it need not be the event's own
	Value        string         // the adapter's own words
	At           time.Time      // when it was noted last; set by Sink.Marks alone
}

// A Sender is who caused an event.
type Sender struct {
	ID    string // the platform's stable ID; handles are labels only
	Label string // a name for people to read; outside text
	Bot   bool   // a machine account; never answered
	Team  string // the workspace the ID belongs to, where the platform has such
	// Guest: Team is not the channel's own, so that an identity without a team is not theirs.
	Guest bool
	// Person is a person's name that the channel vouches for by itself (the
	// terminal of this machine); empty elsewhere.
	Person string
	// Token is the name of the API token that vouches for Person. What cannot be queued or comes too fast is then not taken at
	// all, as Receipt.Busy says, and the key of the event is forgotten after a day. Empty: no token.
	Token string
	// Browser: a browser in which Person is signed in vouches for them. What cannot be queued or comes too fast is not taken, as with
	// a token.
	Browser bool
}

// Remote says that a program or a browser vouches for the person, which waits for what became of the event.
func (s *Sender) Remote() bool { return s.Token != "" || s.Browser }

// Identities are the names under which people are listed who are this sender, on a
// channel of that name and kind. The last is what the sender is called by.
func (s *Sender) Identities(channel, kind string) (all []string) {
	if s.Team != "" || s.Guest {
		all = append(all, channel+":"+s.Team+"/"+s.ID, kind+":"+s.Team+"/"+s.ID)
	}
	if s.Guest {
		return all
	}
	return append(all, channel+":"+s.ID, kind+":"+s.ID)
}

// A Message is what somebody wrote.
type Message struct {
	ID        MessageID
	Text      string // as written, UTF-8; a command keeps its slash
	ReplyTo   MessageID
	Quote     string // text of the message replied to, where the platform tells it; outside text
	Forwarded bool   // written by somebody else; outside text
	// Enclosed: Text says what was sent that is neither text nor a file (a contact, a place, a
	// poll), in words that its sender did not write; outside text.
	Enclosed    bool
	Origin      string // of a forwarded message: who wrote it, as the platform labels them; outside text
	Mentioned   bool   // the bot was named, replied to or commanded by name
	Elsewhere   bool   // it is a command for another bot by name
	Mentions    []Mention
	Attachments []Attachment
	// Metadata is JSON that a program sent along and reads again with the message; no model does. Empty: none.
	Metadata json.RawMessage
}

// Outside says that Text is outside text: not what its sender wrote.
func (m *Message) Outside() bool { return m.Forwarded || m.Enclosed }

// A Mention is somebody named in a message, the bot itself excepted.
type Mention struct {
	ID    string // the platform's stable ID; empty where it tells the handle alone
	Label string // as it stands in the text
}

// An Attachment is a file that came with a message, by reference.
type Attachment struct {
	ID   string // the platform's reference, as its Fetcher takes it
	Kind AttachmentKind
	Name string
	Type string // media type as the platform says; not trusted
	Size int64  // bytes; 0 when unknown
	// Upload is the number of the file where it was brought here before the message; ID is empty then. 0: it was not.
	Upload int64
}

// An AttachmentKind is what a person would call the file.
type AttachmentKind string

const (
	Document AttachmentKind = "document"
	Photo    AttachmentKind = "photo"
	Audio    AttachmentKind = "audio"
	Video    AttachmentKind = "video"
	Voice    AttachmentKind = "voice" // spoken into the phone just now
)

// An Action is a button that somebody pressed.
type Action struct {
	Code      string    // the Button's
	MessageID MessageID // the message it stood under
}

// A Reaction is a sign that somebody put on a message, or took off.
type Reaction struct {
	MessageID MessageID
	Added     []string // emoji, or the platform's names of its own signs
	Removed   []string
}

// A Membership is what became of the bot in a conversation.
type Membership string

const (
	Joined Membership = "joined" // it may speak there
	Left   Membership = "left"   // it was removed or blocked
)

// A TurnState is how far the turn on a message has come, as whoever wrote it is shown.
type TurnState string

const (
	TurnWorking TurnState = "working" // an answer is being made
	TurnWaiting TurnState = "waiting" // it asked something: it is somebody's turn to answer
	TurnDone    TurnState = "done"    // nothing is shown
)

// A Body is one rendered part: what the platform will show. It has text, or files
// and no text. Text is counted in the unit of Features. Rich holds the adapter's
// own markup (entities, blocks), which only that adapter reads; nil means plain
// text.
type Body struct {
	Text    string          `json:"text"`
	Rich    json.RawMessage `json:"rich,omitempty"`
	Files   []File          `json:"files,omitempty"`   // at most Features.FilesPerPart
	Buttons []Button        `json:"buttons,omitempty"` // under the text; see Rows
}

// A File goes out with a part; its bytes are read with Outbound.Open.
type File struct {
	Blob string `json:"blob"` // where the bytes are, for Outbound.Open alone
	Name string `json:"name"`
	Type string `json:"type"` // media type, found by content
	Size int64  `json:"size"` // bytes
}

// A Button yields an EventAction with its code when pressed.
type Button struct {
	Label string `json:"label"`
	Code  string `json:"code"` // at most 64 bytes of ASCII
	// Beside puts it in one row with the button before, where the platform has room.
	Beside bool `json:"beside,omitempty"`
}

// Rows are buttons as they stand under a text: where the rows that they ask for are more
// than most, as few rows as there can be.
func Rows(buttons []Button, most, inRow int) (rows [][]Button) {
	for _, b := range buttons {
		if last := len(rows) - 1; b.Beside && last >= 0 && len(rows[last]) < inRow {
			rows[last] = append(rows[last], b)
		} else {
			rows = append(rows, []Button{b})
		}
	}
	if len(rows) > most {
		rows = slices.Collect(slices.Chunk(buttons, inRow))
	}
	return rows
}

// An Outbound is one part on its way to a platform.
type Outbound struct {
	Conversation Conversation
	Body         Body
	ReplyTo      MessageID // empty: no reply
	// Nonce identifies this part for good, the same at every try; adapters pass it
	// on where the platform has a place for it.
	Nonce string
	// Noted is what was noted in an earlier try; Note replaces it. When Note returns nil, its text
	// survives the program, so that a Finder can go by what the platform named before the part was
	// shown. Note is nil where nothing is kept.
	Noted string
	Note  func(ctx context.Context, noted string) error
	// Taken says whether a message is known to be another part, so that a Finder which goes by what
	// messages say leaves it alone. Nil where nothing is known.
	Taken func(ctx context.Context, id MessageID) (bool, error)
	// FirstTry is when it was sent first; zero: it was not yet. A Finder need not look
	// at what is older.
	FirstTry time.Time
	// Part counts the parts of one message from 0; Last is set on the last one.
	Part int
	Last bool
	// Open reads a file of Body; the caller closes it. Nil when Body has no files.
	Open func(File) (io.ReadCloser, error)
}
