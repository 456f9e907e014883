package telegramtest

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Entity marks a stretch of a text. Offset and Length count UTF-16 code units.
//
// Source: https://core.telegram.org/bots/api#messageentity
type Entity struct {
	Type          string `json:"type"`
	Offset        int    `json:"offset"`
	Length        int    `json:"length"`
	URL           string `json:"url,omitempty"`             // text_link
	User          *User  `json:"user,omitempty"`            // text_mention
	Language      string `json:"language,omitempty"`        // pre
	CustomEmojiID string `json:"custom_emoji_id,omitempty"` // custom_emoji
}

func (e Entity) end() int { return e.Offset + e.Length }

// styles may contain, and be part of, everything but pre and code.
var styles = []string{"bold", "italic", "underline", "strikethrough", "spoiler"}

// quotes may contain everything but one another.
var quotes = []string{"blockquote", "expandable_blockquote"}

// others contain nothing but styles.
var others = []string{
	"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number",
	"code", "pre", "text_link", "text_mention", "custom_emoji",
}

// Sections of the documentation that speak of entities.
const (
	pageEntity  = "messageentity"
	pageNesting = "formatting-options"
	pageText    = "sendmessage"
)

// CheckText says why the platform would not show text with these entities exactly
// as given: nil, or a *Rejection with the page that forbids it. limit is the longest
// text, in UTF-16 units. It is stricter than the platform where that would change
// the text by itself: white space around the text is refused, not trimmed.
func CheckText(text string, entities []Entity, limit int) error {
	if r := checkText(text, entities, limit); r != nil {
		return r
	}
	return nil
}

func checkText(text string, entities []Entity, limit int) *Rejection {
	if !utf8.ValidString(text) {
		return bad("making-requests", "strings must be encoded in UTF-8")
	}
	if text == "" {
		return bad(pageText, "message text is empty")
	}
	if strings.TrimSpace(text) == "" {
		return bad(pageText, "text must be non-empty")
	}
	units := layout(text)
	if n := len(units) - 1; n > limit {
		r := bad(pageText, "message is too long")
		r.Detail = detail("%d UTF-16 units, at most %d", n, limit)
		return r
	}
	if last, _ := utf8.DecodeLastRuneInString(text); unicode.IsSpace(last) {
		return unparsed(pageNesting, "white space at the end of the text is cut off")
	}
	if first, _ := utf8.DecodeRuneInString(text); unicode.IsSpace(first) && !preformatted(entities, 0) {
		return unparsed(pageNesting, "white space at the beginning of the text is cut off")
	}
	return checkEntities(units, entities)
}

func checkEntities(units []int, entities []Entity) *Rejection {
	for i, e := range entities {
		if r := checkEntity(e, i, units); r != nil {
			return r
		}
	}
	return checkNesting(entities)
}

// preformatted reports whether the unit at offset stands in code.
func preformatted(entities []Entity, offset int) bool {
	return slices.ContainsFunc(entities, func(e Entity) bool {
		return (e.Type == "pre" || e.Type == "code") && e.Offset <= offset && offset < e.end()
	})
}

// layout has one element for each UTF-16 unit of text and one for its end: the byte
// where the unit's character begins, or -1 inside of a surrogate pair.
func layout(text string) []int {
	units := make([]int, 0, len(text)+1)
	for at, r := range text {
		units = append(units, at)
		if r > 0xFFFF {
			units = append(units, -1)
		}
	}
	return append(units, len(text))
}

func checkEntity(e Entity, i int, units []int) *Rejection {
	name := detail("entity %d (%s, offset %d, length %d)", i, e.Type, e.Offset, e.Length)
	switch {
	case !slices.Contains(styles, e.Type) && !slices.Contains(quotes, e.Type) && !slices.Contains(others, e.Type):
		return unparsed(pageEntity, name+" has an unknown type")
	case e.Offset < 0 || e.Length <= 0:
		return unparsed(pageEntity, name+" is empty or begins before the text")
	case e.Offset > len(units)-1 || e.Length > len(units)-1-e.Offset:
		return unparsed(pageEntity, name+detail(" ends after the text of %d units", len(units)-1))
	case units[e.Offset] < 0 || units[e.end()] < 0:
		return unparsed(pageEntity, name+" begins or ends inside of a surrogate pair")
	case e.Type == "text_link" && !linkable(e.URL):
		return unparsed(pageEntity, name+detail(" has no usable URL: %q", e.URL))
	case e.Type != "text_link" && e.URL != "":
		return unparsed(pageEntity, name+" has a URL, which is for text_link only")
	case e.Type == "text_mention" && e.User == nil:
		return unparsed(pageEntity, name+" has no user")
	case e.Type != "pre" && e.Language != "":
		return unparsed(pageEntity, name+" has a language, which is for pre only")
	case e.Type == "custom_emoji" && e.CustomEmojiID == "":
		return unparsed(pageEntity, name+" has no custom_emoji_id")
	}
	return nil
}

// linkable reports whether the platform keeps a link exactly as it is: http, https or
// tg://. The documentation shows these only. For what has no scheme the platform guesses
// one, and the servers refuse other schemes, hosts without a dot and odd ones.
//
// Source: https://core.telegram.org/bots/api#formatting-options, whose examples are
// http://www.example.com/ and tg://user?id=123456789.
func linkable(link string) bool {
	u, err := url.Parse(link)
	if err != nil || strings.ContainsFunc(link, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return false
	}
	host := u.Hostname()
	switch strings.ToLower(u.Scheme) {
	case "tg":
		return host != "" && u.Port() == "" && u.User == nil && !strings.ContainsFunc(host, oddInHost)
	case "http", "https":
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				return false
			}
		}
		if address, err := netip.ParseAddr(host); err == nil && address.Is6() {
			return true
		}
		return strings.Contains(strings.Trim(host, "."), ".") && !strings.Contains(host, "..") &&
			!strings.HasPrefix(host, ".") && !strings.ContainsFunc(host, oddInHost)
	}
	return false
}

// oddInHost says whether the name of a host cannot have r.
func oddInHost(r rune) bool {
	return r < 0x80 && !strings.ContainsRune(".-_", r) && (r < '0' || '9' < r) && (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r)
}

// checkNesting holds the rules of formatting-options: two entities with common
// characters must contain one another; pre and code contain nothing and stand in
// nothing but a quote; quotes do not nest; links, mentions and the like contain
// styles only. The page leaves open whether a quote may contain code. The platform's
// library keeps both, unless something else is around the code too.
//
// Source for code in quotes: are_entities_valid in MessageEntity.cpp and the cases in
// test/message_entities.cpp of https://github.com/tdlib/td.
func checkNesting(entities []Entity) *Rejection {
	sorted := slices.Clone(entities)
	slices.SortStableFunc(sorted, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length), cmp.Compare(rank(a), rank(b)))
	})
	var open []Entity
	for _, e := range sorted {
		for len(open) > 0 && open[len(open)-1].end() <= e.Offset {
			open = open[:len(open)-1]
		}
		for _, outer := range open {
			if why := clash(outer, e); why != "" {
				return unparsed(pageNesting, detail("%s (offset %d, length %d) and %s (offset %d, length %d): %s",
					outer.Type, outer.Offset, outer.Length, e.Type, e.Offset, e.Length, why))
			}
		}
		open = append(open, e)
	}
	return nil
}

// rank orders entities over the same stretch: quotes outside, code inside.
func rank(e Entity) int {
	switch {
	case slices.Contains(quotes, e.Type):
		return 0
	case slices.Contains(styles, e.Type):
		return 1
	}
	return 2
}

// clash says why inner, which begins inside of outer, may not be there; "" if it may.
func clash(outer, inner Entity) string {
	code := func(e Entity) bool { return e.Type == "pre" || e.Type == "code" }
	switch a, b := rank(outer), rank(inner); {
	case inner.end() > outer.end():
		return "they overlap, and neither contains the other"
	case a == 0 && b == 0:
		return "quotes can't be nested"
	case code(outer):
		return "pre and code contain no other entity"
	case code(inner) && a != 0:
		return "pre and code can't be part of other entities"
	case a == 2 && b != 1:
		return "these entities can't contain each other"
	}
	return ""
}

// unparsed is the rejection of entities.
func unparsed(anchor, why string) *Rejection { return bad(anchor, "can't parse entities: %s", why) }
