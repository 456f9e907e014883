package sessions

// Modes of sessions.
const (
	ModeAsk = "ask" // answers and looks things up; changes nothing
	ModeAct = "act"
)
