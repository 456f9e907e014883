package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// reviewRetries is how often a reviewer is asked again for a usable verdict.
const reviewRetries = 3

// noReason stands in for a reason that the reviewer did not give, however often
// it was asked.
const noReason = "the result was not what was expected (the reviewer gave no reason)"

// A reviewer has the tasks of a turn judged.
type reviewer struct {
	*asker
	forgetful bool // what it teaches is not kept
}

// review has a finished exec or tool task judged; ok says that the plan goes on.
// A verdict ok rides on the next commit. A replan is committed at once, or with the
// turn's end when there is no more to try; the person sees it in the progress alone.
func (r *reviewer) review(ctx context.Context, plan *PlanRow, i int) (ok bool, err error) {
	task := &plan.Tasks[i]
	if task.Review != nil {
		return task.Review.Status == "ok", nil
	}
	v, err := r.judge(ctx, plan, i)
	if err != nil {
		return false, err
	}
	if r.forgetful || r.turn.Session.Private {
		v.learn = ""
	}
	reasons := r.reasons()
	err = r.stage(ctx, Step{Review: &Review{
		Attempt: plan.Attempt, Position: i, Status: v.status, Reason: v.reason, Learn: v.learn, Taint: r.taint,
	}})
	if err != nil || v.status == "ok" {
		return err == nil, err
	}
	if len(reasons) >= r.cfg.MaxReplanDepth { // plans that gave way to an addition do not count
		return false, r.giveUp("replan_limit", fmt.Sprintf("%d plans are the most I may try", r.cfg.MaxReplanDepth+1))
	}
	if slices.ContainsFunc(reasons, func(before string) bool { return overlap(before, v.reason) > 0.5 }) {
		return false, r.giveUp("repeated_strategy", "it kept failing for the same reason")
	}
	return false, r.flush(ctx)
}

// judge asks the reviewer until the verdict is one.
func (r *reviewer) judge(ctx context.Context, plan *PlanRow, i int) (v verdict, err error) {
	var faults []string
	ok, err := r.askUntil(ctx, 1+reviewRetries, question{
		step: fmt.Sprintf("review.%d.%d", plan.Attempt, i), role: roleReviewer, schema: &ReviewSchema,
		prompt: func(size int) (string, string) { return r.prompts.reviewerPrompt(plan, i, faults, size) },
	}, func(call Call) ([]string, bool, error) {
		v, faults = parseVerdict(call.Answer, r.cfg.Lenient)
		return faults, false, nil
	})
	switch {
	case err != nil || ok:
	case v.status == "replan":
		v.reason = noReason
	default:
		err = failure("invalid_review", "I stopped: I could not tell whether a step had worked, because its review was unreadable.")
	}
	return v, err
}

// overlap is how much of the longer text's words of four letters and more the
// other one has, from 0 to 1.
func overlap(a, b string) float64 {
	first, second := wordsOf(a), wordsOf(b)
	common := 0
	for word := range first {
		if second[word] {
			common++
		}
	}
	return float64(common) / float64(max(len(first), len(second), 1))
}

func wordsOf(text string) map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		if len([]rune(word)) >= 4 {
			set[word] = true
		}
	}
	return set
}
