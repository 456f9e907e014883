package configs

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
)

func (c *checker) people(s *Settings) {
	names, owners := map[string]string{}, map[string]string{}
	for i, p := range s.People {
		key := at("people", i)
		c.wrong(key+".name", personNameFault(p.Name))
		if first := names[p.Name]; first != "" && p.Name != "" {
			c.says(true, key+".name", "%q is the name of %s too", p.Name, first)
		}
		for other := range names {
			c.says(words.Alike(p.Name, other), key+".name", "%q looks like %q, the name of somebody else", p.Name, other)
		}
		names[p.Name] = key
		for j, id := range p.Identities {
			idKey := at(key+".identities", j)
			c.wrong(idKey, s.identityFault(id))
			if first := owners[id]; first != "" {
				c.says(true, idKey, "%q belongs to %s already", id, first)
			}
			owners[id] = key
		}
	}
}

// CheckPerson judges what is said of a person at run time as the file's [[people]] are
// judged.
func (s *Settings) CheckPerson(name string, identities, patterns []string, zone string) error {
	var errs []error
	add := func(fault string) {
		if fault != "" {
			errs = append(errs, errors.New(fault))
		}
	}
	if fault := personNameFault(name); fault != "" {
		add("the name " + fault)
	}
	for _, id := range identities {
		add(s.identityFault(id))
	}
	for _, pattern := range patterns {
		add(patternFault(pattern))
	}
	if zone != "" {
		errs = append(errs, words.CheckZone(zone))
	}
	return errors.Join(errs...)
}

func personNameFault(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is missing"
	case strings.Contains(name, ":"):
		return fmt.Sprintf("%q holds a colon; only names that come from an open channel do", name)
	}
	return words.NameFault(name)
}

// identityFault says what is wrong with an identity; empty: nothing.
func (s *Settings) identityFault(id string) string {
	channel, rest, ok := strings.Cut(id, ":")
	if !ok || channel == "" || strings.TrimSpace(rest) == "" {
		return fmt.Sprintf("%q is not of the form KIND:ID or CHANNEL:ID, e.g. \"telegram:12345\"", id)
	}
	kind, isKind := s.opts.Kinds.Find(channel)
	_, named := s.sources[dot("channels", channel)]
	adapter := s.Channels[channel].Adapter
	if kind.Config != nil {
		adapter = kind.Config()
	}
	person, _ := idsOf(adapter)
	switch fault := notStable(id, rest, person); {
	case !isKind && !named && !slices.Contains(known, channel):
		return fmt.Sprintf("%q: %q is neither a kind of channel nor a table [channels.%s]", id, channel, channel)
	case fault != "":
		return fault
	case kind.LocalIDs && !strings.Contains(rest, "/"):
		if several := s.enabledOf(channel); len(several) > 1 {
			return fmt.Sprintf("%q may be somebody else in each of [channels.%s]; write \"%s:WORKSPACE/%s\"", id, strings.Join(several, "], [channels."), channel, rest)
		}
	}
	return ""
}

// IdentityForm is how an identity on a channel of kind is written, with ID for the platform's
// own: with WORKSPACE where several channels could each mean somebody else by it.
func (s *Settings) IdentityForm(kind string) string {
	if k, _ := s.opts.Kinds.Find(kind); k.LocalIDs && len(s.enabledOf(kind)) > 1 {
		return kind + ":WORKSPACE/ID"
	}
	return kind + ":ID"
}

// enabledOf are the names of the enabled channels of a kind.
func (s *Settings) enabledOf(kind string) []string {
	names := slices.Sorted(maps.Keys(s.Channels))
	return slices.DeleteFunc(names, func(name string) bool { return s.Channels[name].Kind != kind || !s.Channels[name].Enabled })
}

// idsOf are the shapes of a platform's IDs, as an adapter's part says them; zero where it does not.
func idsOf(adapter any) (person, place channels.IDShape) {
	if says, ok := adapter.(interface {
		IDs() (person, place channels.IDShape)
	}); ok {
		return says.IDs()
	}
	return person, place
}

// notStable says why an ID is not the platform's own: names change hands. Empty: it is.
func notStable(written, id string, shape channels.IDShape) string {
	text := fmt.Sprintf("%q: a name can change hands; write the platform's stable ID", written)
	switch {
	case shape.Pattern == "" && strings.HasPrefix(id, "@"):
		return text
	case shape.Pattern != "" && !regexp.MustCompile("^(?:"+shape.Pattern+")$").MatchString(id):
		return text + ", such as " + shape.Like
	}
	return ""
}
