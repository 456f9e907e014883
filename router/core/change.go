package core

import "time"

// A Change sets something that admins, or people in their own sessions, may set at run time:
// a type for each kind of thing. The store applies it in a transaction of its own
// (Changes.Change), or in the one that accepts the command (ControlIntent.Change), writes its audit
// row there, and fills in what the type says of the result. One that is refused is a
// *StateError; then nothing was changed, and the refusal has an audit row.
type Change interface {
	// Names are what the audit log calls the change, and what it is of: "person.add",
	// "person bob".
	Names() (action, target string)
}

// An Intent is what an event is taken as.
type Intent interface{ intent() }

// AnIntent makes an Intent of the type that embeds it.
type AnIntent struct{}

func (AnIntent) intent() {}

// A Button gives a command when it is pressed.
type Button struct {
	Label string
	// Command is without its slash. It counts as the words of whoever presses it, so nothing that
	// others wrote belongs there.
	Command string
	Beside  bool      // it stands in one row with the button before
	Either  bool      // one of its message is pressed: it uses up the others
	Ends    bool      // its press leaves the others of its message nothing to do
	Until   time.Time // it can be pressed until then; zero: for as long as any
	// Asks: it is no button. What its person writes next, if it is a time, stands behind Command.
	Asks bool
}
