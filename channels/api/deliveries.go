package api

import (
	"context"
	"net/http"

	"switchboard/router/outbox"
	"switchboard/router/sessions"
)

// Deliveries reads what went out.
type Deliveries interface {
	// Deliveries lists the newest first. State filters; empty: all.
	Deliveries(ctx context.Context, whose sessions.Whose, state string, limit int) ([]outbox.Info, error)
}

func (a *API) deliveryCalls() {
	call := Call{Scope: Read, Method: http.MethodGet, Path: "/v1/deliveries", ID: "listDeliveries", Tag: "deliveries", Summary: "The newest deliveries first: each is one part of a message on its way to a platform."}
	register(a, call, a.listDeliveries)
	for kind, summary := range map[outbox.ChangeKind]string{
		outbox.RetryDelivery: "Send again what failed, with the other failed parts of its message; ask again whether an unknown one arrived.",
		outbox.DropDelivery:  "Give a part up that is pending, unknown or dead.",
	} {
		call := Call{Scope: Admin, Method: http.MethodPost, Path: "/v1/deliveries/{id}/" + string(kind), ID: string(kind) + "Delivery", Tag: "deliveries", Summary: summary}
		register(a, call, func(ctx context.Context, in *NumberIn) (*outbox.Changed, error) {
			change := &outbox.Change{ID: in.number(), Kind: kind}
			err := a.Changer.Change(ctx, change, a.actor(CallerOf(ctx), ""))
			return change.Done, err
		})
	}
}

type listDeliveriesIn struct {
	ListIn
	State string `query:"state" enum:"draft,pending,sending,sent,unknown,dead,dropped"`
}

// DeliveryList are deliveries.
type DeliveryList struct {
	Deliveries []outbox.Info `json:"deliveries"`
}

func (a *API) listDeliveries(ctx context.Context, in *listDeliveriesIn) (*DeliveryList, error) {
	c := CallerOf(ctx)
	list, err := a.Deliveries.Deliveries(ctx, c.whose(), in.State, in.most(c))
	return &DeliveryList{some(list)}, err
}
