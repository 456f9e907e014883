package channels

// An IDShape says what the platform's IDs of one sort look like, for settings that name them.
type IDShape struct {
	Pattern string // a regular expression that every ID matches as a whole
	Like    string // an example, and where people find theirs
}
