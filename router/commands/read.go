package commands

import (
	"regexp"
	"strings"
)

var commandPattern = regexp.MustCompile(`^/([a-zA-Z][a-zA-Z_]{0,31})(?:@\S+)?(?:\s+([\s\S]*))?$`)

// In reads "/name args" or "/name@bot args". A path such as /etc/hosts is no command.
func In(text string) (name, args string, ok bool) {
	m := commandPattern.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return "", "", false
	}
	return strings.ToLower(m[1]), strings.TrimSpace(m[2]), true
}
