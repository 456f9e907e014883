// Package wire is what adapters share below the words of their platforms: calls over HTTP of
// which it is known what became of them, sockets, files on their way, how a fault of the
// network is said to people, and when a rejected credential is tried again.
//
// It knows no platform and imports nothing of ours but the contract and the leaves.
package wire
