package telegramtest_test

import (
	"errors"
	"strings"
	"testing"

	"switchboard/channels/telegram/telegramtest"
)

func TestBadEntitiesAreNamed(t *testing.T) {
	t.Parallel()
	e := func(typ string, offset, length int) telegramtest.Entity {
		return telegramtest.Entity{Type: typ, Offset: offset, Length: length}
	}
	type entities = []telegramtest.Entity
	link := telegramtest.Entity{Type: "text_link", Offset: 0, Length: 4, URL: "https://example.org/a?b=c"}
	for _, c := range []struct {
		name     string
		text     string
		entities entities
		limit    int
		want     string // part of the error; empty: accepted
		page     string // section that it cites
	}{
		{name: "plain", text: "abc"},
		{name: "empty", text: "", want: "message text is empty", page: "sendmessage"},
		{name: "white space only", text: " \n\t", want: "text must be non-empty", page: "sendmessage"},
		{name: "as long as allowed", text: "a👋", limit: 3},
		{name: "too long in UTF-16 units", text: "a👋", limit: 2, want: "message is too long", page: "sendmessage"},
		{name: "white space at the end", text: "abc\n", want: "cut off", page: "formatting-options"},
		{name: "white space at the beginning", text: " abc", want: "cut off", page: "formatting-options"},
		{name: "indented code", text: "  abc", entities: entities{e("pre", 0, 5)}},
		{name: "not UTF-8", text: "a\xff", want: "UTF-8", page: "making-requests"},
		{name: "unknown type", text: "abc", entities: entities{e("heading", 0, 1)}, want: "unknown type", page: "messageentity"},
		{name: "empty entity", text: "abc", entities: entities{e("bold", 1, 0)}, want: "is empty", page: "messageentity"},
		{name: "before the text", text: "abc", entities: entities{e("bold", -1, 2)}, want: "begins before", page: "messageentity"},
		{name: "after the text", text: "abc", entities: entities{e("bold", 1, 3)}, want: "ends after", page: "messageentity"},
		{name: "overflow", text: "abc", entities: entities{e("bold", 1, int(^uint(0)>>1))}, want: "ends after", page: "messageentity"},
		{name: "begins in a surrogate pair", text: "👋abc", entities: entities{e("bold", 1, 2)}, want: "surrogate", page: "messageentity"},
		{name: "ends in a surrogate pair", text: "a👋", entities: entities{e("bold", 0, 2)}, want: "surrogate", page: "messageentity"},
		{name: "around a surrogate pair", text: "a👋", entities: entities{e("bold", 1, 2)}},
		{name: "link", text: "abcd", entities: entities{link}},
		{name: "link without URL", text: "abcd", entities: entities{e("text_link", 0, 4)}, want: "no usable URL", page: "messageentity"},
		{
			name: "link to a script", text: "abcd", want: "no usable URL", page: "messageentity",
			entities: entities{{Type: "text_link", Offset: 0, Length: 4, URL: "javascript:alert(1)"}},
		},
		{name: "language of bold", text: "ab", entities: entities{{Type: "bold", Length: 1, Language: "go"}}, want: "language", page: "messageentity"},
		{name: "mention of nobody", text: "ab", entities: entities{e("text_mention", 0, 1)}, want: "no user", page: "messageentity"},
		{name: "side by side", text: "abcd", entities: entities{e("bold", 0, 2), e("italic", 2, 2)}},
		{name: "styles in one another", text: "abcd", entities: entities{e("bold", 0, 4), e("italic", 1, 2), e("spoiler", 1, 1)}},
		{name: "same stretch", text: "abcd", entities: entities{e("italic", 0, 4), e("bold", 0, 4)}},
		{name: "overlap", text: "abcd", entities: entities{e("bold", 0, 3), e("italic", 1, 3)}, want: "neither contains", page: "formatting-options"},
		{name: "overlap in any order", text: "abcd", entities: entities{e("italic", 1, 3), e("bold", 0, 3)}, want: "neither contains", page: "formatting-options"},
		{name: "bold link", text: "abcd", entities: entities{link, e("bold", 1, 2)}},
		{name: "link in bold", text: "abcd", entities: entities{e("bold", 0, 4), link}},
		{name: "code in bold", text: "abcd", entities: entities{e("bold", 0, 4), e("code", 1, 2)}, want: "can't be part", page: "formatting-options"},
		{name: "bold in code", text: "abcd", entities: entities{e("code", 0, 4), e("bold", 1, 2)}, want: "contain no other", page: "formatting-options"},
		{name: "bold over code", text: "abcd", entities: entities{e("code", 0, 4), e("bold", 0, 4)}, want: "can't be part", page: "formatting-options"},
		{name: "code in a link", text: "abcd", entities: entities{link, e("code", 0, 2)}, want: "can't be part", page: "formatting-options"},
		{name: "link in a link", text: "abcd", entities: entities{link, e("url", 0, 2)}, want: "contain each other", page: "formatting-options"},
		{name: "code in a quote", text: "abcd", entities: entities{e("blockquote", 0, 4), e("pre", 1, 2)}},
		{name: "everything of a quote is code", text: "abcd", entities: entities{e("pre", 0, 4), e("blockquote", 0, 4)}},
		{name: "quote in code", text: "abcd", entities: entities{e("pre", 0, 4), e("blockquote", 1, 2)}, want: "contain no other", page: "formatting-options"},
		{name: "inline code in a quote", text: "abcd", entities: entities{e("blockquote", 0, 4), e("code", 1, 2)}},
		{name: "code in a styled quote", text: "abcd", entities: entities{e("bold", 0, 4), e("blockquote", 0, 4), e("code", 1, 2)}, want: "can't be part", page: "formatting-options"},
		{name: "code in a link in a quote", text: "abcd", entities: entities{e("blockquote", 0, 4), link, e("code", 1, 2)}, want: "can't be part", page: "formatting-options"},
		{name: "code beyond a quote", text: "abcd", entities: entities{e("blockquote", 0, 3), e("code", 2, 2)}, want: "neither contains", page: "formatting-options"},
		{name: "link in a quote", text: "abcd", entities: entities{e("expandable_blockquote", 0, 4), link}},
		{name: "quote in a quote", text: "abcd", entities: entities{e("blockquote", 0, 4), e("expandable_blockquote", 1, 2)}, want: "can't be nested", page: "formatting-options"},
		{name: "third level", text: "abcdef", entities: entities{e("bold", 0, 6), e("italic", 0, 2), e("underline", 1, 3)}, want: "neither contains", page: "formatting-options"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limit := c.limit
			if limit == 0 {
				limit = 4096
			}
			err := telegramtest.CheckText(c.text, c.entities, limit)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			rejected, ok := errors.AsType[*telegramtest.Rejection](err)
			if !ok || rejected.Code != 400 || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if rejected.Page != "https://core.telegram.org/bots/api#"+c.page {
				t.Errorf("it cites %s, want %s", rejected.Page, c.page)
			}
		})
	}
}

func TestOnlyLinksThePlatformTakesPass(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]bool{
		"http://www.example.com/":       true,
		"HTTPS://Example.org:8443/a?b":  true,
		"https://m\u00fcnchen.example/": true,
		"https://192.0.2.1/":            true,
		"https://[2001:db8::1]/":        true,
		"tg://user?id=123456789":        true,
		"":                              false,
		"example.org":                   false, // the platform would put http:// in front
		"//example.org":                 false,
		"http://":                       false,
		"http://localhost:8080/":        false,
		"http://.org":                   false,
		"http://a..org":                 false,
		"http://exa$mple.org":           false,
		"http://example.org:0":          false,
		"http://example.org:99999":      false,
		"http://example.org/a b":        false,
		"http://example.org/\u2028":     false,
		"tg:user?id=1":                  false,
		"tg://":                         false,
		"tg://user:80?id=1":             false,
		"ftp://example.org/":            false,
		"mailto:ada@example.org":        false,
		"tel:+12025550123":              false,
		"ton://transfer":                false,
		"file:///etc/hosts":             false,
		"javascript:alert(1)//a.b":      false,
		"%":                             false,
	} {
		entity := telegramtest.Entity{Type: "text_link", Length: 4, URL: link}
		if err := telegramtest.CheckText("abcd", []telegramtest.Entity{entity}, 4096); (err == nil) != want {
			t.Errorf("%q: %v", link, err)
		}
	}
}
