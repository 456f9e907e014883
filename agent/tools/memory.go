package tools

import (
	"context"
	"encoding/json"
)

// A Memory keeps what is remembered of the person of a call and of the place where it was made; router/memory has one.
type Memory interface {
	// Search looks memories up by words, or lists them.
	Search(ctx context.Context, call Call, which Remembered) Result
	// Remember keeps one.
	Remember(ctx context.Context, call Call, what NewMemory) Result
	// Forget forgets one.
	Forget(ctx context.Context, call Call, which Remembered) Result
	// DescribeForget is what Tool.Describe says of that.
	DescribeForget(ctx context.Context, call Call, which Remembered) Deed
}

// Remembered is what memory.search and memory.forget take: a number or words. Empty: all of them, or the one of
// which the last message in the chat speaks.
type Remembered struct{ Which string }

// What a NewMemory is.
const (
	MemoryFact = "fact"
	MemoryRule = "rule"
)

// A NewMemory is what memory.remember takes. What is null is empty.
type NewMemory struct {
	Kind     string
	Text     string
	Category string
	Key      string
	Instead  string // the number or words of one that it stands in place of
}

// memoryTools are the tools memory.*. What is kept acts later, so after text from elsewhere was read the person is asked, unless a
// fact is in their own words.
func memoryTools(m Memory) []Tool {
	remember := declared("memory.remember", with(m.Remember))
	remember.Keeps = func(_ context.Context, call Call) []string {
		var what NewMemory
		_ = json.Unmarshal(call.Args, &what) // checked against the schema
		if what.Kind == MemoryFact && what.Instead == "" {
			return []string{what.Text}
		}
		return []string{what.Kind + " " + what.Category + " " + what.Key + " " + what.Instead + " " + what.Text} // nobody writes so
	}
	forget := declared("memory.forget", with(m.Forget))
	forget.Describe = func(ctx context.Context, call Call) Deed {
		var which Remembered
		_ = json.Unmarshal(call.Args, &which) // checked against the schema
		return m.DescribeForget(ctx, call, which)
	}
	return []Tool{declared("memory.search", with(m.Search)), remember, forget}
}
