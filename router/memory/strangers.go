package memory

import (
	"context"
	"slices"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
)

// reportMost is how many of strangers' lines are told at once, which is as many as a prompt has.
const reportMost = 20

// strangersSpoke has sessions rest again where strangers went on to write.
func (r *Rester) strangersSpoke(ctx context.Context) {
	limits := r.Limits()
	if len(limits.Strangers) == 0 || r.Settings().PerDay == 0 {
		return
	}
	if err := r.Rests.StrangersSpoke(ctx, limits.Strangers, r.Now().Add(-limits.Idle)); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "cannot look for what strangers said", "error", err)
	}
}

// report has what strangers wrote in a group told in other words: the newest of it, once. What is older is left out.
func (r *Rester) report(ctx context.Context, now *Resting) (did bool, err error) {
	if now.Direct || !slices.Contains(r.Limits().Strangers, now.Channel) {
		return false, nil
	}
	lines, err := r.Rests.StrangersSaid(ctx, now.Session, reportMost)
	if err != nil || len(lines) == 0 {
		return false, err
	}
	to := lines[0].ID
	slices.Reverse(lines)
	if now.Private || !r.pays(now) {
		return true, r.Rests.WriteReports(ctx, now, to, nil)
	}
	err = fewer(len(lines), func(n int) error {
		some := slices.Clone(lines[len(lines)-n:])
		said := make([]memory.Said, n)
		for i, m := range some {
			said[i] = memory.Said{By: "somebody", At: m.At, Text: tools.Shorten(m.Text, 1500, 500)}
		}
		reports, err := r.clerk(now, now.Person).Paraphrase(ctx, said)
		if err != nil {
			return err
		}
		for i := range some {
			some[i].Text = r.Hide(reports[i])
		}
		return r.Rests.WriteReports(ctx, now, to, some)
	})
	if skips(now, err) {
		err = r.Rests.WriteReports(ctx, now, to, nil)
	}
	return err == nil, err
}
