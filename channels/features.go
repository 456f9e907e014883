package channels

import (
	"time"
	"unicode/utf8"
)

// Features is what one conversation accepts now.
type Features struct {
	// MaxText is the longest text of one part, counted by Measure; 0: no limit.
	MaxText int
	// Measure counts a text in the platform's unit; nil counts runes.
	Measure func(string) int
	Files   bool // files can be sent
	// FilesPerPart is how many files one part may have; 0 counts as 1.
	FilesPerPart int
	// MaxFile is the largest file that can be sent, in bytes; 0: no limit.
	MaxFile int64
	Buttons bool // choices can be buttons; otherwise they are numbered lines
	// MaxButtons is how many one part may have; 0: no limit.
	MaxButtons int
	Markdown   bool // more than plain text is shown
	Removes    bool // a Deleter can delete here what others sent as well
	// Command is what people write before the name of a command here; empty: a slash.
	Command string
	// TypingFor is how long the platform shows a Typing before it forgets it.
	TypingFor time.Duration
	// DraftEvery is the least time between two drafts of one message here; 0: no
	// drafts.
	DraftEvery time.Duration
	Rates      Rates
}

// Rates are the platform's sending limits; zero means no limit.
type Rates struct {
	PerSecond             float64 // parts a second over the whole channel
	PerConversationSecond float64 // parts a second in one conversation
	PerConversationMinute float64 // parts a minute in one conversation
}

// Len counts text in the conversation's unit.
func (f Features) Len(text string) int {
	if f.Measure == nil {
		return utf8.RuneCountInString(text)
	}
	return f.Measure(text)
}
