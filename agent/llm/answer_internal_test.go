package llm

import (
	"encoding/json"
	"math"
	"testing"
)

// A bill in odd numbers costs no answer.
func TestUsageInOddNumbersLosesNoAnswer(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]int64{
		`12`: 12, `12.0`: 12, `"12"`: 12, `1e2`: 100, `10000000000000000000`: 1 << 62, `9223372036854775807`: math.MaxInt64, `-3`: 0, `null`: 0, `"x"`: 0, `{}`: 0,
	} {
		var c completion
		if err := json.Unmarshal([]byte(`{"usage":{"prompt_tokens":`+told+`,"completion_tokens":1}}`), &c); err != nil || int64(c.Usage.In) != want {
			t.Errorf("%s: %+v, %v", told, c.Usage, err)
		}
	}
}
