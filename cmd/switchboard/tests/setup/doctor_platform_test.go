package setup_test

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
)

// The doctor really asks each platform, and never shows the token.
func TestDoctorAsksThePlatforms(t *testing.T) {
	t.Parallel()
	platform := telegramtest.New(t)
	platform.SetPrivacy(platform.Bot(), true)
	r := programtest.NewRig(t, nil, fmt.Sprintf(`[channels.tg]
kind = "telegram"
token = %q
api_url = %q
[channels.later]
kind = "telegram"
token = "env:NOT_SET_YET"
api_url = %q
dm = "open"
`, platform.Token(), platform.URL(), platform.URL()))
	_, key, _ := strings.Cut(platform.Token(), ":")
	out, errs, code := r.Command("doctor")
	for _, want := range []string{
		"tg: the token is good: @" + platform.Bot().User.Username, "tg: privacy mode is on", "tg: nobody may write yet",
		"later: getMe: token: no credentials are set: variable NOT_SET_YET is not set; the channel waits for it",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if code != 0 || strings.Contains(out+errs, key) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	platform.Revoke(platform.Bot(), true)
	if out, errs, code = r.Command("doctor"); code != 1 || !strings.Contains(out, "rejected the credentials") || !strings.Contains(out, "@BotFather") {
		t.Errorf("a revoked token: exit %d\n%s%s", code, out, errs)
	}
	out, errs, code = r.Command("config", "show")
	if code != 0 || strings.Contains(out+errs, key) || !strings.Contains(out, "channels.tg.token") {
		t.Errorf("config show: exit %d\n%s%s", code, out, errs)
	}
}
