// Package ledger has the types that the router's rooms and the store share: what comes in
// as an entry, turns and their leases, deliveries and what becomes of them, people, wakes,
// and the errors by which the store says how it went. The interfaces stand with those who
// call them.
package ledger
