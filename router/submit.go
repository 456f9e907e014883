package router

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

// ErrNotHere is returned by Submit, which did nothing, where this engine does not serve the
// channel: another may, or this one later.
var ErrNotHere = errors.New("its channel is not connected here")

// Submit puts in what nobody typed: what a job has us say, or do as a turn. It is committed and
// claimed as Accept does it. An error says that nobody knows whether it was: it is to be
// submitted again, which its key makes harmless.
func (r *Router) Submit(ctx context.Context, s jobs.Submission) (done jobs.Submitted, err error) {
	if s.Key == "" || blank(s.Text) || s.Person == "" && !s.Say {
		return done, errors.New("submit: it has no key, no text, or nobody's rights")
	}
	if !r.enter() {
		return done, errStopping
	}
	defer r.accepts.Done()
	ctx, end := r.untilHandBack(ctx)
	defer end()
	person, err := r.submitter(ctx, s.Person)
	if err != nil {
		return done, err
	} else if person == nil && r.Roster.Away(s.Person) {
		return done, fmt.Errorf("submit for %s: %w", s.Person, people.ErrAway)
	} else if person == nil && s.Person != "" {
		done.Refused = jobs.RefusedPerson + ": " + s.Person + " is not known any more"
		return done, nil
	}
	version := r.Settled.Counting()
	chat, err := r.Store.Chat(ctx, s.To)
	switch {
	case err == nil && s.Abroad && r.Roster.Away(chat.Person):
		return done, fmt.Errorf("submit to %s: %w", core.SessionKey(s.To), people.ErrAway)
	case errors.Is(err, core.ErrNotFound):
		done.Refused = fmt.Sprintf("%s: %s is not known", jobs.RefusedConversation, core.SessionKey(s.To))
		return done, nil
	case err != nil:
		return done, fmt.Errorf("submit: %w", err)
	}
	line := r.Channels.here(chat.Channel)
	if line == nil {
		return done, fmt.Errorf("submit to %s: %w", chat.Channel, ErrNotHere)
	}
	if person != nil {
		s.Person = person.Name
		if placer, ok := line.adapter.(channels.Placer); ok && chat.Kind != channels.Direct && !line.allows(&r.moves, chat.Conversation) {
			if chat.Within, err = placer.Within(ctx, chat.ID); err != nil {
				return done, fmt.Errorf("submit to %s: %w", core.SessionKey(chat.Conversation), err)
			}
		}
		if why := line.mayHaveSaid(person, &chat, s.Abroad && s.Say); why != "" {
			if err := r.Settled.StandsAt(ctx, version); err != nil {
				return done, fmt.Errorf("submit to %s: %w", core.SessionKey(chat.Conversation), err)
			}
			done.Refused = jobs.RefusedRights + ": " + why
			return done, nil
		}
	}
	if chat.Kind != channels.Direct {
		s.Text = cmp.Or(s.InGroup, s.Text)
	}
	s.To, s.Text, s.Notification = chat.Conversation, r.Mask.Text(s.Text), r.Mask.Text(s.Notification)
	return (&submission{r, s, line}).commit(ctx, person != nil && chat.Kind == channels.Direct && chat.Person == person.Name)
}

// A submission is what was looked into, on its channel.
type submission struct {
	*Router
	jobs.Submission
	line *channel
}

// commit commits what was looked into. Own: it goes to a chat of its person's.
func (s *submission) commit(ctx context.Context, own bool) (done jobs.Submitted, err error) {
	turn := intake.TurnIntent{QueueLimit: s.settings().Config.QueuePerSession}
	var say *outbox.Reply
	if s.Say {
		say = s.line.told(&s.Submission, own)
	} else {
		turn.MayClaim = s.turns.MayBegin(s.Person)
	}
	stops := s.turns.Stops()
	accepted, err := s.Store.Submit(ctx, s.Engine.ID(), s.Submission, turn, say)
	if turn.MayClaim && accepted.Claimed == nil {
		s.turns.GiveWorker(s.Person)
	}
	switch {
	case err != nil && turn.MayClaim:
		s.turns.Compare() // it may be committed all the same
		fallthrough
	case err != nil:
		return done, fmt.Errorf("submit: %w", err)
	case accepted.Claimed != nil:
		s.turns.Begin(*accepted.Claimed, stops, s.Person)
	case accepted.Waiting:
		s.turns.Queued()
	}
	s.Connections.Active()
	if s.Say || s.line.Reads() {
		s.line.Committed(s.To)
	}
	return jobs.Submitted{
		Turn: accepted.TurnID, Message: accepted.MessageID, Duplicate: accepted.Duplicate, Refused: accepted.Refusal,
	}, nil
}

// submitter is the person under whose rights something is submitted, as they are now; nil:
// nobody is known by that name.
func (r *Router) submitter(ctx context.Context, name string) (*core.Person, error) {
	if name == "" {
		return nil, nil
	}
	if p := r.Roster.Named(name); p != nil {
		return p, nil
	}
	err := r.Roster.Learn(ctx, name) // another engine may have let them in
	return r.Roster.Named(name), err
}

// mayHaveSaid says why person may not have us speak in a conversation; empty: they may. Abroad:
// it may be wherever they may have us write to.
func (l *channel) mayHaveSaid(p *core.Person, c *core.Chat, abroad bool) string {
	key := core.SessionKey(c.Conversation)
	if c.Kind != channels.Direct {
		switch {
		case l.config.Groups == "disabled", abroad && p.Role != core.RoleAdmin,
			!abroad && p.Source == core.FromOpen && l.config.Groups != "open",
			!abroad && l.config.Groups != "open" && !l.allows(&l.router.moves, c.Conversation):
			return fmt.Sprintf("%s may not have me speak in the group %s", p.Name, key)
		}
		return ""
	}
	to := p
	if abroad {
		to = l.router.Roster.Named(c.Person)
	}
	switch {
	case to == nil || c.Person != to.Name:
		return fmt.Sprintf("%s is no direct chat of %s", key, p.Name)
	case l.config.DM == "disabled", to.Source == core.FromOpen && l.config.DM != "open", !l.IsOf(*c, to):
		return fmt.Sprintf("%s is not served in %s any more", to.Name, key)
	}
	return ""
}

// told renders what is said unasked. Who is not its person reads whose words they are.
func (c *channel) told(s *jobs.Submission, own bool) *outbox.Reply {
	shown := c.Offers(s.To, s.Buttons)
	text := s.Text + c.router.asTyped(c.Command(s.To), commands.TypedOut(s.Buttons[shown:]))
	var reply outbox.Reply
	if s.Abroad && !own {
		reply = c.Relayed(s.To, s.Person, text, s.Taint)
	} else {
		reply = c.Told(s.To, text, s.Taint)
	}
	reply.Person = s.Person
	if s.To.Kind != channels.Direct {
		reply.ReplyTo = s.ReplyTo
	}
	c.Offer(&reply, s.Person, s.Buttons, shown)
	return &reply
}

// Tell says something to a person in the direct chat that they used last, once by the key, and marks
// missed runs as told in the same transaction. False: they have none in which they are served.
func (r *Router) Tell(ctx context.Context, person, key, text string, missed ...int64) (bool, error) {
	return r.tell(ctx, person, key, text, false, missed...)
}

// TellElsewhere is Tell in a chat of a platform, where nobody reads by what they are to be told. No prompt has it.
func (r *Router) TellElsewhere(ctx context.Context, person, key, text string) (bool, error) {
	return r.tell(ctx, person, key, text, true)
}

func (r *Router) tell(ctx context.Context, person, key, text string, elsewhere bool, missed ...int64) (bool, error) {
	version := r.Settled.Counting()
	chats, err := r.Store.PersonChats(ctx, person)
	if err != nil {
		return false, fmt.Errorf("tell %s: %w", person, err)
	}
	open := r.Messages.open(chats)
	if len(open) == 0 && len(chats) > 0 {
		err = r.Settled.StandsAt(ctx, version)
	}
	if elsewhere {
		open = slices.DeleteFunc(open, func(c core.Chat) bool { return r.Connections.Connection(c.Channel).Reads() })
	}
	if err != nil || len(open) == 0 {
		return false, err
	}
	to, line := open[0].Conversation, r.Connections.Connection(open[0].Channel)
	reply, once := line.Told(to, text, ""), sha256.Sum256([]byte("tell\x00"+key))
	if reply.Person = person; elsewhere {
		reply.Taint = tools.Label // which keeps it out of what models read of the chat
	}
	if err := r.Store.Tell(ctx, once[:], to, reply, missed); err != nil {
		return false, fmt.Errorf("tell %s: %w", person, err)
	}
	line.Committed(to)
	return true, nil
}
