package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"switchboard/channels"
	"switchboard/internal/api"
)

// errAnswered says that there is nothing more to read.
var errAnswered = errors.New("the answer is whole")

// A follower makes an answer of the events of its turn.
type follower struct {
	*reply
	turn    int64 // 0: there is none, and the next word is the answer
	into    func(turn int64) (int64, error)
	growing channels.Growing
	plan    struct {
		Count int
		Goal  string
		Tasks []struct{ Type, Tool, Detail string }
	}
}

// Put takes the next event.
func (f *follower) Put(e channels.SessionEvent) error {
	if e.Kind == channels.KindDelta {
		f.growing.Add(e)
		if f.growing.Turn != f.turn || f.turn == 0 {
			return nil
		}
		return f.grow(f.growing.Text)
	}
	switch {
	case e.Says() && f.turn == 0:
		return cmp.Or(f.end(e.Message.Text), errAnswered)
	case e.TurnID != f.turn:
		return nil
	case e.Says():
		return f.end(e.Message.Text)
	}
	var d struct {
		State           string
		Position, Count int
	}
	_ = json.Unmarshal(e.Data, &d) // of other kinds there is nothing to read
	switch e.Kind {
	case "plan":
		f.plan.Tasks = nil
		if err := json.Unmarshal(e.Data, &f.plan); err != nil || f.plan.Count < 2 {
			return nil //nolint:nilerr // it is only shown
		}
		return f.think(f.plan.Goal)
	case "task":
		if f.plan.Count > 1 && d.State == "running" && d.Position < len(f.plan.Tasks) {
			return f.think(fmt.Sprintf("%d/%d %s", d.Position+1, f.plan.Count, f.plan.Tasks[d.Position].Detail))
		}
	case "turn":
		return f.turnIs(e, d.State)
	}
	return nil
}

// turnIs takes the state that the turn is in now.
func (f *follower) turnIs(e channels.SessionEvent, state string) error {
	switch {
	case state == "merged":
		into, err := f.into(f.turn)
		f.turn = into
		return err
	case state == "waiting" || e.Ends():
		if !f.some {
			return api.Failed(http.StatusBadGateway, "GET /v1/turns/"+fmt.Sprint(f.turn)+" says why", "the turn ended as %s without a word", state)
		}
		return errAnswered
	}
	return nil
}
