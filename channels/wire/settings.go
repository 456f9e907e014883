package wire

import (
	"fmt"
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

// Require is what is wrong with a setting; nil where it is ok.
func Require(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// RequireAddress is what is wrong with the setting api_url, which may be empty.
func RequireAddress(text, like string) error {
	return Require(text == "" || IsAddress(text), "api_url: is not an address such as %q", like)
}
