package main

import "testing"

func TestHeapGrowsByNoMoreThanItsRoom(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[uint64]int{0: gcPercent, 4 << 20: gcPercent, gcRoom: 100, 2 * gcRoom: 50, 100 * gcRoom: 50} {
		if got := percentFor(bytes); got != want {
			t.Errorf("%d bytes may grow by %d %%, want %d", bytes, got, want)
		}
	}
}
