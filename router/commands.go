package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"switchboard/router/outbox"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/ledger"
	"switchboard/router/view"
)

var commandPattern = regexp.MustCompile(`^/([a-zA-Z][a-zA-Z_]{0,31})(?:@\S+)?(?:\s+([\s\S]*))?$`)

// command is the command that a message is: one that somebody else wrote is none, nor is
// what came with a file, which would be lost.
func command(message channels.Message) (name, args string, ok bool) {
	if !ownText(message) {
		return "", "", false
	}
	return commandIn(message.Text)
}

// commandIn reads "/name args" or "/name@bot args". A path such as /etc/hosts is no command.
func commandIn(text string) (name, args string, ok bool) {
	m := commandPattern.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return "", "", false
	}
	return strings.ToLower(m[1]), strings.TrimSpace(m[2]), true
}

// stops says that a message is a bare stop word while something is under way in
// its session; it is then the command /cancel. With nothing to stop, forwarded, or
// with a file beside it, it is a message like any other.
func (s *classifier) stops(ctx context.Context, event channels.Event) (bool, error) {
	word := strings.ToLower(strings.Trim(event.Message.Text, " \t\r\n.!"))
	if !ownText(event.Message) || !slices.Contains(s.Config.StopWords, word) {
		return false, nil
	}
	turn, err := s.current(ctx, ledger.SessionKey(event.Conversation))
	if err != nil && !isNobodysFault(ctx, err) { // /cancel says by itself where there is nothing to stop
		s.Log.ErrorContext(ctx, "a stop word is taken for /cancel unread", "channel", event.Conversation.Channel, "error", err)
		return true, nil
	}
	return turn != nil && ledger.TurnState(turn.State).Open(), err
}

// current is the turn that somebody in the session means by "now"; nil: there is none.
func (r *Router) current(ctx context.Context, session string) (*view.Turn, error) {
	turn, err := r.Ledger.Current(ctx, session)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read current turn: %w", err)
	}
	return turn, nil
}

// greeting is what /start says besides a hello; to whom is a role.
const greeting = `You can write to me here. Your role is %s.
I plan what you ask, do it step by step, check each step and answer: just write to me. /help lists the commands, /whoami says what you may do.`

// ownCommands are the router's own rows of the table.
func (r *Router) ownCommands() []commands.Command {
	return append([]commands.Command{
		{Name: "start", Hidden: true, About: commands.Text{
			EN: "hello, and what I am", DE: "hallo, und was ich bin", ES: "hola, y qué soy", FR: "bonjour, et ce que je suis", IT: "ciao, e che cosa sono",
		}, Run: r.start},
		{Name: "status", About: commands.Text{
			EN: "what I am doing", DE: "was ich gerade tue", ES: "qué estoy haciendo", FR: "ce que je fais", IT: "che cosa sto facendo",
		}, Run: r.status},
		{Name: "plan", About: commands.Text{
			EN: "the plan I am on, or the last one", DE: "der Plan, an dem ich bin, oder der letzte", ES: "el plan en curso, o el último",
			FR: "le plan en cours, ou le dernier", IT: "il piano in corso, o l'ultimo",
		}, Run: r.plan},
		{Name: "why", Args: "[TURN]", About: commands.Text{
			EN: "why I answered as I did, step by step", DE: "warum es so kam, Schritt für Schritt", ES: "por qué fue así, paso a paso",
			FR: "pourquoi cela s'est passé ainsi, pas à pas", IT: "perché è andata così, passo per passo",
		}, Run: r.why},
		{Name: "cancel", Free: true, About: commands.Text{
			EN: "stop what I am doing for you", DE: "abbrechen, was ich für dich tue", ES: "parar lo que hago para ti",
			FR: "arrêter ce que je fais pour vous", IT: "fermare ciò che faccio per te",
		}, ToAdmins: commands.Text{
			EN: "stop what I am doing here, whoever asked for it", DE: "abbrechen, was ich hier tue, für wen auch immer", ES: "parar lo que hago aquí, para quien sea",
			FR: "arrêter ce que je fais ici, pour qui que ce soit", IT: "fermare ciò che faccio qui, per chiunque",
		}, Run: r.cancel},
		{Name: "retry", About: commands.Text{
			EN: "try your latest message again, or the one you reply to", DE: "deine letzte Nachricht noch einmal versuchen, oder die, auf die du antwortest",
			ES: "intentar de nuevo tu último mensaje, o aquel al que respondes", FR: "réessayer votre dernier message, ou celui auquel vous répondez",
			IT: "riprovare il tuo ultimo messaggio, o quello a cui rispondi",
		}, Run: r.retry},
		{Name: "resend", About: commands.Text{
			EN: "send again what may not have arrived here", DE: "noch einmal senden, was hier vielleicht nicht ankam", ES: "enviar de nuevo lo que quizá no llegó aquí",
			FR: "renvoyer ce qui n'est peut-être pas arrivé ici", IT: "inviare di nuovo ciò che forse qui non è arrivato",
		}, Run: r.resend},
		{Name: "reset", About: commands.Text{
			EN: "forget this conversation", DE: "dieses Gespräch vergessen", ES: "olvidar esta conversación", FR: "oublier cette conversation", IT: "dimenticare questa conversazione",
		}, Run: r.reset},
		{Name: "grants", Typed: true, Args: "[remove NUMBER]", About: commands.Text{
			EN: "what I may do without asking", DE: "was ich ungefragt darf", ES: "lo que puedo hacer sin preguntar", FR: "ce que je peux faire sans demander", IT: "che cosa posso fare senza chiedere",
		}, Run: r.grants},
		{Name: "approve", Typed: true, Args: "CODE [session|always]", About: commands.Text{
			EN: "allow what I asked for", DE: "erlauben, worum ich bat", ES: "permitir lo que pedí", FR: "permettre ce que j'ai demandé", IT: "permettere ciò che ho chiesto",
		}, Run: r.approve},
		{Name: "deny", Typed: true, Args: "CODE [WHY]", About: commands.Text{
			EN: "do not allow it", DE: "es nicht erlauben", ES: "no permitirlo", FR: "ne pas le permettre", IT: "non permetterlo",
		}, Run: r.approve},
		{Name: "link", Typed: true, About: commands.Text{
			EN: "use me from another account of yours too", DE: "ein anderes Konto von dir auch zu dir machen", ES: "que otra cuenta tuya también seas tú",
			FR: "faire d'un autre de vos comptes le vôtre aussi", IT: "fare sì che un altro tuo account sia anche tu",
		}, Run: r.link},
		{Name: "unlink", Typed: true, Args: "[IDENTITY]", About: commands.Text{
			EN: "remove one of your linked accounts", DE: "ein Konto von dir wieder lösen", ES: "quitar de nuevo una cuenta tuya",
			FR: "détacher de nouveau un de vos comptes", IT: "staccare di nuovo un tuo account",
		}, Run: r.unlink},
		{Name: "claim", Hidden: true, Direct: true, Args: "CODE", About: commands.Text{
			EN: "become an admin with a code", DE: "mit einem Code Admin werden", ES: "ser administrador con un código", FR: "devenir administrateur avec un code", IT: "diventare amministratore con un codice",
		}, Run: r.claim},
		{Name: "secret", Admin: true, Typed: true, Args: "list|set NAME VALUE|remove NAME", About: commands.Text{
			EN: "passwords and keys, kept encrypted", DE: "der verschlüsselte Speicher", ES: "el almacén cifrado", FR: "le coffre chiffré", IT: "l'archivio cifrato",
		}, Run: r.secret},
		{Name: "whoami", About: commands.Text{
			EN: "who you are to me", DE: "wer du für mich bist", ES: "quién eres para mí", FR: "qui vous êtes pour moi", IT: "chi sei per me",
		}, Run: r.whoami},
	}, append(r.sessionCommands(),
		commands.Command{Name: "help", About: commands.Text{
			EN: "what I can do", DE: "was ich kann", ES: "qué sé hacer", FR: "ce que je sais faire", IT: "che cosa so fare",
		}, Run: r.help},
	)...)
}

func (r *Router) help(_ context.Context, c *commands.Call) (commands.Answer, error) {
	return commands.Says("%s", r.commands.Help(audience(c))), nil
}

func (r *Router) start(_ context.Context, c *commands.Call) (commands.Answer, error) {
	text := fmt.Sprintf("Hello %s. "+greeting, calledBy(c), c.Person.Role)
	if c.IsAdmin() && c.Conversation().Kind == channels.Direct {
		text += r.notSetUp()
	}
	return commands.Says("%s", text), nil
}

func (r *Router) claim(_ context.Context, c *commands.Call) (commands.Answer, error) {
	return commands.Says("To become an admin, send me \"%sclaim\" and the code, in a direct chat on a chat platform. "+
		"\"switchboard person claim\", on the machine that I run on, prints one.", c.Slash), nil
}

func (r *Router) cancel(_ context.Context, c *commands.Call) (commands.Answer, error) {
	return commands.Answer{Intent: &ledger.ControlIntent{Effect: ledger.EffectCancel, AnyPerson: c.IsAdmin()}}, nil
}

func (r *Router) reset(_ context.Context, c *commands.Call) (commands.Answer, error) {
	if !mayReset(c.Conversation(), c.Person) {
		return commands.Says("Others talk with me here too, so only an admin can make me forget this conversation."), nil
	}
	return commands.Answer{Intent: &ledger.ControlIntent{Effect: ledger.EffectReset, Reply: r.notice(c, forgotten)}}, nil
}

// notice renders a fixed text of ours as the answer to a command.
func (r *Router) notice(c *commands.Call, text string) *ledger.Reply {
	return r.Lines.Connection(c.Conversation().Channel).Notice(*c.Event, r.asTyped(c.Slash, text))
}

const forgotten = "Forgotten. If I am at work here, I go on; /cancel stops that."

// mayReset says whether person may have a conversation forgotten: where others take
// part it is theirs as well.
func mayReset(c channels.Conversation, person *ledger.Person) bool {
	return c.Kind == channels.Direct || person.Role == ledger.RoleAdmin
}

// notSetUp is what an admin reads of what is not set up yet; empty: all of it is.
func (r *Router) notSetUp() string {
	if r.Missing == nil {
		return ""
	}
	list := r.Missing()
	if len(list) == 0 {
		return ""
	}
	return "\n\nStill to do (\"switchboard doctor\" says more):\n- " + strings.Join(list, "\n- ")
}

// order makes the entry of a command: what it runs decides what it is taken as. A command
// that is applied at once takes no turn and no worker.
func (s *classifier) order(ctx context.Context, entry classified, l *channel, person *ledger.Person, name, args string) (classified, error) {
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
			entry.unsaid = ledger.OutcomeIdle
		}
	}
	answer, err := s.answer(ctx, c, &commands.Call{
		Event: &entry.Event, Person: person, Name: name, Args: args, Slash: l.Command(entry.Event.Conversation),
		Secret: commands.Secret{Name: entry.secret.name, Value: entry.secret.value},
	})
	if err != nil {
		return entry, err
	}
	switch as := answer.Intent.(type) {
	case nil:
		control := &ledger.ControlIntent{Change: answer.Change, Admins: c != nil && c.Admin}
		if answer.Say == nil {
			control.Reply = l.answered(entry.Event, person, answer)
		} else {
			event := entry.Event
			control.Say = func() *ledger.Reply { return l.answered(event, person, answer.Say()) }
		}
		entry.Intent, entry.beside = control, answer.Beside
	case *ledger.TurnIntent:
		entry.Event.Message.Quote = "" // what is replied to only says which turn is meant
		entry.Taint = taintOf(entry.Event.Message)
		entry.Intent = as
	default:
		entry.Intent = as
	}
	return entry, nil
}

// answer is what becomes of a command, which may be nil: there is none of that name.
func (s *classifier) answer(ctx context.Context, c *commands.Command, call *commands.Call) (commands.Answer, error) {
	conv := call.Conversation()
	session, err := s.Ledger.Session(ctx, conv)
	if err != nil {
		return commands.Answer{}, fmt.Errorf("read session: %w", err)
	}
	call.Session, call.TimeZone = session, s.settings().zone(session.TimeZone, call.Person.TimeZone)
	switch {
	case c == nil, c.Admin && !call.IsAdmin():
		return s.commands.Unknown(call.Name, audience(call)), nil
	case c.Admin && conv.Kind != channels.Direct:
		return commands.Says("I did nothing: please write this in a direct chat with me."), nil
	}
	return c.Run(ctx, call)
}

// audience is to whom commands are offered where one was given.
func audience(call *commands.Call) commands.Audience {
	return commands.Audience{
		Admin: call.IsAdmin(), Direct: call.Conversation().Kind == channels.Direct, Language: call.Session.Language,
	}
}

// asTyped is a text of ours with commands as people write them there.
func (r *Router) asTyped(slash, text string) string {
	return r.commandsIn.ReplaceAllString(text, "${1}"+slash+"${2}")
}

// Notice renders a fixed text of ours, with commands as people write them there.
func (c *channel) Notice(event channels.Event, text string) *ledger.Reply {
	return c.Connection.Notice(event, c.router.asTyped(c.Command(event.Conversation), text))
}

// answered renders what a command answers.
func (c *channel) answered(event channels.Event, person *ledger.Person, answer commands.Answer) *ledger.Reply {
	shown := c.Offers(event.Conversation, answer.Buttons)
	reply := c.Notice(event, answer.Text+commands.TypedOut(answer.Buttons[shown:]))
	reply.Taint = answer.Taint
	c.Offer(reply, person.Name, answer.Buttons, shown)
	return reply
}

// calledBy is what to call a person: by their name, or, where that is only an
// identity, because nobody gave them one, by what the platform calls them.
func calledBy(c *commands.Call) string {
	label := words.OneLine(c.Event.Sender.Label, outbox.ShownName)
	if c.Person.Source == ledger.FromOpen && label != "" {
		return render.Escape(label)
	}
	return c.Person.Name
}

func (r *Router) whoami(_ context.Context, c *commands.Call) (commands.Answer, error) {
	conv := c.Conversation()
	known := c.Event.Sender.Identities(conv.Channel, r.Lines.Connection(conv.Channel).Kind)
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s, role %s.", calledBy(c), c.Person.Role)
	if id := known[len(known)-1]; id == r.Local {
		b.WriteString("\nYou write to me in the terminal.")
	} else {
		fmt.Fprintf(&b, "\nYou write to me on %s. Your account there is %s.", conv.Channel, render.Escape(id))
	}
	usable := r.usable(c)
	if len(usable) == 0 {
		b.WriteString("\nYou may use no tools here.")
	} else {
		fmt.Fprintf(&b, "\nTools you may use here: %s.", strings.Join(usable, ", "))
	}
	return commands.Says("%s", b.String()), nil
}

func (r *Router) status(ctx context.Context, c *commands.Call) (a commands.Answer, err error) {
	person, key := c.Person, ledger.SessionKey(c.Conversation())
	waiting, err := r.Ledger.Waiting(ctx, key)
	if err != nil {
		return a, fmt.Errorf("count waiting turns: %w", err)
	}
	turn, err := r.current(ctx, key)
	if err != nil {
		return a, err
	}
	var b strings.Builder
	b.WriteString(r.modelHere(cmp.Or(c.Session.Model, r.settings().Model)) + "\n")
	switch {
	case turn == nil:
		b.WriteString("Nothing was asked yet.")
	case turn.State == string(ledger.TurnWaiting):
		a.Taint = turn.Repeated(person.Name)
		what := "a decision"
		if turn.Outcome == agent.OutcomePersonAway {
			what = render.Escape(turn.Person) + ", who is away"
		}
		fmt.Fprintf(&b, "I wait for %s before I answer this (turn %d): %s", what, turn.ID, words.OneLine(turn.Text, 100))
		if wish := turn.Wish(); wish != "" {
			fmt.Fprintf(&b, "\nMay I do this: %s", words.OneLine(wish, 200))
		}
	case turn.NextTry != nil:
		a.Taint = turn.Repeated(person.Name)
		fmt.Fprintf(&b, "The language model does not answer, so this waits (turn %d): %s\nI try again in %s.",
			turn.ID, words.OneLine(turn.Text, 100), words.Span(max(time.Until(*turn.NextTry), time.Second)))
		err = r.sayModelFault(ctx, &b, c, turn.ID)
	case ledger.TurnState(turn.State).Open():
		a.Taint = turn.Repeated(person.Name)
		fmt.Fprintf(&b, "Turn %d is %s: %s", turn.ID, turn.State, words.OneLine(turn.Text, 100))
	default:
		fmt.Fprintf(&b, "Nothing is running here. My last answer (turn %d): %s.", turn.ID, words.Ended(turn.State, turn.Outcome))
		if turn.State == "failed" {
			err = r.sayModelFault(ctx, &b, c, turn.ID)
		}
	}
	if err != nil {
		return a, err
	}
	if waiting > 0 {
		fmt.Fprintf(&b, "\nMessages waiting: %d.", waiting)
	}
	a.Text = b.String()
	return a, nil
}

// sayModelFault says why the turn's last model failed, to those who may set it right.
func (r *Router) sayModelFault(ctx context.Context, b *strings.Builder, c *commands.Call, id int64) error {
	if !mayMend(c.Conversation(), c.Person) {
		return nil
	}
	turn, err := r.Ledger.Turn(ctx, id, false)
	if err != nil {
		return fmt.Errorf("read turn: %w", err)
	}
	if fault := turn.ModelFault(); fault != "" {
		fmt.Fprintf(b, "\nThe language model failed: %s", render.Escape(fault))
	}
	return nil
}

func (r *Router) plan(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	turn, err := r.current(ctx, ledger.SessionKey(c.Conversation()))
	if err != nil {
		return commands.Answer{}, err
	}
	if turn == nil || len(turn.Plans) == 0 {
		return commands.Says("There is no plan yet."), nil
	}
	return commands.Answer{Text: turn.BriefPlan(), Taint: turn.Repeated(c.Person.Name)}, nil
}
