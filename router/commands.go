package router

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/delivery"
	"switchboard/router/ledger"
	"switchboard/router/view"
	"switchboard/words"
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
func (r *Router) stops(ctx context.Context, event channels.Event) (bool, error) {
	word := strings.ToLower(strings.Trim(event.Message.Text, " \t\r\n.!"))
	if !ownText(event.Message) || !slices.Contains(r.Config.StopWords, word) {
		return false, nil
	}
	turn, err := r.current(ctx, ledger.SessionKey(event.Conversation))
	if err != nil && !isNobodysFault(ctx, err) { // /cancel says by itself where there is nothing to stop
		r.Log.ErrorContext(ctx, "a stop word is taken for /cancel unread", "channel", event.Conversation.Channel, "error", err)
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

const helpText = `I plan what you ask, do it step by step, check each step and answer.

Just write to me. These commands work at any time:
/status – what I am doing
/plan – the plan I am on, or the last one
/why – why it went as it did, step by step
/cancel – stop what I am doing for you
/retry – try your latest message again, or the one you reply to
/reset – forget this conversation
/grants – what I may do without asking
/link – make another account of yours you as well
/whoami – who you are to me
/help – this text`

// greeting is what /start says besides a hello; to whom is a role.
const greeting = `You are let in here, role %s.
I plan what you ask, do it step by step, check each step and answer: just write to me. /help lists the commands, /whoami says what you may do.`

// notSetUp is what an admin reads of what is not set up yet; empty: all of it is.
func (r *Router) notSetUp() string {
	if r.Missing == nil {
		return ""
	}
	list := r.Missing()
	if len(list) == 0 {
		return ""
	}
	return "\n\nStill missing, as \"switchboard doctor\" says with more:\n- " + strings.Join(list, "\n- ")
}

// control makes the entry of a command: applied and answered in the transaction
// that accepts it, with no turn and no worker.
func (s *sorting) control(ctx context.Context, entry sorted, l *channel, person *ledger.Person, name, args string) (sorted, error) {
	if name != "cancel" {
		weight := 1.0
		if entry.Event.Conversation.Kind != channels.Direct {
			weight = 2 // its answer keeps others waiting for theirs
		}
		if reason, refused := s.refuseFast(&entry, person, weight); refused {
			return l.noticed(entry, reason), nil
		}
	}
	control := &ledger.AsControl{}
	entry.As = control
	var text string
	var taint tools.Taint // of the words that the text repeats
	var err error
	switch name {
	case "help":
		text = helpText
	case "start":
		text = fmt.Sprintf("Hello %s. "+greeting, calledBy(person, &entry), person.Role)
		if person.Role == ledger.RoleAdmin && entry.Event.Conversation.Kind == channels.Direct {
			text += s.notSetUp()
		}
	case "claim":
		text = "A claim code makes whoever sends it an admin: \"" + l.Command(entry.Event.Conversation) + "claim\" and the code, in a direct chat with me on a chat platform. " +
			"\"switchboard person claim\", on the machine that I run on, prints one."
	case "whoami":
		text = s.whoami(person, &entry)
	case "status":
		text, taint, err = s.status(ctx, entry.Event.Conversation, person)
	case "plan":
		text, taint, err = s.plan(ctx, entry.Event.Conversation, person.Name)
	case "approve", "deny":
		return s.approve(entry, l, name, args), nil
	case "link":
		return s.link(entry, control, l, person, args), nil
	case "grants":
		return s.grants(ctx, entry, l, person, args)
	case "secret":
		return s.secret(ctx, entry, control, l, person, args)
	case "why":
		return s.why(ctx, entry, control, l, person, args)
	case "cancel":
		control.Effect, control.AnyPerson = ledger.EffectCancel, person.Role == ledger.RoleAdmin
		if !s.saysNothingToCancel(&entry, person) {
			entry.Replies = map[ledger.Situation]*ledger.Reply{ledger.SituationIdle: nil}
		}
		return entry, nil
	case "reset":
		if text = forgotten; !mayReset(entry.Event.Conversation, person) {
			text = "Others talk with me here too, so only an admin can make me forget this conversation."
			break
		}
		control.Effect = ledger.EffectReset
	default:
		text = "I do not know /" + name
		if meant := words.Nearest(name, menuNames[:]); meant != "" {
			text += "; did you mean /" + meant + "?"
		} else {
			text += "."
		}
		text += " /help lists the commands; anything else, write without the slash."
	}
	if err != nil {
		return entry, err
	}
	control.Reply = l.Notice(entry.Event, text)
	control.Reply.Taint = taint
	return entry, nil
}

// commandsNamed finds our commands in a text.
var commandsNamed = regexp.MustCompile(`(?m)(^|[ (])/(` + strings.Join(slices.Concat(menuNames[:], typedNames), "|") + `)\b`)

// Notice renders a fixed text of ours, with commands as people write them there.
func (c *channel) Notice(event channels.Event, text string) *ledger.Reply {
	return c.Line.Notice(event, commandsNamed.ReplaceAllString(text, "${1}"+c.Command(event.Conversation)+"${2}"))
}

const forgotten = "Forgotten. We start anew; what is under way goes on, /cancel stops it."

// mayReset says whether person may have a conversation forgotten: where others take
// part it is theirs as well.
func mayReset(c channels.Conversation, person *ledger.Person) bool {
	return c.Kind == channels.Direct || person.Role == ledger.RoleAdmin
}

// saysNothingToCancel says whether a /cancel that meets nothing is answered: each one
// is obeyed, but a flood of them is not answered one by one. It has a rate of its own,
// so that stopping something uses up nothing.
func (s *sorting) saysNothingToCancel(entry *sorted, person *ledger.Person) bool {
	tooFast, notify := s.tooFast(entry, person.Name+"\x00cancel", 1)
	return !tooFast || notify
}

// calledBy is what to call a person: by their name, or, where that is only an
// identity, because nobody gave them one, by what the platform calls them.
func calledBy(person *ledger.Person, entry *sorted) string {
	label := words.OneLine(entry.Event.Sender.Label, delivery.ShownName)
	if person.Source == ledger.FromOpen && label != "" {
		return render.Escape(label)
	}
	return person.Name
}

func (r *Router) whoami(person *ledger.Person, entry *sorted) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s, role %s.", calledBy(person, entry), person.Role)
	fmt.Fprintf(&b, "\nYou speak as %s on channel %s.", entry.Sender.Identity, entry.Event.Conversation.Channel)
	var usable []string
	if r.Usable != nil { // sessions have no mode of their own yet
		usable = r.Usable(tools.Question{Person: person.Name, Channel: entry.Event.Conversation.Channel, Mode: r.Config.DefaultMode})
	}
	if len(usable) == 0 {
		b.WriteString("\nYou may use no tools here.")
	} else {
		fmt.Fprintf(&b, "\nTools you may use here: %s.", strings.Join(usable, ", "))
	}
	return b.String()
}

func (r *Router) status(ctx context.Context, c channels.Conversation, person *ledger.Person) (text string, taint tools.Taint, err error) {
	key := ledger.SessionKey(c)
	waiting, err := r.Ledger.Waiting(ctx, key)
	if err != nil {
		return "", "", fmt.Errorf("count waiting turns: %w", err)
	}
	turn, err := r.current(ctx, key)
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s, model %s.\n", key, r.Model)
	switch {
	case turn == nil:
		b.WriteString("Nothing was asked yet.")
	case turn.State == string(ledger.TurnWaiting):
		taint = turn.Repeated(person.Name)
		fmt.Fprintf(&b, "Turn %d waits for a decision: %s", turn.ID, words.OneLine(turn.Text, 100))
		if wish := turn.Wish(); wish != "" {
			fmt.Fprintf(&b, "\nIt is whether I may do this: %s", words.OneLine(wish, 200))
		}
	case ledger.TurnState(turn.State).Open():
		taint = turn.Repeated(person.Name)
		fmt.Fprintf(&b, "Turn %d is %s: %s", turn.ID, turn.State, words.OneLine(turn.Text, 100))
	default:
		fmt.Fprintf(&b, "Idle. Turn %d ended: %s.", turn.ID, words.Ended(turn.State, turn.Outcome))
		if turn.State != "failed" || !mayMend(c, person) {
			break
		}
		if turn, err = r.Ledger.Turn(ctx, turn.ID, false); err != nil {
			return "", "", fmt.Errorf("read turn: %w", err)
		}
		if fault := turn.ModelFault(); fault != "" {
			fmt.Fprintf(&b, "\nThe language model failed: %s", render.Escape(fault))
		}
	}
	if waiting > 0 {
		fmt.Fprintf(&b, "\nWaiting: %d.", waiting)
	}
	return b.String(), taint, nil
}

func (r *Router) plan(ctx context.Context, c channels.Conversation, person string) (text string, taint tools.Taint, err error) {
	turn, err := r.current(ctx, ledger.SessionKey(c))
	if err != nil {
		return "", "", err
	}
	if turn == nil || len(turn.Plans) == 0 {
		return "There is no plan yet.", "", nil
	}
	plan := turn.Plans[len(turn.Plans)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "Turn %d, %s. Goal: %s", turn.ID, turn.State, plan.Goal)
	if plan.Attempt > 0 {
		fmt.Fprintf(&b, " (plan %d)", plan.Attempt+1)
	}
	for _, task := range plan.Tasks {
		fmt.Fprintf(&b, "\n%d. [%s] %s: %s", task.Position+1, task.State, task.Type, words.OneLine(task.Detail, 120))
		if task.Review != nil && task.Review.Status != "ok" {
			fmt.Fprintf(&b, " – %s", words.OneLine(task.Review.Reason, 200))
		}
	}
	return b.String(), turn.Repeated(person), nil
}
