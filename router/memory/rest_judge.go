package memory

import (
	"context"
	"slices"

	"switchboard/agent/memory"
)

// curate has learnings judged, those of each person by themselves: who cannot have theirs judged holds up nobody else.
func (r *Rester) curate(ctx context.Context, now *Resting) (did bool, err error) {
	all, err := r.Rests.Learnings(ctx, now.Session, curateAll)
	if err != nil {
		return false, err
	}
	var left error
	for _, theirs := range memory.ByPerson(all, func(e memory.Entry) string { return e.Person }) {
		one, fault := r.curateOf(ctx, now, theirs[0].Person, theirs)
		if did = did || one; ofThemAlone(fault) {
			left = fault
		} else if fault != nil {
			return did, fault
		}
	}
	if did {
		left = nil
	}
	return did, left
}

// curateOf has some learnings of one person judged.
func (r *Rester) curateOf(ctx context.Context, now *Resting, person string, all []memory.Entry) (did bool, err error) {
	learns, denied, err := r.learns(ctx, person)
	if err != nil {
		return false, err
	} else if !learns || now.Private || now.Copied || person == "" || !now.by(person) || r.Person(person) == nil {
		return true, r.discard(ctx, now, all, "nothing is to be learned there")
	}
	of := func(e memory.Entry) bool { return memory.Denied(denied, "", e.Text) != "" }
	if slices.ContainsFunc(all, of) {
		return true, r.discard(ctx, now, slices.DeleteFunc(all, func(e memory.Entry) bool { return !of(e) }), "nothing of that kind is to be remembered")
	}
	at := now.Place(person)
	filter := Filter{Scopes: []memory.Scope{at.Own()}, Kinds: []memory.Kind{memory.Fact, memory.Preference}, Limit: knownMost}
	known, err := r.Store.Memories(ctx, filter)
	if err != nil {
		return false, err
	}
	filter.Kinds = []memory.Kind{memory.Question}
	questions, err := r.Store.Memories(ctx, filter)
	if err != nil {
		return false, err
	}
	if err := r.heard(ctx, &at, all[0].Taint); err != nil {
		return false, err
	}
	err = fewer(len(all), func(n int) error {
		verdicts, err := r.clerk(now, person).Curate(ctx, memory.Case{
			Learnings: all[:n], Known: known[:min(len(known), knownMost*n/len(all))], Questions: questions, Summary: now.Summary, SummaryTaint: now.SummaryTaint,
		})
		if err != nil {
			return err
		}
		list := make([]Judged, len(verdicts))
		for i, v := range verdicts {
			if list[i], err = r.judged(ctx, &at, &v, all, known); err != nil {
				return err
			}
		}
		return r.Rests.WriteVerdicts(ctx, now, list)
	})
	if skips(now, err) {
		err = r.discard(ctx, now, all, "no model could judge it")
	}
	return err == nil, err
}

func (r *Rester) discard(ctx context.Context, now *Resting, all []memory.Entry, why string) error {
	list := make([]Judged, len(all))
	for i, e := range all {
		list[i] = Judged{Learning: e.ID, State: "discarded", Outcome: why}
	}
	return r.Rests.WriteVerdicts(ctx, now, list)
}

// judged is a verdict as it is written, if the gate lets it be.
func (r *Rester) judged(ctx context.Context, at *memory.Place, v *memory.Verdict, learnings, known []memory.Entry) (Judged, error) {
	j := Judged{Learning: v.Learning, State: "discarded", Outcome: v.Reason}
	of := learnings[slices.IndexFunc(learnings, func(e memory.Entry) bool { return e.ID == v.Learning })]
	switch {
	case v.Action == memory.Discard:
		return j, nil
	case v.Action == memory.AskFor && of.Source == Answer:
		j.Outcome = "it was asked already"
		return j, nil
	}
	e := memory.Entry{Kind: memory.Question, Text: v.Text, Source: Curator, Session: of.Session, Turn: of.Turn, Taint: of.Taint, Confidence: of.Confidence}
	switch of.Source {
	case Review:
		e.Confidence = 0.7
	case Answer: // a person's own word
		e.Source, e.Kept = Answer, true
	}
	var instead []int64
	if v.Action == memory.Promote {
		e.Kind, e.Category, e.Key = v.Kind, v.Category, v.Key
		// What somebody asked to be remembered gives way to their own words alone, and in a group nothing to others'.
		if i := slices.IndexFunc(known, func(k memory.Entry) bool { return k.ID == v.Replaces }); i >= 0 &&
			(!known[i].Kept || of.Source == AtRest || of.Source == Answer) && (at.Direct || known[i].Person == at.Person) {
			instead = []int64{v.Replaces}
		}
	}
	change, err := r.write(ctx, &Writer{Person: at.Person, Place: *at}, e, instead...)
	if err != nil {
		return j, err
	}
	if change.Refusal != nil {
		j.Outcome = change.Refusal.Rule + ": " + change.Refusal.Text
		return j, nil
	}
	if j.State, j.Outcome = "promoted", string(e.Kind); e.Kind == memory.Question {
		if soon := r.Now().Add(askedFor); change.Expires.IsZero() || change.Expires.After(soon) {
			change.Expires = soon
		}
	}
	j.Change = change
	return j, nil
}
