package delivery

import (
	"sync/atomic"

	"switchboard/channels"
)

// An adapter is the channel that is served under a name, which may be replaced.
type adapter struct {
	latest atomic.Pointer[channels.Channel]
}

// channel is what is served, or was until it was detached.
func (a *adapter) channel() channels.Channel { return *a.latest.Load() }

// reader is the channel as one whose clients read for themselves; nil: it sends.
func (a *adapter) reader() channels.Reader {
	r, _ := a.channel().(channels.Reader)
	return r
}

// streamer is the channel as one whose clients read for themselves and see what grows;
// nil: they do not.
func (a *adapter) streamer() channels.Streamer {
	streamer, _ := a.channel().(channels.Streamer)
	return streamer
}

// finds says that the platform can be asked whether something is shown.
func (a *adapter) finds() bool {
	_, ok := a.channel().(channels.Finder)
	return ok
}

// drafts says whether a conversation with these features is shown what grows.
func (a *adapter) drafts(features channels.Features) bool {
	_, drafts := a.channel().(channels.Drafter)
	_, edits := a.channel().(channels.Editor)
	return drafts && edits && features.DraftEvery > 0
}

// mayRepeat says that the channel can neither look a part up nor send it under its nonce: it is
// sent once more, marked, and for that a sign that the platform takes messages is waited for.
func (a *adapter) mayRepeat() bool {
	_, deduper := a.channel().(channels.Deduper)
	return !a.finds() && !deduper
}

// rates are the platform's, in a conversation.
func (a *adapter) rates(conv channels.Conversation) channels.Rates {
	return a.channel().Features(conv).Rates
}
