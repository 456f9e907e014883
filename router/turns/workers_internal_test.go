package turns

import "testing"

func TestOnePersonHasAQuarterOfTheWorkers(t *testing.T) {
	t.Parallel()
	w := newWorkers(8)
	for i := range 2 {
		if !w.take("ada") {
			t.Fatalf("ada's worker %d was refused", i)
		}
	}
	if w.take("ada") {
		t.Error("ada holds more than a quarter")
	}
	for _, p := range []string{"b", "b", "c", "c", "d", "d"} {
		if !w.take(p) {
			t.Fatalf("%s got no worker", p)
		}
	}
	if w.take("e") {
		t.Error("a ninth of eight workers")
	}
	if n, full := w.reserve(5); n != 0 || len(full) != 4 {
		t.Errorf("reserve = %d, %v", n, full)
	}
	w.give("b")
	if n, _ := w.reserve(5); n != 1 || w.take("e") || w.assign("c") {
		t.Errorf("%d workers are reserved of one, and it goes to somebody else", n)
	}
	w.unreserve(1)
	if !w.take("e") {
		t.Error("a worker was given back and not found")
	}
}
