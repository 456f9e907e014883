//go:build !race

package render

const slow = 1
