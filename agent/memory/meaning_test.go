package memory_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"switchboard/agent/memory"
)

// What is found by its meaning stands beside what words find, unless it is far behind the nearest.
func TestRankByMeaning(t *testing.T) {
	t.Parallel()
	q := memory.Query{Terms: memory.Terms("where is the harbour key?")}
	counts := make([]int, len(q.Terms))
	for i := range counts {
		counts[i] = 1
	}
	hits := memory.Rank(q, memory.Found{Counts: counts, Hits: []memory.Hit{
		{Ref: 1, Words: memory.Words("the harbour key hangs at the door"), Alike: 0.5},
		{Ref: 2, Words: memory.Words("the thing that opens the port"), Alike: 0.6},
		{Ref: 3, Words: memory.Words("a port in a storm"), Alike: 0.1},
		{Ref: 4, Words: memory.Words("rain fell")},
	}})
	var refs []int64
	for _, h := range hits {
		refs = append(refs, h.Ref)
	}
	if !slices.Equal(refs, []int64{1, 2}) {
		t.Errorf("found %v", refs)
	}
}

// How near is near enough depends on how near a model takes everything to be.
func TestFloor(t *testing.T) {
	t.Parallel()
	for base, want := range map[float32]float64{-0.5: 0.3, 0: 0.3, 0.7: 0.79, 1: 1} {
		question := []float32{1, 0}
		other := []float32{base, float32(math.Sqrt(float64(1 - base*base)))}
		if got := memory.Floor(question, [][]float32{other, other}); math.Abs(got-want) > 1e-6 {
			t.Errorf("%g: %g, want %g", base, got, want)
		}
	}
	if got := memory.Floor([]float32{1}, nil); math.Abs(got-0.3) > 1e-6 {
		t.Errorf("with nothing to compare: %g", got)
	}
}

// A packed vector is as near to others as it was, to a hundredth; and what cannot be compared is near to nothing.
func TestPackedVectorsAreAsAlike(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	unit := func() []float32 {
		v, sum := make([]float32, 385), 0.0
		for i := range v {
			v[i] = float32(r.NormFloat64())
			sum += float64(v[i]) * float64(v[i])
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
		return v
	}
	for range 50 {
		a, b := unit(), unit()
		var want float64
		for i := range a {
			b[i] = a[i]/2 + b[i]/2
			want += float64(a[i]) * float64(b[i])
		}
		if got := memory.Alike(memory.Pack(a), memory.Pack(b)); math.Abs(got-want) > 0.01 {
			t.Errorf("%g, want %g", got, want)
		}
	}
	one := memory.Pack(unit())
	for _, other := range [][]byte{nil, {1}, memory.Pack(nil), memory.Pack(make([]float32, 385)), one[:len(one)-1]} {
		if got := memory.Alike(one, other); got != 0 {
			t.Errorf("of %d bytes: %g", len(other), got)
		}
	}
}
