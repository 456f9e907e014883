//go:build long

package faults_test

import (
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// A nonce is enforced for two minutes only: what was shown before is looked for afterwards.
func TestPlatformsAwayForMinutesLoseNoAnswer(t *testing.T) {
	t.Parallel()
	platformsAway(t, programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n"), 150*time.Second, "discord", "slack", "telegram")
}
