// Package view has what people are shown of the ledger: a turn as one read model, and its
// texts for `turn show`, `explain turn` and /why.
package view
