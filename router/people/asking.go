package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/approvals"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
)

// Greeting is what /start says besides a hello; to whom is a role.
const Greeting = `You can write to me here. Your role is %s.
I plan what you ask, do it step by step, check each step and answer: just write to me. /help lists the commands, /whoami says what you may do.`

// pairingLive is how long a stranger's wish to be let in waits.
const pairingLive = time.Hour

// Asking makes claim and link codes, and asks whether somebody is let in and whether two accounts are one person.
type Asking struct {
	Connections *delivery.Connections
	Roster      *Roster
	Local       string // identity of whoever runs the program on this machine; empty: nobody does
	// AsTyped is a text of ours with commands as people write them behind that slash.
	AsTyped func(slash, text string) string
	// ProposeClaim stores a claim code, by its HashCode, that is good until then, and whose account its sender
	// becomes; empty: a new admin's.
	ProposeClaim func(ctx context.Context, code []byte, person string, until time.Time, by core.Actor) error
}

// Rows are the rows of the table: /link, /unlink and /claim.
func (a *Asking) Rows() []commands.Command {
	return []commands.Command{
		{Name: "link", Typed: true, About: commands.Text{
			EN: "use me from another account of yours too", DE: "ein anderes Konto von dir auch zu dir machen", ES: "que otra cuenta tuya también seas tú",
			FR: "faire d'un autre de vos comptes le vôtre aussi", IT: "fare sì che un altro tuo account sia anche tu",
		}, Run: a.link},
		{Name: "unlink", Typed: true, Args: "[IDENTITY]", About: commands.Text{
			EN: "remove one of your linked accounts", DE: "ein Konto von dir wieder lösen", ES: "quitar de nuevo una cuenta tuya",
			FR: "détacher de nouveau un de vos comptes", IT: "staccare di nuovo un tuo account",
		}, Run: a.unlink},
		{Name: "claim", Hidden: true, Direct: true, Args: "CODE", About: commands.Text{
			EN: "become an admin with a code", DE: "mit einem Code Admin werden", ES: "ser administrador con un código", FR: "devenir administrateur avec un code", IT: "diventare amministratore con un codice",
		}, Run: claim},
	}
}

// notice renders a fixed text of ours, with commands as people write them there.
func (a *Asking) notice(event *channels.Event, at *delivery.Connection, text string) *outbox.Reply {
	return at.Notice(*event, a.AsTyped(at.Command(event.Conversation), text))
}

func claim(_ context.Context, c *commands.Call) (commands.Answer, error) {
	return commands.Says("To become an admin, send me \"%sclaim\" and the code, in a direct chat on a chat platform. "+
		"\"switchboard person claim\", on the machine that I run on, prints one.", c.Slash), nil
}

// NewClaim makes a code that makes who sends it in a direct chat an admin, once: that person, or a new one where
// it is empty.
func (a *Asking) NewClaim(ctx context.Context, person string, by core.Actor) (code string, err error) {
	text := newCode()
	if err := a.ProposeClaim(ctx, outbox.HashCode(text), person, time.Now().Add(ClaimLive), by); err != nil {
		return "", err
	}
	return Hyphens(text), nil
}

// Pairing renders what a stranger reads, and what the admins are asked. Nothing of the
// stranger's words is kept where a prompt would take it from.
func (a *Asking) Pairing(e *channels.Event, line *delivery.Connection, as *PairingIntent, admins []channels.Conversation) *outbox.Reply {
	code := approvals.NewCode()
	as.Request = &Request{
		Code: outbox.HashCode(code), ExpiresAt: time.Now().Add(pairingLive),
		Accepted: *a.notice(e, line, "Hello. "+fmt.Sprintf(Greeting, core.RoleUser)),
	}
	for _, chat := range admins {
		to := a.Connections.Connection(chat.Channel)
		as.Request.Questions = append(as.Request.Questions, (&approvals.Confirm{
			Identity: as.Identity, Channel: e.Conversation.Channel, Label: e.Sender.Label,
			Asks: "asks to talk with me. They would be a user, not an admin, with the tools of that channel.",
			Rest: fmt.Sprintf("They were shown the code `%s`. If in doubt, ask them for it.", code), Waits: "an hour", Typed: code, Anywhere: true,
			Yes: "Allow", No: "Refuse", Until: as.Request.ExpiresAt,
		}).Question(to.Composer, chat))
	}
	const hello = "Hello. I only talk with people whom an admin has allowed. Tell them this code: %s. It is good for an hour. Once they allow you, I'll write to you here."
	reply := a.notice(e, line, fmt.Sprintf(hello, "`"+code+"`"))
	reply.Text = fmt.Sprintf(hello, Redacted)
	return reply
}

// linkLive is how long a link code is good, and its question open.
const linkLive = 10 * time.Minute

const (
	linkDone   = "Done. I now know you here as the same person as on your other account: same name, rights and memory. Old messages stay in their chat. /whoami shows your name."
	linkJoined = "Done: both accounts confirmed it, and the other account is yours now as well. /unlink removes an account again."
)

// link is /link: a code that makes the account which sends it this person.
func (a *Asking) link(_ context.Context, c *commands.Call) (commands.Answer, error) {
	switch {
	case !c.Direct():
		return commands.Says("Others read along here. Write /link to me in a direct chat."), nil
	case c.Args != "": // a code that can be used would not have come here
		return commands.Says("I cannot use that code here. \"%slink\" alone shows one for your other account on a chat platform.", c.Slash), nil
	case c.Person.Source == core.FromOpen:
		return commands.Says("You are not registered with me here, so I cannot add another account to this one. Write /link on your other account, and send me that code here."), nil
	}
	code := newCode()
	reply := a.notice(c.Event, a.Connections.Connection(c.Conversation().Channel), fmt.Sprintf("Send me this from your other account, in a direct chat: `/link %s`%s. "+
		"I then ask on both accounts, and once both confirm it, you are the same person there. The code works once, for ten minutes. Give it to nobody else.",
		Hyphens(code), a.otherwise("link "+Hyphens(code))))
	if !a.Connections.Connection(c.Conversation().Channel).Reads() { // its clients read the text; elsewhere a prompt alone would
		reply.Text = WithoutCodes(reply.Text)
	}
	reply.Taint = tools.Label // which keeps it out of prompts
	reply.Actions = []outbox.Action{{
		Code: outbox.HashCode(code), Kind: ActionLink, Person: c.Person.Name, ExpiresAt: time.Now().Add(linkLive),
	}}
	return commands.Answer{Intent: &intake.ControlIntent{Effect: intake.EffectLink, Reply: reply}}, nil
}

// otherwise says how a command is typed on channels where "/" alone does not begin one.
func (a *Asking) otherwise(command string) string {
	var b strings.Builder
	for _, at := range a.Connections.Statuses() {
		if slash := a.Connections.Connection(at.Name).Command(channels.Conversation{Channel: at.Name, Kind: channels.Direct}); slash != "/" {
			fmt.Fprintf(&b, ", on %s `%s%s`", render.Escape(at.Name), slash, command)
		}
	}
	return b.String()
}

// Link renders the questions, on both sides, whether an account is to become somebody's.
func (a *Asking) Link(e *channels.Event, line *delivery.Connection, as *CodeIntent, link *Link) {
	conv := e.Conversation
	as.Link = link
	until := time.Now().Add(linkLive)
	as.Request = &Request{ExpiresAt: until, Accepted: *a.notice(e, line, linkDone)}
	to, maker := a.Connections.Connection(link.At.Channel), a.Roster.Named(link.Person)
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
	ask := func(line *delivery.Connection, at channels.Conversation, label, wish, rest string) outbox.Question {
		return (&approvals.Confirm{
			Identity: as.Identity, Channel: conv.Channel, Label: label, Asks: wish,
			Rest: rest + " Nothing is changed before both accounts have confirmed it.", Waits: "ten minutes", Typed: approvals.NewCode(),
			Yes: "Confirm", No: "Deny", Until: until,
		}).Question(line.Composer, at)
	}
	as.Request.Joined = to.Told(link.At, a.AsTyped(to.Command(link.At), linkJoined), tools.Clean)
	as.Request.Joined.Notice = true
	as.Request.Questions = []outbox.Question{
		ask(to, link.At, e.Sender.Label, fmt.Sprintf("wants to become an account of yours, %s, with your name, your rights (role %s), your memory and your jobs.%s", person, maker.Role, takes),
			"Confirm it only if you sent the code from there yourself."),
		ask(line, conv, "", fmt.Sprintf("becomes %s: this account gets that name, its rights (role %s), memory and jobs.%s", person, maker.Role, gives),
			"Confirm it only if "+person+" is you, and made the code."),
	}
}

// reaches says that an account is on a platform that this program is on.
func (a *Asking) reaches(identity string) bool {
	where, _, _ := strings.Cut(identity, ":")
	return slices.ContainsFunc(a.Connections.Statuses(), func(at channels.Status) bool { return at.Name == where || at.Kind == where })
}

// Unlinking is the change that takes an account off somebody, or why it stays theirs.
func (a *Asking) Unlinking(p *core.Person, identity string) (change *Change, stays string) {
	others := slices.ContainsFunc(p.Identities, func(id string) bool { return id != a.Local && id != identity && a.reaches(id) })
	switch mine := slices.Contains(p.Identities, identity) && len(p.Identities) > 1; {
	case mine && identity == a.Local:
		return nil, identity + " is the account of this machine and stays."
	case mine && !others:
		return nil, identity + " stays: I am on no platform where the other accounts are."
	}
	return &Change{Kind: ChangeUnlink, Person: core.Person{Name: p.Name, Identities: []string{identity}}}, ""
}

// unlink is /unlink: an account of one's own that is to be somebody else again.
func (a *Asking) unlink(_ context.Context, c *commands.Call) (answer commands.Answer, err error) {
	if !c.Direct() {
		return commands.Says("Others read along here. Write /unlink to me in a direct chat."), nil
	}
	accounts := slices.DeleteFunc(slices.Clone(c.Person.Identities), func(id string) bool { return id == a.Local })
	if c.Args != "" {
		change, stays := a.Unlinking(c.Person, c.Args)
		if stays != "" {
			return commands.Says("%s", render.Escape(stays)), nil
		}
		return commands.Answer{Change: change, Say: func() commands.Answer {
			return commands.Says("%s is not yours any more: to me it is a stranger. Its direct chat with me starts empty, so nobody reads there what we said. "+
				"What I remember of you and your jobs stay yours. Your accounts now: %s.",
				render.Escape(c.Args), render.Escape(strings.Join(change.Now.Identities, ", ")))
		}}, nil
	}
	if len(accounts) < 2 {
		return commands.Says("This is the only account of yours that I know, so there is none to remove. /link adds one."), nil
	}
	answer = commands.Says("You are %s, by these accounts: %s. \"%sunlink\" and one of them removes it.",
		render.Escape(c.Person.Name), render.Escape(strings.Join(c.Person.Identities, ", ")), c.Slash)
	for _, id := range accounts[:min(len(accounts), commands.Rows)] {
		answer.Buttons = append(answer.Buttons, commands.Button{Label: "Remove " + id, Command: "unlink " + id})
	}
	return answer, nil
}
