//go:build race

package rendertest

// slow is how much longer things may take. The race detector also drops what the
// library pools, so that allocations say nothing.
const slow = 6
