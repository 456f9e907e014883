package channels

import (
	"context"
	"io"
	"time"
)

// A Channel is one bot account on one messaging platform. Its methods may be
// called from several goroutines at once.
type Channel interface {
	// Name is the channel's name in the settings, e.g. "slack-acme"; unique in
	// the program. Kind is the platform's, e.g. "slack".
	Name() string
	Kind() string
	// Run connects, hands what the platform tells to sink in the order told, and
	// blocks until ctx ends (nil) or the connection is lost (any other error; the
	// caller starts Run again after a pause). ErrUnauthorized and ErrNoCredentials
	// say that trying again is of little use until the credentials change; then Run
	// returns at once, with no I/O, while they are the same. After ErrUnauthorized it
	// may try them again, seldom (minutes; sooner for ones that worked before), as a
	// platform that is ill rejects good ones too. ErrElsewhere says that another program takes
	// this bot's events. An event may be acknowledged to
	// the platform only after sink took it.
	Run(ctx context.Context, sink Sink) error
	// Send posts one part and returns the ID the platform gave it. It does not
	// retry. The error says what is known: *RateLimitError (surely not sent, come
	// back later), *RefusedError (surely not sent, and never will be unless it is
	// Temporary), ErrGone (the conversation is closed to us), ErrMoved, ErrUnauthorized and
	// ErrNotConnected (surely not sent). Any other error means that nobody knows whether it was sent.
	Send(ctx context.Context, out Outbound) (MessageID, error)
	// Features reports what conv accepts now. It does no I/O.
	Features(conv Conversation) Features
}

// A Sink takes what a platform told a channel; the router is one.
type Sink interface {
	// Accept commits batch in one transaction and returns one receipt an event,
	// in order. When it returns nil, the events are safe and may be acknowledged;
	// on an error none of them is and the same batch must be handed in again, with
	// what came meanwhile where that can be: whether an event fails by its own fault
	// (ErrHeld) shows when another is taken. An event whose key is known already is no fault: its
	// receipt says Duplicate.
	// Accept goes on to its end when ctx is cancelled after it began to commit.
	Accept(ctx context.Context, batch []Event) ([]Receipt, error)
	// Marks returns the newest Mark of each conversation that events of this channel
	// brought, the one noted last first. What is read at connect is read from there.
	Marks(ctx context.Context) ([]Mark, error)
	// Received says that the platform spoke on the connection that events come by,
	// be it to say that there are none: it is up. It never blocks.
	Received()
}

// Receipt says what became of one event.
type Receipt struct {
	Duplicate bool   // the key was known; nothing was written
	Rejected  string // why the input was refused, for the sender to read; empty when it was taken
	MessageID int64  // the row of the message; 0 for a rejected event
	TurnID    int64  // the turn that will answer; 0 when none will (command, stranger, overflow)
	Event     int64  // the message's number in its session's events; 0 without a session
	Toast     string // EventAction: what to show whoever pressed the button, in a line; may be empty
	Busy      string // Sender.Token: why it was not taken for now, in a sentence; nothing was written. Empty: it was
	Taken     bool   // Sender.Token: the conversation is another person's; nothing was written
	Silent    bool   // whoever pressed or wrote is not served; not even that it was taken is shown
}

// The abilities below are optional. Code asks both: can the adapter do it (type
// assertion), and may it be done here (Features).

// An Editor can rewrite a message it sent earlier. "Not modified" is success.
type Editor interface {
	Edit(ctx context.Context, conv Conversation, id MessageID, body Body) error
}

// A Drafter can show a text that grows until the final edit. Best effort. With an
// empty id it is shown first, sent as out says; a Finder finds it by that. Otherwise the
// message id shows the body of out from now on.
type Drafter interface {
	Draft(ctx context.Context, id MessageID, out Outbound) (MessageID, error)
}

// A Deleter can take back a message it sent. One that is gone already is success.
type Deleter interface {
	Delete(ctx context.Context, conv Conversation, id MessageID) error
}

// A Reactor can put a sign on somebody's message; an empty emoji takes it off.
// Best effort.
type Reactor interface {
	React(ctx context.Context, conv Conversation, id MessageID, emoji string) error
}

// An Unbuttoner can take the buttons off a message it sent. Best effort.
type Unbuttoner interface {
	RemoveButtons(ctx context.Context, conv Conversation, id MessageID) error
}

// A Fetcher can bring the bytes of an attachment. It streams them to w and returns
// when they are complete; *RefusedError says that the platform will not hand them
// out (too large, expired).
type Fetcher interface {
	Fetch(ctx context.Context, file Attachment, w io.Writer) error
}

// A Commander's platform offers the bot's commands in a menu. SetCommands changes
// what differs from sets and nothing else.
type Commander interface {
	SetCommands(ctx context.Context, sets []CommandSet) error
}

// A CommandSet is the menu of one audience in one language.
type CommandSet struct {
	Kind     ConversationKind // Direct or Group: everybody there
	Sender   string           // with Direct: this sender's own chat alone (Sender.ID); empty: everybody's
	Language string           // two letters; empty: whoever has no set of their own
	Commands []Command        // empty: the sender has no menu of their own any more
}

// A Command is one line of a menu.
type Command struct {
	Name  string // without the slash
	About string // what it does, in a few words
}

// A Typer can show that an answer is being made. Best effort; the platform
// forgets it after Features.TypingFor.
type Typer interface {
	Typing(ctx context.Context, conv Conversation) error
}

// A TurnShower can show at somebody's message how far the turn on it has come; message may be
// empty. The platform shows it until it is told otherwise, be it by another process. Best effort;
// to show nothing where nothing is shown is success.
type TurnShower interface {
	ShowTurn(ctx context.Context, conv Conversation, message MessageID, state TurnState) error
}

// A Finder can look up whether a part with this nonce arrived. ok is false when
// the platform surely does not have it; an error means that it could not be asked.
type Finder interface {
	Find(ctx context.Context, out Outbound) (id MessageID, ok bool, err error)
}

// A Deduper's platform drops a second part with the same nonce within Window.
type Deduper interface {
	Window() time.Duration
}

// A Prober can ask the platform whether the connection is alive.
type Prober interface {
	Probe(ctx context.Context) error
}

// A Pulse's connection is never silent for longer than Silence while it is well:
// Heard is called at least so often. When it was not, the channel is probed, called
// deaf and connected again.
type Pulse interface {
	Silence() time.Duration
}

// A Connector reports whether its connection is good. While it is not, Received only means that
// the platform is alive. It never blocks.
type Connector interface {
	Connected() bool
}

// A Reader's clients read the session's messages themselves (terminal, web page,
// HTTP API). Such a channel has no holder: a delivery is sent when committed,
// and Wake tells that conv (empty: any) has something new. Wake never blocks.
type Reader interface {
	Wake(conv ConversationID)
}

// A Streamer is a Reader whose clients can show a text that grows. It is given
// the whole text, in Markdown, that turn's next message in conv has so far. A
// client that connects in between is shown what was given last, whole. The text goes to
// the other engines as well, where others may be.
//
// The message itself ends it: Wake says that it is there, and Stream with an empty
// text follows. Whoever reads what is new before showing what grows sees one take
// the other's place. With no message before, an empty text takes back what was
// shown. Best effort: Stream never blocks, and what it shows has no number in the
// events.
type Streamer interface {
	Stream(conv ConversationID, turn int64, text string)
}

// A Linker has an address that opens a direct chat with the bot. A text at its end is what /start brings from there.
type Linker interface {
	// Link is empty while the bot's name is not known.
	Link() string
}

// A Placer is a Channel whose groups are parts of something (a guild) that Conversation.Within names.
type Placer interface {
	// Within says what a conversation is a part of, as Conversation.Within does.
	Within(ctx context.Context, id ConversationID) (string, error)
}
