package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"switchboard/agent/form"
)

// secretsGiven finds a key "secrets" whose value is anything but null or an empty
// list, in answers that are cut off or no JSON as well.
var secretsGiven = regexp.MustCompile(`(?i)['"]secrets['"]\s*:\s*(\[\s*[^\]\s]|[^\[n\s])`)

// holdsSecrets says that a planner's answer holds credentials.
func holdsSecrets(answer string) bool {
	if secretsGiven.MatchString(answer) {
		return true
	}
	// A key may be written with escapes.
	var top map[string]json.RawMessage
	if json.Unmarshal([]byte(answer), &top) != nil {
		return false
	}
	for key, raw := range top {
		if strings.EqualFold(key, "secrets") && !form.Empty(raw) {
			return true
		}
	}
	return false
}

// refuseSecrets ends a turn in which the person typed a credential, in one commit that holds nothing of it: neither
// the answer nor the prompt with the person's message. What the call cost stays.
func (w *writer) refuseSecrets(ctx context.Context, call Call) error {
	if !w.answered(call.Step) {
		const removed = `"[removed: it held a credential]"` // JSON, like the bodies it replaces
		redact := w.secretsIn(call.Answer)
		call.Answer, call.Error = "", "the plan held credentials, which are not available in this build"
		call.Exchange.Request, call.Exchange.Response = []byte(removed), []byte(removed)
		if err := w.stage(ctx, Step{Calls: []Call{call}, Redact: redact}); err != nil {
			return err
		}
	}
	return &ending{
		state: "failed", outcome: "not_available", whole: true, clean: true,
		text: "I did not use the credential in your message: taking passwords and keys in the chat is not available in this build. " +
			"Please consider it exposed and change it; whoever runs me can give tools what they need in the settings.",
	}
}

// secretsIn are the credentials in a planner's answer as the person typed them,
// the longest first, so that none leaves a rest of another. Where one does not
// stand in what the person said as the model copied it, it is all of that.
func (r *record) secretsIn(answer string) []string {
	var top map[string]any
	var values []string
	if json.Unmarshal([]byte(answer), &top) == nil {
		for key, value := range top {
			if strings.EqualFold(key, "secrets") {
				values = append(values, texts(value)...)
			}
		}
	}
	values = slices.DeleteFunc(values, blankText)
	said := []Incoming{r.turn.Message}
	for _, added := range r.Added {
		said = append(said, added.Incoming)
	}
	typed := func(value string) bool {
		return slices.ContainsFunc(said, func(m Incoming) bool {
			return strings.Contains(m.Text, value) || strings.Contains(m.Quote, value)
		})
	}
	if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return !typed(v) }) {
		for _, m := range said {
			values = append(values, m.Text)
		}
		values = slices.DeleteFunc(values, blankText)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(values)
}

func blankText(text string) bool { return strings.TrimSpace(text) == "" }

// texts are the texts in a JSON value, but for the names under "key".
func texts(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			all = append(all, texts(item)...)
		}
	case map[string]any:
		for key, item := range v {
			if !strings.EqualFold(key, "key") {
				all = append(all, texts(item)...)
			}
		}
	}
	return all
}
