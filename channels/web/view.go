package web

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/router/approvals"
	"switchboard/router/turns"
)

// window is how many events of a session are shown at first, and by each press for older ones.
const window = 200

// An item is one thing in a conversation, of which one field is set.
type item struct {
	Message  *message
	Plan     *plan
	Task     *task // of a plan that is there already; in streams alone
	Approval *approval
	End      *end
}

// A message is a text in or out.
type message struct {
	channels.SessionMessage
	Session string // its key
	Turn    int64
	At      time.Time
	Event   int64
	Mine    bool // the visitor wrote it
	Buttons []channels.Button
	Left    *time.Duration // as of formatter.text
}

// Out says that we said it.
func (m *message) Out() bool { return m.Direction == "out" }

// pressed is kept with a message that a press of a button wrote.
type pressed struct {
	Label string `json:"pressed"`
}

// Pressed is the label of the button whose press wrote the message; empty: somebody typed it.
func (m *message) Pressed() (label string) {
	var p pressed
	if m.Mine { // what other programs sent along says nothing of buttons
		_ = json.Unmarshal(m.Metadata, &p)
	}
	return p.Label
}

// A plan is a checklist that ticks itself.
type plan struct {
	Turn    int64
	Attempt int
	Goal    string
	Tasks   []task
	More    int    // tasks that are not listed
	Anew    string // why another plan was made; empty: none was
	Over    bool   // its turn has ended, or another plan took its place
	Swap    bool   // it takes the place of what is there of it
}

// Shown says that the plan tells more than the answer does.
func (p *plan) Shown() bool { return len(p.Tasks) > 1 || len(p.Tasks) == 1 && p.Tasks[0].Type != "msg" }

// A task is a line of it.
type task struct {
	Turn              int64
	Attempt, Position int
	Type              string `json:"type"`
	Tool              string `json:"tool"`
	Detail            string `json:"detail"`
	State             string `json:"state"`
	Swap              bool
}

// An approval waits for a decision, or was decided.
type approval struct {
	ID      int64
	Turn    int64
	State   string
	By      string
	Request string // what is asked for; empty: nobody here needs to know any more
	Rule    string
	Once    bool   // it can be allowed once only
	Mine    bool   // the visitor may decide
	Swap    bool   // as of a plan
	Code    string // that stands in the message which asks here, in whose place it is; empty: in none
	From    string // the page to which a plain form leads back; empty: the chat
}

// An end is what became of a turn that has not simply answered.
type end struct {
	Turn  int64
	State string
}

// The data of events, as router and store write it.
type (
	planData struct {
		Attempt int    `json:"attempt"`
		Goal    string `json:"goal"`
		Count   int    `json:"count"`
		Tasks   []task `json:"tasks"`
	}
	reviewData struct {
		Attempt int    `json:"attempt"`
		Status  string `json:"status"`
		Reason  string `json:"reason"`
	}
	taskData struct {
		Attempt  int    `json:"attempt"`
		Position int    `json:"position"`
		State    string `json:"state"`
	}
	approvalData struct {
		ID    int64  `json:"id,string"`
		State string `json:"state"`
		By    string `json:"by"`
		Code  string `json:"code"`
	}
	turnData struct {
		State string `json:"state"`
	}
)

func data[T any](e *channels.SessionEvent) (d T) {
	_ = json.Unmarshal(e.Data, &d) // what another version wrote is shown as far as it can be read
	return d
}

// A conversation is what was said in a session, as one person sees it.
type conversation struct {
	Session string // its key
	Last    int64  // event that was taken
	Working int64  // the turn that is worked on; 0: none
	Waiting bool   // it waits for somebody
	Ours    bool   // the visitor may write in it here

	me    string
	items []item
	plans map[[2]int64]*plan // by turn and attempt
}

func newConversation(session, me string) *conversation {
	return &conversation{Session: session, me: me, plans: map[[2]int64]*plan{}}
}

// take adds an event. What it adds or changes is returned; nil: nothing that is seen.
func (c *conversation) take(e *channels.SessionEvent) *item {
	c.Last = max(c.Last, e.N)
	switch e.Kind {
	case "message":
		if e.Message.Direction == "out" && c.asks(e.Message) {
			return nil
		}
		return c.add(item{Message: &message{SessionMessage: *e.Message, Session: c.Session, Turn: e.TurnID, At: e.At, Event: e.N, Mine: e.Message.Direction == "in" && e.Message.Author == c.me && strings.HasPrefix(c.Session, Kind+":")}})
	case "plan":
		d := data[planData](e)
		p := &plan{Turn: e.TurnID, Attempt: d.Attempt, Goal: d.Goal, Tasks: d.Tasks, More: d.Count - len(d.Tasks)}
		for i := range p.Tasks {
			p.Tasks[i].Turn, p.Tasks[i].Attempt, p.Tasks[i].Position, p.Tasks[i].State = e.TurnID, d.Attempt, i, "pending"
		}
		if before := c.plans[[2]int64{e.TurnID, int64(d.Attempt) - 1}]; before != nil {
			before.Over = true
		}
		c.plans[[2]int64{e.TurnID, int64(d.Attempt)}] = p
		return c.add(item{Plan: p})
	case "task":
		d := data[taskData](e)
		if p := c.plans[[2]int64{e.TurnID, int64(d.Attempt)}]; p != nil && d.Position >= 0 && d.Position < len(p.Tasks) {
			p.Tasks[d.Position].State = d.State
			return &item{Plan: p, Task: &p.Tasks[d.Position]}
		}
	case "review":
		d := data[reviewData](e)
		if p := c.plans[[2]int64{e.TurnID, int64(d.Attempt)}]; p != nil && d.Status == "replan" {
			p.Anew = d.Reason
			return &item{Plan: p}
		}
	case "approval":
		d := data[approvalData](e)
		for i := range c.items {
			if a := c.items[i].Approval; a != nil && a.ID == d.ID {
				a.State, a.By, a.Request = d.State, d.By, ""
				return &c.items[i]
			}
		}
		return c.add(item{Approval: &approval{ID: d.ID, Turn: e.TurnID, State: d.State, By: d.By, Code: d.Code}})
	case "turn":
		return c.turn(e.TurnID, data[turnData](e).State)
	}
	return nil
}

// asks says that a message is the question of an approval that is there: its event comes first.
func (c *conversation) asks(m *channels.SessionMessage) bool {
	return slices.ContainsFunc(c.items, func(i item) bool {
		return i.Approval != nil && i.Approval.Code != "" && strings.Contains(m.Text, i.Approval.Code)
	})
}

func (c *conversation) add(i item) *item {
	c.items = append(c.items, i)
	return &c.items[len(c.items)-1]
}

// turn notes how far a turn is.
func (c *conversation) turn(id int64, state string) *item {
	c.Waiting = state == string(turns.TurnWaiting)
	if turns.TurnState(state).Open() {
		c.Working = id
		return nil
	}
	if c.Working == id {
		c.Working = 0
	}
	for key, p := range c.plans {
		p.Over = p.Over || key[0] == id
	}
	if state == string(turns.TurnFailed) || state == string(turns.TurnCancelled) {
		return c.add(item{End: &end{id, state}})
	}
	return nil
}

// read is a session's conversation from an event on, and where it begins.
func (s *Site) read(ctx context.Context, v *visitor, session string, after, upto int64) (*conversation, error) {
	c := newConversation(session, v.person.Name)
	c.Ours = s.own(v, session)
	for {
		page, err := s.Chats.Events(ctx, session, after, window)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if page[i].N > upto {
				return c, s.complete(ctx, v, c)
			}
			after = page[i].N
			c.take(&page[i])
		}
		if len(page) < window {
			return c, s.complete(ctx, v, c)
		}
	}
}

// complete adds what the events do not say: which buttons can be pressed, and what is asked for.
func (s *Site) complete(ctx context.Context, v *visitor, c *conversation) error {
	var said []int64
	for i := range c.items {
		if m := c.items[i].Message; m != nil && m.Out() && c.Ours {
			said = append(said, m.ID)
		}
		if a := c.items[i].Approval; a != nil && a.State == "proposed" {
			if err := s.request(ctx, v, c.Session, a); err != nil {
				return err
			}
		}
	}
	buttons, err := s.Chats.Buttons(ctx, said...)
	left := new(highlightPage)
	for i := range c.items {
		if m := c.items[i].Message; m != nil {
			m.Buttons, m.Left = buttons[m.ID], left
		}
	}
	return err
}

// settled are the approvals and the messages that are shown with buttons, of which none can be pressed any more. Shown are elements that
// have some, besides those that c knows of.
func (s *Site) settled(ctx context.Context, v *visitor, c *conversation, shown []string) (decided []*approval, messages []int64, err error) {
	for i := range c.items {
		if m := c.items[i].Message; m != nil && (len(m.Buttons) > 0 || slices.Contains(shown, fmt.Sprint("b-", m.ID))) {
			messages = append(messages, m.ID)
		}
		if a := c.items[i].Approval; a != nil && a.State == "proposed" && (a.Request != "" || slices.Contains(shown, fmt.Sprint("a-", a.ID))) {
			now := approval{ID: a.ID, Turn: a.Turn, State: a.State, Code: a.Code, Swap: true}
			if err := s.request(ctx, v, c.Session, &now); err != nil {
				return nil, nil, err
			}
			if now.Request == "" {
				*a = now
				decided = append(decided, a)
			}
		}
	}
	buttons, err := s.Chats.Buttons(ctx, messages...)
	if err != nil {
		return decided, nil, err
	}
	messages = slices.DeleteFunc(messages, func(id int64) bool { return len(buttons[id]) > 0 })
	for i := range c.items {
		if m := c.items[i].Message; m != nil && slices.Contains(messages, m.ID) {
			m.Buttons = nil
		}
	}
	return decided, messages, nil
}

// request reads what an approval asks for.
func (s *Site) request(ctx context.Context, v *visitor, session string, a *approval) error {
	open, err := s.Approvals.OpenApprovals(ctx, a.Turn)
	for _, o := range open {
		if o.ID == a.ID {
			a.Request, a.Rule, a.Once = strings.TrimSpace(o.Tool+" "+o.Shown), o.Rule, o.Once
			a.Mine = v.admin() || slices.ContainsFunc(o.Questions, func(p approvals.Place) bool { return p.Session == session && p.Code != "" })
		}
	}
	return err
}
