package tools

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

var webAddress = regexp.MustCompile(`(?i)\bhttps?://[^\s<>"]+`)

// closing are signs that a sentence, a bracket or Markdown puts behind a URL. They may be
// a part of it too, so both readings count.
const closing = ".,;:!?)]}'*_~`|…。，、）」』”’»"

// Wrote says that a URL equal to address stands in text. Both are compared as parsed:
// scheme and host in any case, the scheme's own port or none, no path or "/", and
// without a fragment, which is not sent.
func Wrote(text, address string) bool {
	wanted := sent(address)
	if wanted == "" {
		return false
	}
	for _, found := range webAddress.FindAllString(text, -1) {
		for found != "" {
			if sent(found) == wanted {
				return true
			}
			last, size := utf8.DecodeLastRuneInString(found)
			if !strings.ContainsRune(closing, last) {
				break
			}
			found = found[:len(found)-size]
		}
	}
	return false
}

// sent is what is sent of a URL, in one form; empty: it is no URL of the web.
func sent(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || checkURL(u) != nil {
		return ""
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return u.Scheme + "://" + host + ":" + port + path + "?" + u.RawQuery
}
