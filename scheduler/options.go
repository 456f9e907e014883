package scheduler

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/internal/words"
)

// DefaultValue is the value that gives an option back what it is without one.
const DefaultValue = "default"

// An Option is what a job has but for its time and its text.
type Option struct {
	Name, Values string // Values says in words what it takes
	// For are the payloads that have it; none: all that people make.
	For []Payload
	// set sets it from a value, or, empty, to its default.
	set func(j *Job, value string, now time.Time) error
	// get is its value where that is not the default; nil: the words of the spec say it.
	get func(j *Job) string
}

// mostBudget is more than any run costs.
const mostBudget = 1_000_000

var agents = []Payload{PayloadAgent, PayloadHeartbeat}

// errValue says of a value that it is none of those that an option takes, and no more.
var errValue = errors.New("no such value")

// choice is an option that is one of some words.
func choice[T ~string](name, values string, field func(*Job) *T, all ...T) Option {
	return Option{
		Name: name, Values: values,
		set: func(j *Job, v string, _ time.Time) error {
			if *field(j) = T(strings.ToLower(v)); v != "" && !slices.Contains(all, *field(j)) {
				return errValue
			}
			return nil
		},
		get: func(j *Job) string { return string(*field(j)) },
	}
}

// length is an option that is a length of time, from a second on.
func length(name, values string, field func(*Job) *time.Duration, most time.Duration, of ...Payload) Option {
	return Option{
		Name: name, Values: values, For: of,
		set: func(j *Job, v string, _ time.Time) error {
			if *field(j) = 0; v == "" {
				return nil
			}
			c := cursor{tokens: tokenize(v, nil)}
			d, ok := c.length()
			if !ok || c.at < len(c.tokens) || d < time.Second || d > most {
				return errValue
			}
			*field(j) = d
			return nil
		},
		get: func(j *Job) string { return sayLength(*field(j)) },
	}
}

// Options are all there are, in the order in which they are listed.
var Options = []Option{
	choice("misfire", "skip, once or all", func(j *Job) *Misfire { return &j.Rules.Misfire }, MisfireSkip, MisfireOnce, MisfireAll),
	length("grace", "a time such as 10m or 2h", func(j *Job) *time.Duration { return &j.Rules.Grace }, 366*oneDay),
	choice("overlap", "skip, queue or allow", func(j *Job) *Overlap { return &j.Rules.Overlap }, OverlapSkip, OverlapQueue, OverlapAllow),
	length("jitter", "a time such as 30s or 5m, shorter than the time between two runs", func(j *Job) *time.Duration { return &j.Spec.Jitter }, oneDay),
	length("timeout", "a time such as 90s or 10m; if agent.turn_timeout is shorter, that counts", func(j *Job) *time.Duration { return &j.Rules.Timeout }, oneDay, agents...),
	{
		Name: "retries", Values: fmt.Sprintf("a number from 0 to %d", MostRetries),
		set: func(j *Job, v string, _ time.Time) error {
			if j.Rules.Retries = nil; v == "" {
				return nil
			}
			j.Rules.Retries = new(int)
			return whole(j.Rules.Retries, v, 0, MostRetries)
		},
		get: func(j *Job) string {
			if j.Rules.Retries == nil {
				return ""
			}
			return strconv.Itoa(*j.Rules.Retries)
		},
	},
	{
		Name: "budget", Values: "what a run may cost at most, a number above 0 such as 0.25", For: agents,
		set: func(j *Job, v string, _ time.Time) (err error) {
			if j.Rules.Budget = 0; v == "" {
				return nil
			}
			j.Rules.Budget, err = strconv.ParseFloat(v, 64)
			if err != nil || j.Rules.Budget == 0 || j.Rules.Budget > mostBudget || strings.Trim(v, "0123456789.") != "" { // no 0x1p-2, 1_0, 1e9, NaN
				return errValue
			}
			return nil
		},
		get: func(j *Job) string {
			if j.Rules.Budget == 0 {
				return ""
			}
			return strconv.FormatFloat(j.Rules.Budget, 'f', -1, 64)
		},
	},
	{
		Name: "model", Values: "the name of a model", For: agents,
		set: func(j *Job, v string, _ time.Time) error { j.Rules.Model = v; return nil },
		get: func(j *Job) string { return j.Rules.Model },
	},
	{
		Name: "checklist", Values: "a file in the folder heartbeat of the data folder", For: []Payload{PayloadHeartbeat},
		set: func(j *Job, v string, _ time.Time) error {
			if j.Rules.File = v; v != "" && !filepath.IsLocal(v) {
				return errValue
			}
			return nil
		},
		get: func(j *Job) string { return j.Rules.File },
	},
	{
		Name: "from", Values: "a time such as 5 december at 9, before which it does not run",
		set: func(j *Job, v string, now time.Time) error {
			s, err := j.bound("from", v, now)
			j.start(s.From, now)
			return err
		},
	},
	{
		Name: "until", Values: "a time such as 31 december, after which it does not run",
		set: func(j *Job, v string, now time.Time) error {
			s, err := j.bound("until", v, now)
			j.Spec.Until = s.Until
			return err
		},
	},
	{
		Name: "hours", Values: "hours such as 8:00-22:00; it runs only within them",
		set: func(j *Job, v string, now time.Time) error {
			s, err := j.bound("between", strings.Replace(v, "-", and, 1), now)
			j.Spec.Hours = s.Hours
			return err
		},
	},
	{
		Name: "times", Values: "how many times it runs in all, from 1",
		set: func(j *Job, v string, _ time.Time) error {
			if j.Spec.Most = 0; v == "" {
				return nil
			}
			if err := whole(&j.Spec.Most, v, 1, 1_000_000); err != nil || j.Spec.Most > j.Runs {
				return err
			}
			return fmt.Errorf("it ran %d times already", j.Runs)
		},
	},
	{
		Name: "timezone", Values: "an IANA name such as Asia/Tokyo; the job keeps its clock times, in that zone",
		set: func(j *Job, v string, _ time.Time) error { return j.Spec.move(v) },
	},
}

// OptionNames are the names of all options, in a sentence.
func OptionNames() string {
	var names []string
	for _, o := range Options {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}

// Set gives a job an option, as its name and value are written; DefaultValue takes it away. An error says what the
// option takes, and the job is to be thrown away then.
func (j *Job) Set(name, value string, now time.Time) error {
	i := slices.IndexFunc(Options, func(o Option) bool { return strings.EqualFold(o.Name, name) })
	if i < 0 {
		return fmt.Errorf("there is no option %q; there are %s", name, OptionNames())
	}
	o, value, spec := Options[i], strings.TrimSpace(value), j.Spec
	switch {
	case value == "":
		return fmt.Errorf("%s takes %s; %s takes it away", o.Name, o.Values, DefaultValue)
	case len(o.For) > 0 && !slices.Contains(o.For, j.Payload) && slices.Equal(o.For, agents):
		return fmt.Errorf("%s is for tasks and heartbeats: nothing else asks a model", o.Name)
	case len(o.For) > 0 && !slices.Contains(o.For, j.Payload):
		return fmt.Errorf("%s is for heartbeats", o.Name)
	case strings.EqualFold(value, DefaultValue):
		value = ""
	}
	if err := o.set(j, value, now); err != nil {
		why := ""
		if !errors.Is(err, errValue) {
			why = ": " + err.Error()
		}
		return fmt.Errorf("%s takes %s, not %q%s", o.Name, o.Values, value, why)
	}
	if j.Spec != spec {
		return j.Spec.Check()
	}
	return nil
}

// ChosenOptions are the options of a job that are not the default, as "overlap queue", without those that the words of
// its spec say.
func (j *Job) ChosenOptions() (list []string) {
	for _, o := range Options {
		if o.get != nil && o.get(j) != "" {
			list = append(list, o.Name+" "+o.get(j))
		}
	}
	return list
}

// bound is an interval's spec with one of the bounds that the grammar takes; empty: without.
func (j *Job) bound(word, value string, now time.Time) (Spec, error) {
	if value == "" {
		return Spec{}, nil
	}
	when, err := Read("every minute "+word+" "+value, now, j.Spec.Zone)
	if err != nil {
		return Spec{}, err
	}
	spec := when.Spec
	spec.Every, spec.Anchor = 0, time.Time{}
	only := map[string]Spec{"from": {From: spec.From}, "until": {Until: spec.Until}, "between": {Hours: spec.Hours}}[word]
	if only.Zone = j.Spec.Zone; spec != only || when.Rest != "" { // something else stands there too
		return Spec{}, errValue
	}
	return only, nil
}

func whole(field *int, value string, least, most int) (err error) {
	if *field, err = strconv.Atoi(value); err != nil || *field < least || *field > most {
		return errValue
	}
	return nil
}

// sayLength writes a length of time as 1h30m; empty: 0.
func sayLength(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// move moves a spec to another time zone: the job keeps its clock times, in that zone. What counts no clock, as an
// instant does and a plain interval, stays.
func (s *Spec) move(zone string) error {
	name, err := words.Zone(zone)
	if err != nil || zone == "" {
		return errValue
	}
	was, instants := s.Anchor, []*time.Time{&s.From, &s.Until}
	bound := s.Every != 0 && (s.Hours != "" || !s.From.IsZero())
	if bound {
		instants = append(instants, &s.Anchor)
	}
	if err := s.shift(name, instants...); err != nil {
		return err
	}
	for bound && s.Anchor.After(was) { // the first may be bound to a start, but is not put off
		s.Anchor = s.Anchor.Add(-s.Every)
	}
	return nil
}
