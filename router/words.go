package router

import (
	"slices"
	"strings"
)

// Ended is a state with its outcome for people to read: no word of the outcome stands
// twice, and none that says no more than the state.
func Ended(state, outcome string) string {
	var words []string
	for _, word := range strings.Fields(outcome) {
		word = strings.ReplaceAll(word, "_", " ")
		if word != state && word != "ok" && word != "error" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return state
	}
	return state + " (" + strings.Join(words, ", ") + ")"
}

// Nearest is the one of words that was probably meant by word; empty: none is near.
func Nearest(word string, words []string) string {
	best, least := "", min(1+len(word)/3, len(word)-1)
	for _, w := range words {
		if d := distance(word, w); d <= least {
			best, least = w, d-1
		}
	}
	return best
}

// distance counts the bytes to insert, drop or change, and the neighbours to swap, to
// get from a to b.
func distance(a, b string) int {
	var before, row []int
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := range len(a) {
		before, row, next = row, next, make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
	}
	return next[len(b)]
}
