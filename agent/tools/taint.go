package tools

import "cmp"

// Taint says that a text holds words of somebody who must not give orders, and
// where they came from: "web", "file", "forwarded", "enclosed", "quote", "others",
// "label". The empty Taint is clean. What is derived from a tainted text inherits its taint.
type Taint string

// Clean is the taint of a text that comes from a known person or from ourselves.
const Clean Taint = ""

// Others is the taint of what other people wrote where several do, and of what we
// answered them, in the turn of somebody else.
const Others Taint = "others"

// Label is the taint of what people or chats call themselves.
const Label Taint = "label"

// Words says where the text came from, for people.
func (t Taint) Words() string { return cmp.Or(sources[t], string(t)) }

var sources = map[Taint]string{
	taintWeb: "a web page", taintFile: "a file", taintTool: "what a tool brought", "forwarded": "a forwarded message", "enclosed": "a card, place or poll",
	"quote": "a quoted message", Others: "what others wrote", Label: "what people or chats call themselves",
}

// Join returns t, or other when t is clean: the first source is kept.
func (t Taint) Join(other Taint) Taint {
	if t == Clean {
		return other
	}
	return t
}
