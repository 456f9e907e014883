package router

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/settings"
	"switchboard/router/turns"
)

// stops says that a message is a bare stop word while something is under way in
// its session; it is then the command /cancel. With nothing to stop, forwarded, or
// with a file beside it, it is a message like any other.
func (s *classifier) stops(ctx context.Context, event channels.Event) (bool, error) {
	word := strings.ToLower(strings.Trim(event.Message.Text, " \t\r\n.!"))
	if !ownText(event.Message) || !slices.Contains(s.Config.StopWords, word) {
		return false, nil
	}
	turn, err := turns.Current(ctx, s.Store, core.SessionKey(event.Conversation))
	if err != nil && !isNobodysFault(ctx, err) { // /cancel says by itself where there is nothing to stop
		s.Log.ErrorContext(ctx, "a stop word is taken for /cancel unread", "channel", event.Conversation.Channel, "error", err)
		return true, nil
	}
	return turn != nil && turns.TurnState(turn.State).Open(), err
}

// ownCommands are the rows of the features and the router's own, in the order in which help lists them.
func (r *Router) ownCommands() []commands.Command {
	of := turns.Commands{Views: r.Store, Queued: r.turn, Model: func(own core.Session) string {
		return r.sessions.ModelHere(cmp.Or(own.Model, r.settings().Model))
	}}
	secret := settings.SecretCommand{Secrets: r.Secrets, List: r.Store, Connections: r.Connections}
	return slices.Concat(
		[]commands.Command{{Name: "start", Hidden: true, About: commands.Text{
			EN: "hello, and what I am", DE: "hallo, und was ich bin", ES: "hola, y qué soy", FR: "bonjour, et ce que je suis", IT: "ciao, e che cosa sono",
		}, Run: r.start}},
		of.Rows(),
		[]commands.Command{outbox.ResendCommand(), {Name: "reset", About: commands.Text{
			EN: "forget this conversation", DE: "dieses Gespräch vergessen", ES: "olvidar esta conversación", FR: "oublier cette conversation", IT: "dimenticare questa conversazione",
		}, Run: r.reset}},
		r.approvals.Rows(), r.Asking.Rows(),
		[]commands.Command{secret.Row(), {Name: "whoami", About: commands.Text{
			EN: "who you are to me", DE: "wer du für mich bist", ES: "quién eres para mí", FR: "qui vous êtes pour moi", IT: "chi sei per me",
		}, Run: r.whoami}},
		slices.Insert(r.sessions.Rows(), 2, r.tools.rows()...),
		[]commands.Command{{Name: "help", About: commands.Text{
			EN: "what I can do", DE: "was ich kann", ES: "qué sé hacer", FR: "ce que je sais faire", IT: "che cosa so fare",
		}, Run: r.help}},
	)
}

func (r *Router) help(_ context.Context, c *commands.Call) (commands.Answer, error) {
	return commands.Says("%s", r.commands.Help(audience(c))), nil
}

func (r *Router) start(_ context.Context, c *commands.Call) (commands.Answer, error) {
	text := fmt.Sprintf("Hello %s. "+people.Greeting, calledBy(c), c.Person.Role)
	if c.IsAdmin() && c.Direct() && r.Missing != nil {
		if list := r.Missing(); len(list) > 0 {
			text += "\n\nStill to do (\"switchboard doctor\" says more):\n- " + strings.Join(list, "\n- ")
		}
	}
	return commands.Says("%s", text), nil
}

func (r *Router) reset(_ context.Context, c *commands.Call) (commands.Answer, error) {
	if !c.MayDecide() {
		return commands.Says("Others talk with me here too, so only an admin can make me forget this conversation."), nil
	}
	return commands.Answer{Intent: &intake.ControlIntent{Effect: intake.EffectReset, Reply: r.notice(c, forgotten)}}, nil
}

// notice renders a fixed text of ours as the answer to a command.
func (r *Router) notice(c *commands.Call, text string) *outbox.Reply {
	return r.Connections.Connection(c.Conversation().Channel).Notice(*c.Event, r.asTyped(c.Slash, text))
}

const forgotten = "Forgotten; what /memory lists stays. If I am at work here, I go on; /cancel stops that."

// order makes the entry of a command: what it runs decides what it is taken as. A command
// that is applied at once takes no turn and no worker.
func (s *classifier) order(ctx context.Context, entry classified, l *channel, person *core.Person, name, args string) (classified, error) {
	c := s.commands.Find(name)
	switch free := c != nil && c.Free; {
	case len(entry.Button) > 0: // it was counted as a press
	case !free:
		weight := 1.0
		if entry.Event.Conversation.Kind != channels.Direct {
			weight = 2 // its answer keeps others waiting for theirs
		}
		if reason, refused := s.refuseFast(&entry, person, weight); refused {
			return l.noticed(entry, reason), nil
		}
	default:
		if tooFast, notify := s.tooFast(&entry, person.Name+"\x00"+name, 1); tooFast && !notify {
			// It is obeyed, but a flood of it is not answered one by one. It has a rate of its own, so
			// that it uses up nothing.
			entry.unsaid = intake.OutcomeIdle
		}
	}
	answer, err := s.answer(ctx, c, &commands.Call{
		Event: &entry.Event, Person: person, Name: name, Args: args, Slash: l.Command(entry.Event.Conversation),
		Secret: commands.Secret{Name: entry.secret.name, Value: entry.secret.value},
	})
	if err != nil {
		return entry, err
	}
	entry.Intent = answer.Intent
	switch answer.Intent.(type) {
	case nil:
		control := &intake.ControlIntent{Change: answer.Change, Admins: c != nil && c.Admin}
		if answer.Say == nil {
			control.Reply = l.answered(entry.Event, person, answer)
		} else {
			event := entry.Event
			control.Say = func() *outbox.Reply { return l.answered(event, person, answer.Say()) }
		}
		entry.Intent, entry.background = control, answer.Background
	case *intake.TurnIntent:
		entry.Event.Message.Quote = "" // what is replied to only says which turn is meant
		entry.Taint = taintOf(entry.Event.Message)
	}
	return entry, nil
}

// answer is what becomes of a command, which may be nil: there is none of that name.
func (r *Router) answer(ctx context.Context, c *commands.Command, call *commands.Call) (a commands.Answer, err error) {
	if call.Session, err = r.Store.Session(ctx, call.Conversation()); err != nil {
		return a, fmt.Errorf("read session: %w", err)
	}
	call.TimeZone = r.settings().zone(call.Session.TimeZone, call.Person.TimeZone)
	switch {
	case c == nil, c.Admin && !call.IsAdmin():
		return r.commands.Unknown(call.Name, audience(call)), nil
	case c.Admin && !call.Direct():
		return commands.Says("I did nothing: please write this in a direct chat with me."), nil
	}
	return c.Run(ctx, call)
}

// audience is to whom commands are offered where one was given.
func audience(call *commands.Call) commands.Audience {
	return commands.Audience{Admin: call.IsAdmin(), Direct: call.Direct(), Language: call.Session.Language}
}

// asTyped is a text of ours with commands as people write them there.
func (r *Router) asTyped(slash, text string) string {
	return r.commandsIn.ReplaceAllString(text, "${1}"+slash+"${2}")
}

// calledBy is what to call a person: by their name, or, where that is only an
// identity, because nobody gave them one, by what the platform calls them.
func calledBy(c *commands.Call) string {
	label := words.OneLine(c.Event.Sender.Label, outbox.ShownName)
	if c.Person.Source == core.FromOpen && label != "" {
		return render.Escape(label)
	}
	return c.Person.Name
}

func (r *Router) whoami(_ context.Context, c *commands.Call) (commands.Answer, error) {
	conv := c.Conversation()
	known := c.Event.Sender.Identities(conv.Channel, r.Connections.Connection(conv.Channel).Kind)
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s, role %s.", calledBy(c), c.Person.Role)
	if id := known[len(known)-1]; id == r.Local {
		b.WriteString("\nYou write to me in the terminal.")
	} else {
		fmt.Fprintf(&b, "\nYou write to me on %s. Your account there is %s.", conv.Channel, render.Escape(id))
	}
	usable := r.tools.usable(c)
	if len(usable) == 0 {
		b.WriteString("\nYou may use no tools here.")
	} else {
		fmt.Fprintf(&b, "\nTools you may use here: %s.", strings.Join(usable, ", "))
	}
	return commands.Says("%s", b.String()), nil
}

// menu is the commands of each audience in each language: of everybody in a direct
// chat, of everybody in a group, and of each admin in their own chat.
func (r *Router) menu(channel, kind string) []channels.CommandSet {
	var sets []channels.CommandSet
	add := func(kind channels.ConversationKind, sender string, admin bool) {
		for _, language := range commands.Languages {
			to := commands.Audience{Admin: admin, Direct: kind == channels.Direct, Language: language}
			sets = append(sets, channels.CommandSet{Kind: kind, Sender: sender, Language: language, Commands: r.commands.Menu(to)})
		}
	}
	add(channels.Direct, "", false)
	add(channels.Group, "", false)
	for _, admin := range r.Roster.Admins(channel, kind) {
		add(channels.Direct, admin, true)
	}
	return sets
}

// Completions are the commands, each with its slash, that a terminal completes for the person
// of that name.
func (r *Router) Completions(person string) []string {
	return r.commands.Completions(r.audience(person))
}

// Offered are the commands that a direct chat offers the person of that name.
func (r *Router) Offered(person string) []channels.Command {
	return r.commands.Menu(r.audience(person))
}

func (r *Router) audience(person string) commands.Audience {
	p := r.Roster.Named(person)
	return commands.Audience{Admin: p != nil && p.Role == core.RoleAdmin, Direct: true}
}
