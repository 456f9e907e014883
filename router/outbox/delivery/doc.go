// Package delivery brings what is said to the channels, and shows what is shown meanwhile. Each channel
// has a Connection: its lease, a supervisor that keeps it connected, a sender and a presenter.
//
//	Connection.Committed ─► queue: a goroutine for each conversation ─► sender: its head ─► limits
//	─► transport: Send, and what the answer means ─► Settle ─► reports, where it did not arrive
package delivery
