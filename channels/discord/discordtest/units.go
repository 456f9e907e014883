package discordtest

import (
	"fmt"
	"strconv"
	"unicode/utf16"
)

// Units counts a text in UTF-16 code units, which is never less than what the platform counts.
func Units(text string) int { return len(utf16.Encode([]rune(text))) }

// detail is a panic's text.
func detail(format string, args ...any) string { return fmt.Sprintf("discordtest: "+format, args...) }

func itoa(n int) string { return strconv.Itoa(n) }
