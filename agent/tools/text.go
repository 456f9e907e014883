package tools

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// cleanText makes text fit for a row, a prompt and a terminal: valid UTF-8
// without NUL bytes, which PostgreSQL does not store.
func cleanText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ReplaceAll(text, "\x00", "\uFFFD")
}

// truncationMark is the line that stands where n bytes were left out.
func truncationMark(n int64) string {
	return fmt.Sprintf("[truncated: %d bytes more]", n)
}

var marks = regexp.MustCompile(`(?m)^\[truncated: (\d{1,15}) bytes more\]\n?`)

// leftOut is how much of a whole is missing where text is cut out of it: what marks in
// text stand for counts, the marks do not.
func leftOut(text string) int64 {
	n := int64(len(text))
	for _, m := range marks.FindAllStringSubmatch(text, -1) {
		more, _ := strconv.ParseInt(m[1], 10, 64) // the digits fit
		n += more - int64(len(m[0]))
	}
	return n
}

// Shorten cuts the middle out of a text longer than head and tail bytes together. A
// mark says how many bytes are missing, those of marks that were cut out too. It cuts
// between lines unless they are long.
func Shorten(text string, head, tail int) string {
	if len(text) <= head+tail {
		return text
	}
	first, last := wholeLines(cutHead(text, head)), fromLine(cutTail(text, tail))
	return joinMark(first, truncationMark(leftOut(text[len(first):len(text)-len(last)])), last)
}

// longLine is how far a cut moves to be between lines, in bytes.
const longLine = 512

// wholeLines leaves out the line at the end of text that was cut, if it is not long.
func wholeLines[T string | []byte](text T) T {
	if at := strings.LastIndexByte(string(text[max(0, len(text)-longLine):]), '\n'); at >= 0 {
		return text[:max(0, len(text)-longLine)+at+1]
	}
	return text
}

// fromLine leaves out the line at the beginning of text that was cut, if it is not long.
func fromLine[T string | []byte](text T) T {
	if at := strings.IndexByte(string(text[:min(longLine, len(text))]), '\n'); at >= 0 {
		return text[at+1:]
	}
	return text
}

// markRoom is kept free for a truncation mark and its line breaks.
const markRoom = 64

// limitText cleans text and cuts its end off so that the rest and the mark fit
// in limit bytes. A limit of 0 or less is no limit.
func limitText(text string, limit int64) string {
	text = cleanText(text)
	size := int64(len(text))
	if limit <= 0 || size <= limit {
		return text
	}
	head := cutHead(text, int(max(limit-markRoom, 0)))
	return joinMark(head, truncationMark(size-int64(len(head))), "")
}

// joinMark puts the mark on a line of its own between head and tail.
func joinMark(head, mark, tail string) string {
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	if tail != "" {
		mark += "\n"
	}
	return head + mark + tail
}

// cutHead returns at most n bytes of the beginning of text, in whole runes.
func cutHead(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// cutTail returns at most n bytes of the end of text, in whole runes.
func cutTail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}
