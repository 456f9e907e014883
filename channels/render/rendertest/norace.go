//go:build !race

package rendertest

const slow = 1
