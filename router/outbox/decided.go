package outbox

import (
	"cmp"
	"strings"

	"switchboard/channels"
	"switchboard/channels/render"
)

// Waiting begins the end of every question: what follows is no use once it is decided.
const Waiting = "I wait "

// DecidedPart is the part of a question that had the buttons, as it is shown once that is
// decided.
func (c *Composer) DecidedPart(q *Decided) channels.Body {
	asked, said := q.Text, decided(q)
	if i := strings.LastIndex(asked, Waiting); i >= 0 {
		asked = asked[:i]
	}
	if parts := c.reply(q.Conversation, asked+said).Parts; q.Part == len(parts)-1 {
		return parts[q.Part]
	}
	return c.reply(q.Conversation, said).Parts[0] // what was before it is in the parts before
}

// decided says what was decided, and by whom.
func decided(q *Decided) string {
	by := " by " + render.Escape(q.By)
	switch {
	case q.State == ActionExpired:
		return "**Nobody decided in time.**"
	case q.Kind == ApprovalLink && q.State == ActionRejected: // by a stranger, perhaps
		return "**Denied, so I did nothing.**"
	case q.Kind == ApprovalLink && q.State == ActionAccepted:
		return "**Confirmed on both accounts.**"
	case q.State == ActionRejected && q.Why != "":
		return "**Denied" + by + "**: " + render.Escape(q.Why)
	case q.State == ActionRejected:
		return "**Denied" + by + ".**"
	case q.State != ActionAccepted:
		return "**Nobody needs to decide that any more.**"
	case q.Kind == ApprovalPairing:
		return "**Allowed" + by + ".**"
	}
	return "**" + cmp.Or(allowed[q.Scope], "Allowed") + by + ".**"
}

// allowed says for how long something was.
var allowed = map[Does]string{
	DoesSession: "Allowed in this session", DoesAlways: "Always allowed", DoesOnce: "Allowed once",
}
