package agent

import (
	"encoding/json"
	"regexp"
	"strings"

	"switchboard/agent/llm"
)

// secretsGiven finds a key "secrets" whose value is anything but null or an empty
// list, in answers that are cut off or no JSON as well.
var secretsGiven = regexp.MustCompile(`(?i)"secrets"\s*:\s*(\[\s*[^\]\s]|[^\[n\s])`)

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
		if strings.EqualFold(key, "secrets") && !emptyList(raw) {
			return true
		}
	}
	return false
}

// blank takes everything out of a call that might hold a credential: the answer,
// and the prompt with the person's message. What it cost stays.
func blank(call Call) Call {
	const removed = `"[removed: it held a credential]"` // JSON, like the bodies it replaces
	call.Answer = ""
	call.Error = "the plan held credentials, which are not available in this build"
	call.Exchange = llm.Exchange{
		Provider: call.Exchange.Provider, Model: call.Exchange.Model, Duration: call.Exchange.Duration,
		Request: []byte(removed), Response: []byte(removed),
	}
	return call
}

// secretsRefused ends a turn in which the person typed a credential.
func secretsRefused() *ending {
	return &ending{
		state: "failed", outcome: "not_available", whole: true, clean: true,
		text: "I did not use the credential in your message: taking passwords and keys in the chat is not available in this build. " +
			"Please consider it exposed and change it; whoever runs me can give tools what they need in the settings.",
	}
}
