package tools

import (
	"fmt"
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
