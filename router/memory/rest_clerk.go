package memory

import (
	"context"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
)

// pays says that there is somebody for whom models may be asked.
func (r *Rester) pays(now *Resting) bool {
	return now.Person != "" && r.Person(now.Person) != nil && r.Settings().PerDay > 0
}

// clerk asks models for a person, whose calls are counted.
func (r *Rester) clerk(now *Resting, person string) memory.Clerk {
	return memory.Clerk{Asker: counted{r, now, person}, Retries: r.Limits().Retries, Rules: r.Proposes()}
}

// counted counts calls before they are made.
type counted struct {
	*Rester
	now    *Resting
	person string
}

func (c counted) Complete(ctx context.Context, role string, req llm.Request) (llm.Response, error) {
	c.now.answered = false
	ok, err := c.Rests.CountCall(ctx, c.person, c.Limits().Day, c.Settings().PerDay)
	if err == nil && !ok {
		err = ErrEnough
	}
	if err != nil {
		return llm.Response{}, err
	}
	response, err := c.Ask(c.person).Complete(ctx, role, req)
	c.now.answered = err == nil
	return response, err
}
