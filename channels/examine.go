package channels

import "context"

// An Examiner can look at what its platform knows of the bot: whether the credentials
// are good and the platform's own settings fit ours. It may be asked while another
// program runs the same channel, and disturbs nothing.
type Examiner interface {
	Examine(ctx context.Context) []Finding
}

// A Finding is one line of what an Examiner found. Its texts hold no credential.
type Finding struct {
	OK   bool
	Warn bool // fine, but worth a second look
	Text string
	Fix  string // what to do about it
}
