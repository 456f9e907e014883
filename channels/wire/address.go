package wire

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// IsAddress says whether text is where a server can be: http or https, a host, perhaps a
// port and a path, and nothing else.
func IsAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsFunc(text, unicode.IsSpace) ||
		strings.ContainsFunc(u.Host, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }) {
		return false
	}
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n > 0 && n <= 65535
}
