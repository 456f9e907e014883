package store_test

import (
	"fmt"
	"testing"
	"time"

	"switchboard/router/jobs"
)

func TestNewsAreOfOthersAndSinceThen(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		news := func(job int64, person string, since *jobs.News) jobs.News {
			t.Helper()
			n, err := h.Router.News(h.Ctx, job, person, since)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		h.whole("c1", "old")
		first := news(1, "marco", nil)
		if first.Message == 0 || first.Messages != 0 || first.Failures != nil {
			t.Errorf("the first: %+v", first)
		}
		if n := news(1, "marco", &first); n.Messages != 0 || n.Message != first.Message || n.Failed != first.Failed {
			t.Errorf("nothing new: %+v after %+v", n, first)
		}
		h.whole("c1", "new") // marco's, with an answer that is none of hers
		h.write(`INSERT INTO jobs (id, owner, name, payload, text, spec, rules, state, seen, created_at, updated_at) VALUES
			(1, 'marco', '', 'heartbeat', 'beat', '{}', '{}', 'active', '', 1, 1), (2, 'marco', '', 'agent', 'mail', '{}', '{}', 'active', '', 1, 1),
			(3, 'bob', 'bobs', 'agent', 'mail', '{}', '{}', 'active', '', 1, 1), (4, '', 'health', 'maintenance', '', '{}', '{}', 'active', 'as it is', 1, 1)`)
		later := time.Now().Add(time.Minute).UnixMicro()
		for _, r := range []struct {
			job   int
			state string
		}{{1, "failed"}, {2, "failed"}, {2, "done"}, {3, "failed"}} {
			later++
			h.write(fmt.Sprintf(`INSERT INTO runs (job_id, slot, state, reason, created_at, finished_at) VALUES (%d, %d, '%s', 'why', 1, %d)`, r.job, later, r.state, later))
		}
		h.write(`INSERT INTO notifications (person, text, created_at) VALUES ('marco', 'stretch', 1), ('bob', 'stretch', 1)`)
		n := news(1, "marco", &first)
		if n.Messages != 1 || n.Notifications != 1 || len(n.Failures) != 1 || n.Health != "as it is" {
			t.Errorf("marco's: %+v", n)
		} else if f := n.Failures[0]; f.Job != 2 || f.Name != "" || f.Reason != "why" || f.At.UnixMicro() != n.Failed {
			t.Errorf("what failed: %+v, %+v", f, n)
		}
		if again := news(1, "marco", &n); again.Messages != 0 || again.Notifications != 0 || again.Failures != nil || again.Failed != n.Failed {
			t.Errorf("marco's again: %+v", again)
		}
		if all := news(9, "", &first); all.Messages != 1 || len(all.Failures) != 3 {
			t.Errorf("everybody's: %+v", all)
		}
	})
}

func TestQueueSaysWhatWaits(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		queue := func() jobs.Queue {
			t.Helper()
			q, err := h.DB.Queue(h.Ctx)
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		if q := queue(); q != (jobs.Queue{}) {
			t.Errorf("empty: %+v", q)
		}
		h.Begun("c", "1")
		h.Accept(entry("c", "2", "waits"))
		if q := queue(); q.Waiting != 1 || q.Oldest > time.Minute {
			t.Errorf("one waits: %+v", q)
		}
		h.later(20 * time.Minute)
		h.write(`UPDATE deliveries SET state = 'dead', settled = TRUE`)
		if q := queue(); q.Waiting != 1 || q.Oldest < 20*time.Minute {
			t.Errorf("twenty minutes later: %+v", q)
		}
	})
}
