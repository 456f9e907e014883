package telegram

import (
	"strings"
	"testing"

	"switchboard/channels"
)

func TestExamineNamesWhatHasToBeMended(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	says := func(c *Client, words string, ok, warn bool) {
		t.Helper()
		var all []string
		for _, f := range c.Examine(t.Context()) {
			if all = append(all, f.Text); strings.Contains(f.Text, words) && f.OK == ok && f.Warn == warn && (ok || f.Fix != "") {
				return
			}
		}
		t.Errorf("nothing says %q (ok %v, warn %v): %q", words, ok, warn, all)
	}
	says(r.c, "the token is good: @"+r.Bot().User.Username, true, false)
	says(r.c, "privacy mode is off", true, false)
	r.SetPrivacy(r.Bot(), true)
	says(r.c, "privacy mode is on", true, false)
	r.Say(r.ada.ID, "x")
	says(r.c, "1 updates wait", true, false)
	r.hook(t, "http://127.0.0.1:1/secret-path")
	says(r.c, "a webhook is set (127.0.0.1:1)", true, true)
	r.Revoke(r.Bot(), true)
	says(r.c, "rejected", false, false)
	r.c.cfg.Token = channels.Credential{}
	says(r.c, "the channel waits for it", true, true)
	for address, want := range map[string]bool{
		"http://127.0.0.1:1": false, "http://localhost": false, "http://10.1.2.3": false, "https://example.org": false,
		"http://example.org": true, "http://93.184.216.34:80": true,
	} {
		if plainHTTP(address) != want {
			t.Errorf("plainHTTP(%s) = %v", address, !want)
		}
	}
}
