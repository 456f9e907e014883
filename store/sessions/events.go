package sessions

import (
	"slices"
	"strings"
	"unicode/utf8"

	"switchboard/agent"
	"switchboard/router/outbox"
	"switchboard/store/database"
)

const (
	nextEvents = `UPDATE sessions SET next_event = next_event + ?, used_at = ?, restless = TRUE WHERE id = ? RETURNING next_event`
	nextAtRest = `UPDATE sessions SET next_event = next_event + 1 WHERE id = ? RETURNING next_event`
	eventRow   = `(?, ?, ?, ?, ?, ?, ?)`
)

// insertEvents is how many events are written by one statement: its place and one.
var insertEvents = func() (list [8]string) {
	for i := range list {
		list[i] = `INSERT INTO events (session_id, n, kind, turn_id, message_id, data, created_at) VALUES ` +
			strings.Repeat(eventRow+", ", i) + eventRow
	}
	return list
}()

// maxEventData bounds the data of one event, in bytes.
const maxEventData = 2048

// An Event is a row of events before it has its number.
type Event struct {
	Kind    string `json:"kind"`
	Turn    int64  `json:"turn"`    // 0: none
	Message int64  `json:"message"` // 0: none
	Data    string `json:"data"`
}

// EmitRest numbers and writes an event that says of a session that nothing happens there.
func EmitRest(t *database.Tx, session int64, e Event) (n int64, err error) {
	if _, err = t.Row(nextAtRest, []any{session}, &n); err != nil {
		return 0, err
	}
	return n, writeEvents(t, session, n, e)
}

// Emit numbers events and writes them; it returns the first number.
func Emit(t *database.Tx, session int64, events ...Event) (first int64, err error) {
	if len(events) == 0 {
		return 0, nil
	}
	var last int64
	if _, err := t.Row(nextEvents, []any{len(events), t.Now, session}, &last); err != nil {
		return 0, err
	}
	first = last - int64(len(events)) + 1
	return first, writeEvents(t, session, first, events...)
}

func writeEvents(t *database.Tx, session, n int64, events ...Event) error {
	for some := range slices.Chunk(events, len(insertEvents)) {
		args := make([]any, 0, 7*len(some))
		for _, e := range some {
			args = append(args, session, n, e.Kind, OrNull(e.Turn), OrNull(e.Message), e.Data, t.Now)
			n++
		}
		if err := t.Do(insertEvents[len(some)-1], args...); err != nil {
			return err
		}
	}
	return nil
}

// OrNull is an ID as stored; 0 is NULL.
func OrNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

type turnData struct {
	State   string `json:"state"`
	Outcome string `json:"outcome,omitempty"`
}

type planData struct {
	Attempt int            `json:"attempt"`
	Goal    string         `json:"goal"`
	Count   int            `json:"count"` // tasks in the plan, of which the first are listed
	Tasks   []planDataTask `json:"tasks"`
}

type planDataTask struct {
	Type   string `json:"type"`
	Tool   string `json:"tool,omitempty"`
	Detail string `json:"detail"`
}

type taskData struct {
	Attempt  int    `json:"attempt"`
	Position int    `json:"position"`
	Type     string `json:"type,omitempty"`
	State    string `json:"state"`
	Outcome  string `json:"outcome,omitempty"`
	Code     string `json:"code,omitempty"`
}

type reviewData struct {
	Attempt  int    `json:"attempt"`
	Position int    `json:"position"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"`
}

// StepEvents are the events of a step before those of its messages and its end.
func StepEvents(turn int64, step *agent.Step) []Event {
	events := []Event{}
	if step.Plan != nil {
		events = append(events, planEvent(turn, step.Plan))
	}
	// A verdict rides with the start of the task behind the one it is on.
	if step.Review != nil {
		events = append(events, reviewEvent(turn, step.Review))
	}
	for _, c := range step.Tasks {
		events = append(events, taskEvent(turn, c))
	}
	return events
}

// TurnEvent tells of the state that a turn is in now.
func TurnEvent(turn int64, state, outcome string) Event {
	return Event{Kind: "turn", Turn: turn, Data: database.JSONText(turnData{state, cut(database.Clean(outcome), 100)})}
}

func planEvent(turn int64, p *agent.PlanRow) Event {
	d := planData{Attempt: p.Attempt, Goal: cut(database.Clean(p.Goal), 300), Count: len(p.Tasks), Tasks: []planDataTask{}}
	// Escapes in JSON make a text up to six times as long.
	for long := 120; ; long /= 2 {
		d.Tasks = d.Tasks[:0]
		for _, task := range p.Tasks[:min(len(p.Tasks), 20)] {
			row := planDataTask{Type: string(task.Type), Detail: cut(database.Clean(task.Detail), long)}
			if task.Tool != nil {
				row.Tool = cut(database.Clean(*task.Tool), min(long, 40))
			}
			d.Tasks = append(d.Tasks, row)
		}
		text := database.JSONText(d)
		if len(text) <= maxEventData {
			return Event{Kind: "plan", Turn: turn, Data: text}
		}
		if long == 0 {
			d.Goal = cut(d.Goal, 100)
			if len(p.Tasks) > 0 {
				p = &agent.PlanRow{Tasks: p.Tasks[:len(p.Tasks)/2]}
			}
		}
	}
}

func taskEvent(turn int64, c agent.TaskChange) Event {
	d := taskData{Attempt: c.Attempt, Position: c.Position, Type: string(c.Type), State: string(c.State)}
	if c.Result != nil {
		d.Outcome, d.Code = string(c.Result.End), cut(database.Clean(c.Result.Code), 100)
	}
	return Event{Kind: "task", Turn: turn, Data: database.JSONText(d)}
}

func reviewEvent(turn int64, r *agent.Review) Event {
	return Event{Kind: "review", Turn: turn, Data: database.JSONText(reviewData{r.Attempt, r.Position, r.Status, cut(database.Clean(r.Reason), 300)})}
}

// cut shortens s to n bytes at most, at a rune, with an ellipsis where it was cut.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n-len("…"), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

type deliveryData struct {
	Delivery int64  `json:"delivery,string"`
	Part     int    `json:"part"`
	State    string `json:"state"`
	Outcome  string `json:"outcome,omitempty"`
}

// DeliveryEvent says what became of a part.
func DeliveryEvent(turn, delivery int64, part int, state outbox.DeliveryState, outcome string) Event {
	return Event{Kind: "delivery", Turn: turn, Data: database.JSONText(deliveryData{delivery, part, string(state), cut(database.Clean(outcome), 100)})}
}

// NeedsEvent says whether a settlement is worth an event. What was sent at the first try is
// not: the event of its message says so, and every message would pay for one more.
func NeedsEvent(d *outbox.Delivery, s *outbox.Settlement) bool {
	switch s.State {
	case outbox.DeliverySent:
		return d.Tries > 1 || d.Repeated || d.State == outbox.DeliveryUnknown
	case outbox.DeliveryUnknown:
		return s.Final || d.State != outbox.DeliveryUnknown
	case outbox.DeliveryDead, outbox.DeliveryDropped:
		return true
	}
	return false
}

// messageOf finds where an event about a message's part belongs.
const messageOf = `SELECT coalesce(session_id, 0), coalesce(turn_id, 0) FROM messages WHERE id = ?`

// EmitSettled writes the event of a settlement.
func EmitSettled(t *database.Tx, message int64, d *outbox.Delivery, s *outbox.Settlement) error {
	if !NeedsEvent(d, s) {
		return nil
	}
	var session, turn int64
	if _, err := t.Row(messageOf, []any{message}, &session, &turn); err != nil || session == 0 {
		return err
	}
	_, err := Emit(t, session, DeliveryEvent(turn, d.ID, d.Part, s.State, s.Outcome))
	return err
}
