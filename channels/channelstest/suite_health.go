package channelstest

import (
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/internal/testkit"
)

// Health is what a harness does to the connection that events come by.
type Health struct {
	// Hurry makes another channel of the same account, whose connection is silent for
	// two seconds at most while it is well; nil: it has no pulse.
	Hurry func() channels.Channel
	// Mute keeps the connections that are open, and nothing comes on them any more;
	// new ones are well.
	Mute func()
	// Connections is how many connections for events were open at once, at most.
	Connections func() int
}

var healthCases = []conformanceCase{
	{"silence is short", is[channels.Pulse], testSilence},
	{"heard while nothing happens", func(h Harness) bool { return h.Hurry != nil }, testHeard},
	{"deafness", func(h Harness) bool { return h.Hurry != nil && h.Mute != nil }, testDeafness},
	{"probe", func(h Harness) bool { return h.Down != nil && is[channels.Prober](h) }, testProbe},
}

// testSilence: the router finds a deaf connection after its silence and a probe of
// ten seconds at most, and has a minute.
func testSilence(t *testing.T, r *rig) {
	if s := r.Channel.(channels.Pulse).Silence(); s > 49*time.Second {
		t.Errorf("a connection may be silent for %s, so that deafness is not found within a minute", s)
	}
}

// hurry replaces the rig's channel and returns its silence.
func (r *rig) hurry(t *testing.T) time.Duration {
	t.Helper()
	r.Channel = r.Hurry()
	silence := r.Channel.(channels.Pulse).Silence()
	if silence <= 0 || silence > 2*time.Second {
		t.Fatalf("the channel in a hurry may be silent for %s", silence)
	}
	return silence
}

// silent waits until nothing was heard for so long, within a time, and says whether
// it was so. It counts its looks, not the clock: where the machine stands still, nobody can be heard.
func (r *rig) silent(silence, within time.Duration) bool {
	const looks = 50
	frames, quiet := r.Sink.Frames(), 0
	for end := time.Now().Add(within); time.Now().Before(end); {
		time.Sleep(silence / looks)
		if n := r.Sink.Frames(); n != frames {
			frames, quiet = n, 0
		} else if quiet++; quiet == looks {
			return true
		}
	}
	return false
}

func testHeard(t *testing.T, r *rig) {
	silence := r.hurry(t)
	r.run(t)
	testkit.Await(t, "the platform is heard with nothing to tell", Patience, func() bool { return r.Sink.Frames() > 0 })
	if r.silent(silence, 3*silence) {
		t.Errorf("nothing was heard for %s on a connection that is well", silence)
	}
}

// testDeafness does what the router does: a connection that is silent for too long is
// ended and made again.
func testDeafness(t *testing.T, r *rig) {
	silence := r.hurry(t)
	r.begin(t, "one")
	r.Mute()
	r.Say("two")
	if !r.silent(silence, Patience) {
		t.Fatalf("a mute connection is heard all the same; %d events", len(r.Sink.Events()))
	}
	if n := len(r.Sink.Events()); n != 1 {
		t.Fatalf("%d events came on a mute connection", n)
	}
	began := time.Now()
	if err := r.Halt(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("a mute connection took %s to end", d)
	}
	r.run(t)
	r.Took(t, 2)
	if r.Connections != nil && r.Connections() != 1 {
		t.Errorf("%d connections at once", r.Connections())
	}
}

func testProbe(t *testing.T, r *rig) {
	prober := r.Channel.(channels.Prober) //nolint:errcheck // asked by needs
	if err := prober.Probe(t.Context()); err != nil {
		t.Errorf("a platform that is well: %v", err)
	}
	r.Down(true)
	defer r.Down(false)
	if err := prober.Probe(t.Context()); err == nil {
		t.Error("a platform that is not there answers")
	}
}
