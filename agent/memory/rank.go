package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// nearly is how many of its trigrams a word has to share with one of a text to stand in it nearly.
	nearly = 0.5
	// almost is what such a word is worth next to one that stands there.
	almost = 0.8
	// common is what a word of many texts weighs next to others.
	common = 0.2
	// enough is how much of a question's weight something has to have, and ofBest how much of what the best has.
	enough, ofBest = 0.2, 0.4
	// least is the weight of a term that stands in few enough places to find something by itself.
	least = 1.0
)

// fusion is the constant of reciprocal rank fusion: how little the first places count more than the next.
const fusion = 60

// Rank orders what a query found, the nearest first: its rankings by words, by trigrams, by meaning, by age and by confidence are joined
// by reciprocal rank fusion. What shares too little with the question is left out.
func Rank(q Query, found Found) []Hit {
	if len(found.Hits) == 0 {
		return nil
	}
	stands := make([][]float64, len(found.Hits)) // how far each term stands in each of them, of 1
	counts := slices.Clone(found.Counts)
	for i, h := range found.Hits {
		words := " " + h.Words + " "
		for n, t := range q.Terms {
			var in float64
			if t.in(words) {
				in = 1
			} else if near := t.near(words); near >= nearly {
				in = near * almost
				if found.Counts[n] == 0 {
					counts[n]++
				}
			}
			stands[i] = append(stands[i], in)
		}
	}
	weights, all := weigh(q.Terms, counts)
	type scored struct {
		hit         *Hit
		words, near float64
		sum         float64
	}
	var list []scored
	best, alike := 0.0, 0.0
	for i := range found.Hits {
		s := scored{hit: &found.Hits[i]}
		for n, in := range stands[i] {
			s.near += weights[n] * in
			if in == 1 {
				s.words += weights[n]
			}
		}
		best, alike = max(best, s.near), max(alike, s.hit.Alike)
		list = append(list, s)
	}
	list = slices.DeleteFunc(list, func(s scored) bool {
		if s.hit.Alike > 0 && s.hit.Alike >= ofBest*alike {
			return false
		}
		return s.near <= 0 || !q.Loose && (s.near < least || s.near < enough*all || s.near < ofBest*best)
	})
	rank := func(weight float64, by func(a, b *scored) int) {
		slices.SortStableFunc(list, func(a, b scored) int { return by(&a, &b) })
		place := 0
		for i := range list {
			if i > 0 && by(&list[i-1], &list[i]) != 0 {
				place = i
			}
			list[i].sum += weight / float64(fusion+place)
		}
	}
	rank(1, func(a, b *scored) int { return cmp.Compare(b.words, a.words) })
	rank(1, func(a, b *scored) int { return cmp.Compare(b.near, a.near) })
	if alike > 0 {
		rank(1, func(a, b *scored) int { return cmp.Compare(b.hit.Alike, a.hit.Alike) })
	}
	rank(0.1, func(a, b *scored) int { return b.hit.SaidAt.Compare(a.hit.SaidAt) })
	rank(0.1, func(a, b *scored) int { return cmp.Compare(b.hit.Confidence, a.hit.Confidence) })
	slices.SortStableFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.sum, a.sum), b.hit.SaidAt.Compare(a.hit.SaidAt), cmp.Compare(b.hit.Ref, a.hit.Ref))
	})
	hits := make([]Hit, len(list))
	for i, s := range list {
		hits[i] = *s.hit
	}
	return hits
}

// weigh says how much each term tells of what is looked for: the more, the fewer places it stands in; all is their sum.
func weigh(terms []Term, counts []int) (weights []float64, all float64) {
	rare := slices.ContainsFunc(terms, func(t Term) bool { return !t.Common })
	for i, t := range terms {
		w := math.Log1p(MaxCount / max(float64(counts[i]), 0.5))
		if t.Common && rare {
			w *= common
		}
		weights = append(weights, w)
		all += w
	}
	return weights, all
}

// in says whether the term stands among words, which have spaces around them.
func (t *Term) in(words string) bool {
	return slices.ContainsFunc(t.Forms, func(form string) bool { return holds(words, form) })
}

// holds says whether a word stands among words, which have spaces around them.
func holds(words, word string) bool { return strings.Contains(words, " "+word+" ") }

// near is how many of their trigrams the term and the word among words that is most like it share, of 1.
func (t *Term) near(words string) (most float64) {
	if !slices.ContainsFunc(t.Ends, func(end string) bool { return holds(words, end) }) {
		return 0
	}
	runes := []rune(t.Forms[0])
	for word := range strings.SplitSeq(words, " ") {
		if len(word) < minNear || word[0] < 'a' || strings.HasPrefix(word, beginMark) || strings.HasPrefix(word, endMark) {
			continue
		}
		n := 0
		for i := range len(runes) - 2 {
			if strings.Contains(word, string(runes[i:i+3])) {
				n++
			}
		}
		most = max(most, float64(n)/float64(len(runes)-2))
	}
	return most
}
