package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/router/outbox"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/commands"
	"switchboard/router/ledger"
	"switchboard/router/outbox/delivery"
)

// linkLive is how long a link code is good, and its question open.
const linkLive = 10 * time.Minute

const (
	linkDone   = "Done. I now know you here as the same person as on your other account: same name, rights and memory. Old messages stay in their chat. /whoami shows your name."
	linkJoined = "Done: both accounts confirmed it, and the other account is yours now as well. /unlink removes an account again."
)

// link is /link: a code that makes the account which sends it this person.
func (r *Router) link(_ context.Context, c *commands.Call) (commands.Answer, error) {
	switch {
	case c.Conversation().Kind != channels.Direct:
		return commands.Says("Others read along here. Write /link to me in a direct chat."), nil
	case c.Args != "": // a code that can be used would not have come here
		return commands.Says("I cannot use that code here. \"%slink\" alone shows one for your other account on a chat platform.", c.Slash), nil
	case c.Person.Source == ledger.FromOpen:
		return commands.Says("You are not registered with me here, so I cannot add another account to this one. Write /link on your other account, and send me that code here."), nil
	}
	code := newCode()
	reply := r.notice(c, fmt.Sprintf("Send me this from your other account, in a direct chat: `/link %s`%s. "+
		"I then ask on both accounts, and once both confirm it, you are the same person there. The code works once, for ten minutes. Give it to nobody else.",
		hyphens(code), r.otherwise("link "+hyphens(code))))
	if !r.Lines.Connection(c.Conversation().Channel).Reads() { // its clients read the text; elsewhere a prompt alone would
		reply.Text = withoutCodes(reply.Text)
	}
	reply.Actions = []ledger.Action{{
		Code: ledger.HashCode(code), Kind: ledger.ActionLink, Person: c.Person.Name, ExpiresAt: time.Now().Add(linkLive),
	}}
	return commands.Answer{Intent: &ledger.ControlIntent{Effect: ledger.EffectLink, Reply: reply}}, nil
}

// otherwise says how a command is typed on channels where "/" alone does not begin one.
func (r *Router) otherwise(command string) string {
	var b strings.Builder
	for _, at := range r.Channels.List() {
		name := at.Name()
		if slash := r.Lines.Connection(name).Command(channels.Conversation{Channel: name, Kind: channels.Direct}); slash != "/" {
			fmt.Fprintf(&b, ", on %s `%s%s`", render.Escape(name), slash, command)
		}
	}
	return b.String()
}

// askLink renders the questions, on both sides, whether an account is to become somebody's.
func (r *Router) askLink(e *classified, as *ledger.CodeIntent, link *ledger.Link) {
	conv := e.Event.Conversation
	as.Link = link
	until := time.Now().Add(linkLive)
	as.Request = &ledger.Request{ExpiresAt: until, Accepted: *e.line.Notice(e.Event, linkDone)}
	to, maker := r.Lines.Connection(link.At.Channel), r.Roster.Named(link.Person)
	if to == nil || maker == nil {
		return
	}
	person := "**" + render.Escape(link.Person) + "**"
	gives, takes := "", ""
	if link.Was != "" {
		was := "**" + render.Escape(link.Was) + "**"
		gives = fmt.Sprintf(" This account is %s now. Everything %s has, other accounts too, goes to %s, and %s is deleted.", was, was, person, was)
		takes = fmt.Sprintf(" That account is %s now. Everything %s has becomes yours.", was, was)
	}
	ask := func(line *delivery.Connection, at channels.Conversation, label, wish, rest string) ledger.Question {
		code, command := outbox.NewCode(), line.Command(at)
		return line.Confirm(at, outbox.Confirm{
			Identity: as.Identity, Channel: conv.Channel, Label: label, Asks: wish,
			Rest: rest + fmt.Sprintf(" Nothing is changed before both accounts have confirmed it. "+
				outbox.Waiting+"ten minutes. To answer by typing: `%sapprove %s` or `%sdeny %s`.", command, code, command, code),
			Yes: "Confirm", No: "Deny", Code: code, Until: until,
		})
	}
	as.Request.Joined = to.Told(link.At, r.asTyped(to.Command(link.At), linkJoined), tools.Clean)
	as.Request.Joined.Notice = true
	as.Request.Questions = []ledger.Question{
		ask(to, link.At, e.Event.Sender.Label, fmt.Sprintf("wants to become an account of yours, %s, with your name, your rights (role %s), your memory and your jobs.%s", person, maker.Role, takes),
			"Confirm it only if you sent the code from there yourself."),
		ask(e.line.Connection, conv, "", fmt.Sprintf("becomes %s: this account gets that name, its rights (role %s), memory and jobs.%s", person, maker.Role, gives),
			"Confirm it only if "+person+" is you, and made the code."),
	}
}

// reaches says that an account is on a platform that this program is on.
func (r *Router) reaches(identity string) bool {
	where, _, _ := strings.Cut(identity, ":")
	return slices.ContainsFunc(r.Channels.List(), func(at Attached) bool { return at.Name() == where || at.Channel.Kind() == where })
}

// unlink is /unlink: an account of one's own that is to be somebody else again.
func (r *Router) unlink(_ context.Context, c *commands.Call) (a commands.Answer, err error) {
	if c.Conversation().Kind != channels.Direct {
		return commands.Says("Others read along here. Write /unlink to me in a direct chat."), nil
	}
	accounts := slices.DeleteFunc(slices.Clone(c.Person.Identities), func(id string) bool { return id == r.Local })
	if c.Args != "" {
		others := slices.ContainsFunc(accounts, func(id string) bool { return id != c.Args && r.reaches(id) })
		switch mine := slices.Contains(c.Person.Identities, c.Args) && len(c.Person.Identities) > 1; {
		case mine && c.Args == r.Local:
			return commands.Says("%s is the account of this machine and stays.", render.Escape(c.Args)), nil
		case mine && !others:
			return commands.Says("%s stays: I am on no platform where your other accounts are.", render.Escape(c.Args)), nil
		}
		change := &ledger.PersonChange{Kind: ledger.ChangeUnlink, Person: ledger.Person{Name: c.Person.Name, Identities: []string{c.Args}}}
		return commands.Answer{Change: change, Say: func() commands.Answer {
			return commands.Says("%s is not yours any more: to me it is a stranger. Its direct chat with me starts empty, so nobody reads there what we said. "+
				"What I remember of you and your jobs stay yours. Your accounts now: %s.",
				render.Escape(c.Args), render.Escape(strings.Join(change.Now.Identities, ", ")))
		}}, nil
	}
	if len(accounts) < 2 {
		return commands.Says("This is the only account of yours that I know, so there is none to remove. /link adds one."), nil
	}
	a = commands.Says("You are %s, by these accounts: %s. \"%sunlink\" and one of them removes it.",
		render.Escape(c.Person.Name), render.Escape(strings.Join(c.Person.Identities, ", ")), c.Slash)
	for _, id := range accounts[:min(len(accounts), commands.Rows)] {
		a.Buttons = append(a.Buttons, commands.Button{Label: "Remove " + id, Command: "unlink " + id})
	}
	return a, nil
}
