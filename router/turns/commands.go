package turns

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
)

// Views reads turns for the commands.
type Views interface {
	// Turn reads one turn whole; prompts adds the bodies of its model calls. ErrNotFound.
	Turn(ctx context.Context, id int64, prompts bool) (*Turn, error)
	// Current is the turn somebody in the session (key "channel:conversation") means
	// by "now": the running one, else the next queued one, else the newest that waits
	// for a decision, else the newest, with its plans and no more. ErrNotFound.
	Current(ctx context.Context, session string) (*Turn, error)
	// TurnOf is the turn that the message which the platform knows by that ID asked for,
	// or was said by, in a conversation; with no ID the newest that was asked for there.
	// ErrNotFound.
	TurnOf(ctx context.Context, conv channels.Conversation, id channels.MessageID) (int64, error)
	// Waiting counts the queued turns of a session.
	Waiting(ctx context.Context, session string) (int, error)
}

// Commands are /status, /plan, /why, /cancel and /retry.
type Commands struct {
	Views Views
	// Model says which model plans in a session.
	Model func(core.Session) string
	// Queued is how an event is queued that becomes a turn.
	Queued func(channels.Event) intake.TurnIntent
}

// Rows are the rows of the table.
func (v *Commands) Rows() []commands.Command {
	return []commands.Command{
		{Name: "status", About: commands.Text{
			EN: "what I am doing", DE: "was ich gerade tue", ES: "qué estoy haciendo", FR: "ce que je fais", IT: "che cosa sto facendo",
		}, Run: v.status},
		{Name: "plan", About: commands.Text{
			EN: "the plan I am on, or the last one", DE: "der Plan, an dem ich bin, oder der letzte", ES: "el plan en curso, o el último",
			FR: "le plan en cours, ou le dernier", IT: "il piano in corso, o l'ultimo",
		}, Run: v.plan},
		{Name: "why", Args: "[TURN]", About: commands.Text{
			EN: "why I answered as I did, step by step", DE: "warum es so kam, Schritt für Schritt", ES: "por qué fue así, paso a paso",
			FR: "pourquoi cela s'est passé ainsi, pas à pas", IT: "perché è andata così, passo per passo",
		}, Run: v.why},
		{Name: "cancel", Free: true, About: commands.Text{
			EN: "stop what I am doing for you", DE: "abbrechen, was ich für dich tue", ES: "parar lo que hago para ti",
			FR: "arrêter ce que je fais pour vous", IT: "fermare ciò che faccio per te",
		}, ToAdmins: commands.Text{
			EN: "stop what I am doing here, whoever asked for it", DE: "abbrechen, was ich hier tue, für wen auch immer", ES: "parar lo que hago aquí, para quien sea",
			FR: "arrêter ce que je fais ici, pour qui que ce soit", IT: "fermare ciò che faccio qui, per chiunque",
		}, Run: v.cancel},
		{Name: "retry", About: commands.Text{
			EN: "try your latest message again, or the one you reply to", DE: "deine letzte Nachricht noch einmal versuchen, oder die, auf die du antwortest",
			ES: "intentar de nuevo tu último mensaje, o aquel al que respondes", FR: "réessayer votre dernier message, ou celui auquel vous répondez",
			IT: "riprovare il tuo ultimo messaggio, o quello a cui rispondi",
		}, Run: v.retry},
	}
}

// Current is the turn that somebody in the session means by "now"; nil: there is none.
func Current(ctx context.Context, views Views, session string) (*Turn, error) {
	turn, err := views.Current(ctx, session)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read current turn: %w", err)
	}
	return turn, nil
}

func (v *Commands) status(ctx context.Context, c *commands.Call) (a commands.Answer, err error) {
	person, key := c.Person, core.SessionKey(c.Conversation())
	waiting, err := v.Views.Waiting(ctx, key)
	if err != nil {
		return a, fmt.Errorf("count waiting turns: %w", err)
	}
	turn, err := Current(ctx, v.Views, key)
	if err != nil {
		return a, err
	}
	var b strings.Builder
	b.WriteString(v.Model(c.Session) + "\n")
	switch {
	case turn == nil:
		b.WriteString("Nothing was asked yet.")
	case turn.State == string(TurnWaiting):
		a.Taint = turn.Repeated(person.Name)
		what := "a decision"
		if turn.Outcome == agent.OutcomePersonAway {
			what = render.Escape(turn.Person) + ", who is away"
		}
		fmt.Fprintf(&b, "I wait for %s before I answer this (turn %d): %s", what, turn.ID, words.OneLine(turn.Text, 100))
		if wish := turn.Request(); wish != "" {
			fmt.Fprintf(&b, "\nMay I do this: %s", words.OneLine(wish, 200))
		}
	case turn.NextTry != nil:
		a.Taint = turn.Repeated(person.Name)
		fmt.Fprintf(&b, "The language model does not answer, so this waits (turn %d): %s\nI try again in %s.",
			turn.ID, words.OneLine(turn.Text, 100), words.Span(max(time.Until(*turn.NextTry), time.Second)))
		err = v.sayModelFault(ctx, &b, c, turn.ID)
	case TurnState(turn.State).Open():
		a.Taint = turn.Repeated(person.Name)
		fmt.Fprintf(&b, "Turn %d is %s: %s", turn.ID, turn.State, words.OneLine(turn.Text, 100))
	default:
		fmt.Fprintf(&b, "Nothing is running here. My last answer (turn %d): %s.", turn.ID, words.Ended(turn.State, turn.Outcome))
		if turn.State == "failed" {
			err = v.sayModelFault(ctx, &b, c, turn.ID)
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
func (v *Commands) sayModelFault(ctx context.Context, b *strings.Builder, c *commands.Call, id int64) error {
	if !c.IsAdmin() || !c.Direct() {
		return nil
	}
	turn, err := v.Views.Turn(ctx, id, false)
	if err != nil {
		return fmt.Errorf("read turn: %w", err)
	}
	if fault := turn.ModelFault(); fault != "" {
		fmt.Fprintf(b, "\nThe language model failed: %s", render.Escape(fault))
	}
	return nil
}

func (v *Commands) plan(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	turn, err := Current(ctx, v.Views, core.SessionKey(c.Conversation()))
	if err != nil {
		return commands.Answer{}, err
	}
	if turn == nil || len(turn.Plans) == 0 {
		return commands.Says("There is no plan yet."), nil
	}
	return commands.Answer{Text: turn.BriefPlan(), Taint: turn.Repeated(c.Person.Name)}, nil
}

// why answers /why: about the newest turn of the conversation, the one whose message is
// replied to, or the one of that number, in short.
func (v *Commands) why(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	conv := c.Conversation()
	var id int64
	var err error
	if c.Args == "" {
		id, err = v.Views.TurnOf(ctx, conv, c.Event.Message.ReplyTo)
	} else if id, err = strconv.ParseInt(strings.TrimPrefix(c.Args, "#"), 10, 64); err != nil {
		return commands.Says("Write /why, /why and the number of an answer, or reply with /why to a message."), nil
	}
	var turn *Turn
	if err == nil {
		turn, err = v.Views.Turn(ctx, id, false)
	}
	switch {
	case errors.Is(err, core.ErrNotFound), err == nil && turn.Session != core.SessionKey(conv): // others' turns are theirs
		return commands.Says("There is no answer with that number in this conversation."), nil
	case err != nil:
		return commands.Answer{}, fmt.Errorf("read turn: %w", err)
	}
	return commands.Answer{Text: turn.Brief(c.IsAdmin() && c.Direct()), Taint: turn.Repeated(c.Person.Name)}, nil
}

// retryTakes answers a /retry with something behind it.
const retryTakes = "I did nothing: write /retry with nothing after it. It tries your latest message again; as a reply to another message it tries that one. For anything else just write to me."

// retry is /retry: a turn that takes its place in the queue.
func (v *Commands) retry(_ context.Context, c *commands.Call) (commands.Answer, error) {
	if c.Args != "" {
		return commands.Says("%s", retryTakes), nil
	}
	turn := v.Queued(*c.Event)
	turn.Retry = &intake.Retry{Of: c.Event.Message.ReplyTo}
	return commands.Answer{Intent: &turn}, nil
}

func (v *Commands) cancel(_ context.Context, c *commands.Call) (commands.Answer, error) {
	return commands.Answer{Intent: &intake.ControlIntent{Effect: intake.EffectCancel, AnyPerson: c.IsAdmin()}}, nil
}
