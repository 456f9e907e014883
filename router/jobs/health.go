package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools/host"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/outbox"
)

// Health looks how the program and its machine are, and notifies the admins of what is not well, and
// again when it is: once each, however often it looks. What it remembers is the health job's.
type Health struct {
	Machine  func(ctx context.Context) host.Reading // what it does not say is below zero
	Queue    func(ctx context.Context) (Queue, error)
	Channels func() []channels.Status
	Notify   func(ctx context.Context, kind outbox.NoticeKind, about, text string)
}

// A gauge is one thing that can be not well. It is ill from high on, and well below low only, each in as many
// looks in a row as it says: what goes to and fro is said once.
type gauge struct {
	name      string
	high, low float64
	looks     int
	kind      outbox.NoticeKind // empty: others notify of it
}

var (
	gaugeCPU    = gauge{"processors", 95, 80, 3, outbox.NoticeHealth}
	gaugeMemory = gauge{"memory", 95, 90, 2, outbox.NoticeHealth}
	gaugeDisk   = gauge{"disk", 95, 92, 1, outbox.NoticeDisk}
	gaugeQueue  = gauge{"queue", 15 * 60, 5 * 60, 1, outbox.NoticeHealth} // seconds that the oldest turn has waited
	gaugeDead   = gauge{"deliveries", 20, 10, 1, outbox.NoticeHealth}     // that are dead
	// The channel's own watch notifies of it, sooner.
	gaugeChannel = gauge{"channel", 1, 1, 2, ""}
)

// ills is what is remembered of gauges that are or may become ill, by "gauge@place".
type ills map[string]*ill

type ill struct {
	Ill   bool      `json:"ill,omitempty"`
	Looks int       `json:"looks,omitempty"` // in a row that say otherwise
	Since time.Time `json:"since,omitzero"`
	Last  time.Time `json:"last,omitzero"`  // it was looked at
	Text  string    `json:"text,omitempty"` // what it was about at first
}

// goneAfter is how long nothing looks at what is then forgotten: its machine is gone.
const goneAfter = 24 * time.Hour

// readIlls reads what the health job remembers.
func readIlls(seen string) ills {
	list := ills{}
	_ = json.Unmarshal([]byte(seen), &list) // what cannot be read is begun again
	return list
}

// Look looks once. Seen is what the last look has returned.
func (h *Health) Look(ctx context.Context, seen string, now time.Time) (did, remember string, err error) {
	list := readIlls(seen)
	var said []string
	look := func(g gauge, place string, value float64, text string) {
		if value < 0 { // nobody knows it
			return
		}
		i, word := list.note(g, place, value, text, now)
		if word == "" {
			return
		}
		said = append(said, g.name+" "+word)
		if !i.Ill {
			text = fmt.Sprintf("Well again. The trouble that began at %s was: %s", i.Since.Format("15:04 UTC"), text)
		}
		if g.kind != "" {
			h.Notify(ctx, g.kind, g.name+"@"+place+" "+word, text)
		}
	}
	h.lookAtMachine(ctx, look)
	err = h.lookAtQueue(ctx, look)
	h.lookAtChannels(list, look)
	maps.DeleteFunc(list, func(_ string, i *ill) bool { return !i.Ill && i.Looks == 0 || now.Sub(i.Last) > goneAfter })
	text, fault := json.Marshal(list)
	return strings.Join(said, ", "), string(text), errors.Join(err, fault)
}

// note notes a value, and says whether it became ill or well with it; empty: neither.
func (l ills) note(g gauge, place string, value float64, text string, now time.Time) (i *ill, word string) {
	key := g.name + "@" + place
	if i = l[key]; i == nil {
		i = &ill{}
		l[key] = i
	}
	i.Last = now.UTC().Truncate(time.Second)
	switch other := i.Ill && value < g.low || !i.Ill && value >= g.high; {
	case !other:
		i.Looks = 0
		return i, ""
	case i.Looks+1 < g.looks:
		i.Looks++
		return i, ""
	}
	if i.Ill, i.Looks = !i.Ill, 0; !i.Ill {
		return i, "well again"
	}
	i.Since, i.Text = i.Last, text
	return i, "not well"
}

type looker func(g gauge, place string, value float64, text string)

func (h *Health) lookAtMachine(ctx context.Context, look looker) {
	r := h.Machine(ctx)
	at := render.Escape(r.Host)
	memory, disk := r.MemoryUsed(), r.DiskUsed()
	look(gaugeCPU, r.Host, r.CPU, fmt.Sprintf("The processors of %s are %.0f %% busy.", at, r.CPU))
	look(gaugeMemory, r.Host, memory, fmt.Sprintf("The memory of %s is %.0f %% full; I take %d MB of it.", at, memory, r.Program/1_000_000))
	look(gaugeDisk, r.Host, disk, fmt.Sprintf("The disk of %s with my data is %.0f %% full; %.1f GB are free.", at, disk, float64(r.Free)/1e9))
}

func (h *Health) lookAtQueue(ctx context.Context, look looker) error {
	b, err := h.Queue(ctx)
	if err != nil {
		return err
	}
	look(gaugeQueue, "", b.Oldest.Seconds(), fmt.Sprintf("Messages waiting to be worked on: %d. The oldest has waited %s.", b.Waiting, b.Oldest.Round(time.Minute)))
	look(gaugeDead, "", float64(b.Dead), fmt.Sprintf("%d parts of answers could not be delivered; \"switchboard delivery list --state dead\" shows them.", b.Dead))
	return nil
}

// lookAtChannels looks at those that this engine serves, or served when it looked last.
func (h *Health) lookAtChannels(list ills, look looker) {
	all := slices.SortedFunc(slices.Values(h.Channels()), func(a, b channels.Status) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range all {
		text := "The channel " + s.Name + " is not connected."
		switch s.State {
		case channels.StateConnected:
			look(gaugeChannel, s.Name, 0, text)
		case channels.StateDeaf, channels.StateError:
			look(gaugeChannel, s.Name, 1, text)
		case channels.StateDisabled, channels.StateWaiting, channels.StateConnecting: // another's, or nobody knows yet
		}
	}
	maps.DeleteFunc(list, func(key string, _ *ill) bool {
		name, is := strings.CutPrefix(key, gaugeChannel.name+"@")
		return is && !slices.ContainsFunc(all, func(s channels.Status) bool { return s.Name == name && s.State != channels.StateDisabled }) // it is no channel any more
	})
}

// NotWell says what the health job found that is not well still, in words.
func NotWell(seen string) (list []string) {
	all := readIlls(seen)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if i := all[key]; i.Ill {
			list = append(list, i.Text+" (since "+i.Since.Format("2 January 15:04 UTC")+")")
		}
	}
	return list
}
