package llm_test

import (
	"errors"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
)

// What an administrator has to mend is named with the setting, and without a word of
// the provider's or a credential.
func TestSetupErrorsNameTheSettingAndNoCredential(t *testing.T) {
	t.Parallel()
	quota := llmtest.Fail(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota "+key)
	for name, tt := range map[string]struct {
		reply        llmtest.Reply
		model        string
		keyFrom      string
		err          error
		reason, mend string
	}{
		"401": {llmtest.Raw(401, key), "smart", "", llm.ErrUnauthorized, `the key for "local" was refused`, "set llm.providers.local.api_key to a valid key"},
		"401, variable": {
			llmtest.Raw(401, key), "smart", "env:LOCAL_KEY", llm.ErrUnauthorized, `the key for "local" was refused`,
			"set the variable LOCAL_KEY (llm.providers.local.api_key) to a valid key",
		},
		"403, file": {
			llmtest.Raw(403, key), "smart", "file:/run/key", llm.ErrUnauthorized, `the key for "local" was refused`,
			"write a valid key into /run/key (llm.providers.local.api_key)",
		},
		"400, google": {
			llmtest.Raw(400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}]`), "smart", "", llm.ErrUnauthorized,
			`the key for "local" was refused`, "set llm.providers.local.api_key to a valid key",
		},
		"402": {
			llmtest.Raw(402, key), "smart", "", llm.ErrNoCredit, `the account at "local" has no credit left`,
			"add credit there, or set llm.models.smart.model to another model",
		},
		"quota":          {quota, "local/other", "", llm.ErrNoCredit, `the account at "local" has no credit left`, "add credit there, or set agent.planner to another model"},
		"404, alias":     {llmtest.Raw(404, key), "smart", "", llm.ErrUnknownModel, `"local" does not know the model "vendor/name"`, "correct its name in llm.models.smart.model, or llm.providers.local.base_url"},
		"404, its name":  {llmtest.Raw(404, key), "local/other", "", llm.ErrUnknownModel, `"local" does not know the model "other"`, "correct its name in agent.planner, or llm.providers.local.base_url"},
		"404, fallback":  {llmtest.Raw(404, key), "local/spare", "", llm.ErrUnknownModel, `"local" does not know the model "spare"`, "correct its name in agent.fallback[0], or llm.providers.local.base_url"},
		"nobody answers": {llmtest.Reply{}, "smart", "", llm.ErrUnavailable, `no answer comes from http://127.0.0.1:1, where the provider "local" is`, "start what should answer there, or correct llm.providers.local.base_url"},
		"no such model":  {llmtest.Reply{}, "nobody/x", "", llm.ErrUnknownModel, `there is no model "nobody/x" in the settings`, `name an alias of [llm.models], "provider/model" or "offline" in [agent]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Script(tt.reply)
			m := models(t, srv.URL(), func(c *llm.Config) {
				p := c.Providers["local"]
				p.KeyFrom = tt.keyFrom
				if name == "nobody answers" {
					p.BaseURL = "http://user:" + key + "@127.0.0.1:1/v1?key=" + key
				}
				c.Providers["local"] = p
				c.Named = map[string]string{"local/spare": "agent.fallback[0]"}
			})
			_, err := m.Complete(t.Context(), tt.model, question(nil))
			setup, ok := errors.AsType[*llm.SetupError](err)
			if !ok || !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want a SetupError of %v", err, tt.err)
			}
			if setup.Reason != tt.reason || setup.Fix != tt.mend || !strings.HasSuffix(err.Error(), "; "+tt.mend) {
				t.Errorf("reason %s\nmend %s\nerror %v", setup.Reason, setup.Fix, err)
			}
			if strings.Contains(err.Error()+setup.Reason+setup.Fix, key) {
				t.Errorf("the key is shown: %v", err)
			}
		})
	}
}
