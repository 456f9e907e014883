package router

import (
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/commands"
	"switchboard/router/delivery"
	"switchboard/router/ledger"
)

// linkLive is how long a link code is good, and its question open.
const linkLive = 10 * time.Minute

const linkDone = "Done: to me you are the same person here now as on your other account, with its name, rights and memory. What we said stays in its chat. /whoami says who that is."

// link is /link: a code that makes the account which sends it this person.
func (r *Router) link(_ context.Context, c *commands.Call) (commands.Answer, error) {
	switch {
	case c.Conversation().Kind != channels.Direct:
		return commands.Says("Others read along here. Write /link to me in a direct chat."), nil
	case c.Args != "": // a code that can be used would not have come here
		return commands.Says("That is no code that I could use here. \"%slink\" alone shows one, for your other account on a chat platform.", c.Slash), nil
	case c.Person.Source == ledger.FromOpen:
		return commands.Says("I know you only from where everybody may write to me, and so have no account of yours to join another to. Make the code on the other one."), nil
	}
	code := newCode()
	reply := r.notice(c, fmt.Sprintf("Send me this from your other account, in a direct chat: `/link %s`%s. "+
		"To me you are the same person there from then on. It is good once, for ten minutes. Give it to nobody else: whoever sends it becomes you.",
		hyphens(code), r.otherwise("link "+hyphens(code))))
	if !r.Lines.Line(c.Conversation().Channel).Reads() { // its clients read the text; elsewhere a prompt alone would
		reply.Text = withoutCodes(reply.Text)
	}
	reply.Actions = []ledger.Action{{
		Code: ledger.HashCode(code), Kind: ledger.ActionLink, Person: c.Person.Name, ExpiresAt: time.Now().Add(linkLive),
	}}
	return commands.Answer{As: &ledger.AsControl{Effect: ledger.EffectLink, Reply: reply}}, nil
}

// otherwise says how a command is typed on channels where "/" alone does not begin one.
func (r *Router) otherwise(command string) string {
	var b strings.Builder
	for _, at := range r.Channels.List() {
		name := at.Name()
		if slash := r.Lines.Line(name).Command(channels.Conversation{Channel: name, Kind: channels.Direct}); slash != "/" {
			fmt.Fprintf(&b, ", on %s `%s%s`", render.Escape(name), slash, command)
		}
	}
	return b.String()
}

// askLink renders the question whether an account may become an admin.
func (r *Router) askLink(e *sorted, at channels.Conversation) {
	as, conv := e.As.(*ledger.AsCode), e.Event.Conversation
	as.Request = &ledger.Request{
		ExpiresAt: time.Now().Add(linkLive), Accepted: *e.line.Notice(e.Event, linkDone),
	}
	to := r.Lines.Line(at.Channel)
	if to == nil {
		return
	}
	code, command := delivery.NewCode(), to.Command(at)
	as.Request.Questions = []ledger.Question{to.Confirm(at, delivery.Confirm{
		Identity: as.Identity, Channel: conv.Channel, Label: e.Event.Sender.Label,
		Wish: "sent your link code, and would be you from now on: an admin, with all that is yours.",
		Rest: fmt.Sprintf(delivery.Waiting+"ten minutes. To type it: `%sapprove %s` or `%sdeny %s`.", command, code, command, code),
		Yes:  "Allow", No: "Deny", Code: code, Until: as.Request.ExpiresAt,
	})}
}
