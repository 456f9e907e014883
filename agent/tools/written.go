package tools

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
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

// Said says that a text stands in what a person wrote, as a run of whole words: case, spaces and the
// punctuation of sentences do not matter, every other character does. An empty text is not there.
func Said(wrote, text string) bool {
	wrote, text = spoken(markup.Replace(wrote)), spoken(text)
	for from := 0; text != ""; {
		at := strings.Index(wrote[from:], text)
		if at < 0 {
			return false
		}
		at += from
		if !oneWord(wrote[:at], text) && !oneWord(text, wrote[at+len(text):]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(wrote[at:])
		from = at + size
	}
	return false
}

// markup is what people make letters bold with.
var markup = strings.NewReplacer("*", "", "_", "", "~", "", "`", "")

func spoken(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`.,;:!?'"()-–—…“”„«»¿¡。、，！？`, r)
	}), " ")
}

// oneWord says that a word goes on from one text into the other: in writing with spaces between words.
func oneWord(before, behind string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(behind)
	return ofWord(last) && ofWord(first)
}

func ofWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// AskedIn says whether somebody who wrote these words asked for it.
func (d *Deed) AskedIn(wrote string) bool {
	return len(d.Asked) > 0 && !slices.ContainsFunc(d.Asked, func(ways []string) bool {
		return !slices.ContainsFunc(ways, func(way string) bool { return Said(wrote, way) })
	})
}
