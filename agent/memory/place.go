package memory

import "slices"

// A Place is where somebody speaks with the bot, as memory sees it.
type Place struct {
	Person  string // whom the bot works for there; empty: nobody it knows
	Channel string
	Group   string // channels.Conversation.Place; of a direct chat it says nothing
	Direct  bool
	Session int64 // 0: none
	Private bool  // the session neither learns nor is recalled
	Since   int64 // from that message of the session on a prompt has what was said; 0: it has none of it
}

// Own is where what is said there surfaces.
func (p Place) Own() Scope {
	if p.Direct {
		return OfPerson(p.Person)
	}
	return OfGroup(p.Channel, p.Group)
}

// Scopes are those of what surfaces there.
func (p Place) Scopes() []Scope { return []Scope{p.Own(), Global, OfSession(p.Session)} }

// Known is what a turn is told of what is remembered. The zero value is nothing.
type Known struct {
	Standing []Entry // preferences, rules and open questions, by their number
	Asked    []Entry // questions that were put in the session a little while ago
	Ended    []Entry // rules that were always in every prompt and hold no longer since UpdatedAt
	Found    []Hit   // what the message's words found, the best first
}

// Of are the standing entries of a kind.
func (k *Known) Of(kind Kind) (list []Entry) {
	for _, e := range k.Standing {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// Rules are those that hold for a message of these words: the general ones, those of style, and those of a topic of which it speaks.
func (k *Known) Rules(said string) []Entry {
	return slices.DeleteFunc(k.Of(Rule), func(e Entry) bool {
		speaks, known := topics.speaks(e.Category, said)
		return !e.Always && known && !speaks
	})
}

// Always are the rules that stand in every prompt.
func (k *Known) Always() []Entry {
	return slices.DeleteFunc(k.Of(Rule), func(e Entry) bool { return !e.Always })
}
