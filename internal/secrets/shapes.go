package secrets

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A shape is how the credentials of one kind are written.
type shape struct {
	name  string                // what people call it, with its article
	marks []string              // one of these is in each; looked for first, because that is cheap
	like  func() *regexp.Regexp // the first group is what is hidden; with none, all of it is
	dense bool                  // its longest run of letters and digits has at least 16, of both kinds
}

// shapes are of credentials that nothing else looks like; that a text is random is not
// enough. Sources:
// https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns
// https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
// https://docs.gitlab.com/security/tokens/#token-prefixes
// https://docs.slack.dev/authentication/tokens
// https://core.telegram.org/bots/features#creating-a-new-bot
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
// https://docs.stripe.com/keys
// https://discord.com/developers/docs/reference#authentication
// https://www.rfc-editor.org/rfc/rfc7468 (PEM), https://www.rfc-editor.org/rfc/rfc7519 (JWT)
var shapes = []shape{
	{"an API key", []string{"sk-"}, like(`sk-[A-Za-z0-9_-]{20,}`), true},
	{"an API key", []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}, like(`(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}`), false},
	{"an API key", []string{"AIza"}, like(`AIza[A-Za-z0-9_-]{35}`), false},
	{"an API key", []string{"gsk_", "xai-"}, like(`(?:gsk_|xai-)[A-Za-z0-9]{40,}`), false},
	{"an API key", []string{"SG."}, like(`SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`), false},
	{"an access token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, like(`(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{30,})`), false},
	{"an access token", []string{"glpat-"}, like(`glpat-[A-Za-z0-9_-]{20,}`), false},
	{"an access token", []string{"hf_", "npm_"}, like(`(?:hf_[A-Za-z0-9]{34,}|npm_[A-Za-z0-9]{36})`), false},
	{"an access token", []string{"GOCSPX-", "ya29."}, like(`(?:GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{40,})`), false},
	{"a bot's token", []string{"xox", "xapp-"}, like(`(?:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})`), false},
	{"an access key", []string{"AKIA", "ASIA"}, like(`A[KS]IA[A-Z2-7]{16}`), false},
	{"a bot's token", []string{":"}, like(`\d{8,10}:[A-Za-z0-9_-]{35}`), true},
	{"a bot's token", []string{"."}, like(`[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}`), true},
	{"a private key", []string{"PRIVATE KEY"}, once(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), false},
	{"a private key", []string{"AGE-SECRET-KEY-"}, like(`AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}`), false},
	{"a signed token", []string{"eyJ"}, like(`eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`), false},
}

// like finds a whole word: what stands before and after is no part of it.
func like(pattern string) func() *regexp.Regexp {
	return once(`(?:^|[^A-Za-z0-9_-])(` + pattern + `)(?:[^A-Za-z0-9_-]|$)`)
}

// once compiles a pattern at first use; most shapes never get there.
func once(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	runs   = regexp.MustCompile(`[A-Za-z0-9]+`)
	letter = regexp.MustCompile(`[A-Za-z]`)
	digit  = regexp.MustCompile(`\d`)
)

// isDense says that a text has a run that words do not have.
func isDense(text string) bool {
	return slices.ContainsFunc(runs.FindAllString(text, -1), func(run string) bool {
		return len(run) >= 16 && letter.MatchString(run) && digit.MatchString(run)
	})
}

// shortestShape is shorter than what any shape finds, but for private keys.
const shortestShape = 14

// hasLongWord says that a text has a word of at least n bytes, of the letters that
// credentials are written with.
func hasLongWord(text string, n int) bool {
	length := 0
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '-' && c <= ':' || c == '_' { // '-' to ':' are - . / 0-9 :
			if length++; length == n {
				return true
			}
		} else {
			length = 0
		}
	}
	return false
}

// Hide takes credentials of known shapes out of a text, and says what they were, each kind
// once.
func Hide(text string) (masked string, kinds []string) {
	if !hasLongWord(text, shortestShape) && !strings.Contains(text, "PRIVATE KEY") {
		return text, nil
	}
	for i := range shapes {
		s := &shapes[i]
		if !slices.ContainsFunc(s.marks, func(mark string) bool { return strings.Contains(text, mark) }) {
			continue
		}
		var out strings.Builder
		from := 0
		for at := 0; at < len(text); {
			m := s.like().FindStringSubmatchIndex(text[at:])
			if m == nil {
				break
			}
			first, last := at+m[len(m)-2], at+m[len(m)-1]
			at = last // what ends one may stand before the next
			if s.dense && !isDense(text[first:last]) {
				continue
			}
			out.WriteString(text[from:first])
			out.WriteString(Placeholder)
			from = last
			if !slices.Contains(kinds, s.name) {
				kinds = append(kinds, s.name)
			}
		}
		if from > 0 {
			text = out.String() + text[from:]
		}
	}
	return text, kinds
}
