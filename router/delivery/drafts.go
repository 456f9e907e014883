package delivery

import (
	"context"

	"switchboard/channels"
	"switchboard/router/ledger"
)

// Drafts holds what is shown of messages before they are there. The turn writes under
// its session's lease, who shows it under the channel's; on several engines these may
// be two.
type Drafts interface {
	// Draft commits an empty message of the turn with one delivery in state draft,
	// which blocks nothing, and returns it; of a draft that is open it sets the body.
	// A body without text is not for others to show. A turn has one open draft at
	// most. ErrFenced.
	Draft(ctx context.Context, ref ledger.TurnRef, to channels.MessageID, body channels.Body) (delivery int64, err error)
	// Drafts lists the channel's open drafts, and those to be taken back.
	Drafts(ctx context.Context, channel string) ([]ledger.Draft, error)
	// BeginDraft notes that the first call about a draft begins, unless it is shown
	// already; id is where, if it is. ready is false while something said before is on
	// its way in the conversation. ErrConflict: it is a draft no more, or a call begun
	// by another holder may have shown it where nobody can find it. ErrFenced.
	BeginDraft(ctx context.Context, hold ledger.Hold, delivery int64) (id channels.MessageID, ready bool, err error)
	// Drafted notes where a draft is shown that this hold began, even if the hold was
	// lost meanwhile; with no id, that it surely is not. Late says that it is a draft
	// no more, and is to be taken back.
	Drafted(ctx context.Context, hold ledger.Hold, delivery int64, id channels.MessageID) (late bool, err error)
	// Abandon gives what is shown for a delivery that is being sent a row of its own,
	// to be taken back: the delivery is sent anew. ErrFenced, ErrConflict.
	Abandon(ctx context.Context, hold ledger.Hold, delivery int64) error
	// TakenBack ends the story of a draft that was to be taken back; outcome says how.
	TakenBack(ctx context.Context, hold ledger.Hold, delivery int64, outcome string) error
}
