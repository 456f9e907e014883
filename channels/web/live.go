package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/channels/api"
	"switchboard/internal/retry"
	"switchboard/router/browsers"
	"switchboard/router/core"
)

// live streams what happens in a session as HTML that htmx puts in its place. The number of each event is the session's own, so that a
// browser goes on behind the last one that it has.
func (s *Site) live(w http.ResponseWriter, r *http.Request) error {
	v, session := visitorOf(r), r.PathValue("key")
	at, err := s.mine(r.Context(), v, session)
	if err != nil {
		return err
	}
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if last, e := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); e == nil {
		after, err = last, nil
	}
	if err != nil || after < 0 {
		return wrong("The address is not right. Load the page again.")
	}
	if after > at.LastEvent || after < at.FirstEvent-1 { // a backup was put back, or it was deleted meanwhile
		after = min(at.LastEvent, max(after, at.FirstEvent-1))
	}
	// What came before is read once more, as far as what follows changes it: a plan's tasks.
	seen, err := s.read(r.Context(), v, session, max(0, after-window), after)
	if err != nil {
		return err
	}
	out := &chatStream{stream: newStream(w), site: s, visitor: v, seen: seen, ctx: r.Context()}
	ctx, stop := context.WithCancel(r.Context())
	var settling sync.WaitGroup
	settling.Go(func() { out.settle(ctx, strings.Split(r.URL.Query().Get("shown"), ",")) })
	defer settling.Wait()
	defer stop()
	still := s.once(func(ctx context.Context) error { return s.still(ctx, v) })
	if seen.Ours {
		err = s.Channel.Follow(r.Context(), s.Chats, session, after, still, out)
	} else {
		err = s.followElsewhere(r.Context(), session, after, out, s.once(func(ctx context.Context) error { return s.stillMine(ctx, v, session) }))
	}
	if err != nil {
		s.Log.DebugContext(r.Context(), "a page's stream ended", "session", session, "error", err)
	}
	return nil
}

// stillMine says why somebody may read a session no more; nil: they may. The account there may have become somebody else's, and an
// admin who reads what others said a user.
func (s *Site) stillMine(ctx context.Context, v *visitor, session string) error {
	if err := s.still(ctx, v); err != nil {
		return err
	}
	now := *v
	if now.person = s.People.Named(v.person.Name); now.person == nil {
		return browsers.ErrNotSignedIn
	}
	if _, err := s.mine(ctx, &now, session); errors.Is(err, core.ErrNotFound) {
		return err
	}
	return nil // that the database cannot be asked ends nothing
}

// followElsewhere follows a session of another channel, whose commits wake no reader of ours: what is new of it is read once something
// happened anywhere.
func (s *Site) followElsewhere(ctx context.Context, session string, after int64, out *chatStream, still func(context.Context) error) error {
	return s.whenever(ctx, out.stream, still, func(ctx context.Context) (more bool, err error) {
		events, err := s.Chats.Events(ctx, session, after, window)
		if err == nil && len(events) > 0 {
			err = still(ctx)
		}
		if err != nil {
			return false, err
		}
		return len(events) == window, out.Write(func() error {
			for _, e := range events {
				if err := out.Put(e); err != nil {
					return err
				}
				after = e.N
			}
			return nil
		})
	})
}

// whenever looks at once, and again once something happened, no sooner than nowEvery later. Meanwhile it says that the stream lives,
// for as long as its reader still may read it. More: there is more to look at already.
func (s *Site) whenever(ctx context.Context, out *stream, still func(context.Context) error, look func(context.Context) (more bool, err error)) error {
	return s.Channel.While(ctx, func(ctx context.Context) error {
		happened, stop := s.Program.Activity.Follow()
		defer stop()
		ping := time.NewTicker(pingEvery)
		defer ping.Stop()
		for {
			more, err := look(ctx)
			if err != nil || !retry.Sleep(ctx, nowEvery) {
				return err
			}
			for !more {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-happened:
					more = true
				case <-ping.C:
					if err := cmp.Or(still(ctx), out.Ping()); err != nil {
						return err
					}
				}
			}
		}
	})
}

// A stream is one open page, which is sent pieces of HTML.
type stream struct{ *api.Stream }

func newStream(w http.ResponseWriter) *stream { return &stream{api.NewStream(w)} }

// happened says that something did, so that page.js asks again for what it shows.
func (o *stream) happened() error {
	return o.Write(func() error { _, err := io.WriteString(o.W, "event: happened\ndata: 1\n\n"); return err })
}

// part writes a piece of HTML, with the number of its event; 0: it has none.
func (o *stream) part(n int64, html string) error {
	var b strings.Builder
	if n > 0 {
		fmt.Fprintf(&b, "id: %d\nevent: event\n", n)
	} else {
		b.WriteString("event: part\n") // to browsers, it has the number of the event before it
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(html, "\r", ""), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	_, err := io.WriteString(o.W, b.String()+"\n")
	return err
}

// A chatStream is an open page of a conversation.
type chatStream struct {
	*stream
	site    *Site
	visitor *visitor
	seen    *conversation
	growing channels.Growing
	ctx     context.Context //nolint:containedctx // of the call that streams
}

// Put implements api.Outlet.
func (o *chatStream) Put(e channels.SessionEvent) error {
	html, err := o.html(&e)
	if err != nil || html == "" && e.N == 0 {
		return err
	}
	return o.part(e.N, html)
}

// settle says that something happened, and takes buttons off the page once what they decide is decided, also elsewhere: of that, this
// session has no event. Shown are the elements with buttons that the page had before the stream began.
func (o *chatStream) settle(ctx context.Context, shown []string) {
	happened, stop := o.site.Program.Activity.Follow()
	defer stop()
	for o.Write(func() error { return o.takeOff(ctx, shown) }) == nil && o.happened() == nil {
		shown = nil
		select {
		case <-ctx.Done():
			return
		case <-happened:
		}
		if !retry.Sleep(ctx, nowEvery) { // an event of this session that says how it was decided comes first
			return
		}
	}
}

func (o *chatStream) takeOff(ctx context.Context, shown []string) error {
	approvals, messages, err := o.site.settled(ctx, o.visitor, o.seen, shown)
	if err != nil {
		o.site.Log.DebugContext(ctx, "buttons stay", "session", o.seen.Session, "error", err)
	}
	parts := []string{}
	for _, id := range messages {
		parts = append(parts, fmt.Sprintf(`<form id="b-%d" hx-swap-oob="delete"></form>`, id))
	}
	for _, a := range approvals {
		part, err := o.site.fragment(o.visitor, "approval", a)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil
	}
	return o.part(0, strings.Join(parts, "\n"))
}

// html is what an event changes of the page.
func (o *chatStream) html(e *channels.SessionEvent) (string, error) {
	if e.Kind == channels.KindDelta {
		o.growing.Add(*e)
		return o.site.fragment(o.visitor, "growing", o.growing)
	}
	ended := o.growing.Ended(*e)
	changed := o.seen.take(e)
	parts := []string{}
	add := func(name string, data any) error {
		part, err := o.site.fragment(o.visitor, name, data)
		parts = append(parts, part)
		return err
	}
	var err error
	switch {
	case changed == nil:
	case changed.Message != nil:
		m := changed.Message
		if m.Out() && o.seen.Ours {
			buttons, e := o.site.Chats.Buttons(o.ctx, m.ID)
			if m.Buttons = buttons[m.ID]; e != nil {
				return "", e
			}
		}
		err = add("new-message", m)
	case changed.Approval != nil:
		if changed.Approval.State == "proposed" {
			if err := o.site.request(o.ctx, o.visitor, o.seen.Session, changed.Approval); err != nil {
				return "", err
			}
		}
		if changed.Approval.Swap = changed.Approval.State != "proposed"; changed.Approval.Swap {
			err = add("approval", changed.Approval)
		} else {
			err = add("new-approval", changed.Approval)
		}
	case changed.Plan != nil && !changed.Plan.Shown():
	case changed.Task != nil:
		changed.Task.Swap = true
		err = add("task", changed.Task)
	case changed.Plan != nil && e.Kind == "plan":
		err = add("new-plan", changed.Plan)
	case changed.Plan != nil:
		changed.Plan.Swap = true
		err = add("plan", changed.Plan)
	case changed.End != nil:
		err = add("new-end", changed.End)
	}
	if err != nil {
		return "", err
	}
	if ended {
		if err := add("growing", o.growing); err != nil {
			return "", err
		}
	}
	if e.Kind == "turn" {
		if err := add("changed-state", o.seen); err != nil {
			return "", err
		}
		for key, p := range o.seen.plans {
			if key[0] == e.TurnID && p.Over && p.Shown() {
				p.Swap = true
				if err := add("plan", p); err != nil {
					return "", err
				}
			}
		}
	}
	return strings.Join(parts, "\n"), nil
}
