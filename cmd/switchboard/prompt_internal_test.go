package main

import (
	"slices"
	"strings"
	"testing"
)

func TestDiffMarksTheLinesThatChanged(t *testing.T) {
	t.Parallel()
	letters := func(s string) []string { return strings.Split(s, "") }
	for _, c := range []struct{ before, after, want string }{
		{"abc", "abc", ""},
		{"abc", "axc", " a|-b|+x| c"},
		{"abc", "ab", " a| b|-c"},
		{"", "a", "+a"},
		{"abcdefghij", "abcdefghijk", " h| i| j|+k"},
		{"abcdefghijklm", "xbcdefghijklm", "-a|+x| b| c| d"},
		{"abcdefghijklm", "xbcdefghijkly", "-a|+x| b| c| d|…| j| k| l|-m|+y"},
	} {
		if got := strings.Join(diff(letters(c.before), letters(c.after)), "|"); got != c.want {
			t.Errorf("diff(%s, %s) = %s, want %s", c.before, c.after, got, c.want)
		}
	}
	// Whoever undoes a difference has the text before.
	before, after := letters("abcdefg"), letters("bxdyfg")
	var old []string
	for _, line := range diff(before, after) {
		if line[0] != '+' {
			old = append(old, line[1:])
		}
	}
	if !slices.Equal(old, before) {
		t.Errorf("the lines before are %q", old)
	}
}
