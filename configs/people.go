package configs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"switchboard/internal/words"
)

func (b *binder) people(s *Settings) {
	names, owners := map[string]string{}, map[string]string{}
	for i, p := range s.People {
		key := at("people", i)
		fault := personNameFault(p.Name)
		b.says(fault != "", key+".name", "%s", fault)
		if first := names[p.Name]; first != "" && p.Name != "" {
			b.says(true, key+".name", "%q is the name of %s too", p.Name, first)
		}
		for other := range names {
			b.says(words.Alike(p.Name, other), key+".name", "%q looks like %q, the name of somebody else", p.Name, other)
		}
		names[p.Name] = key
		b.oneOf(key+".role", p.Role, "admin", "user")
		b.zone(key+".timezone", p.TimeZone)
		for j, id := range p.Identities {
			idKey := at(key+".identities", j)
			fault := s.identityFault(id)
			b.says(fault != "", idKey, "%s", fault)
			if first := owners[id]; first != "" {
				b.says(true, idKey, "%q belongs to %s already", id, first)
			}
			owners[id] = key
		}
	}
}

// CheckPerson judges what is said of a person at run time as the file's [[people]] are
// judged.
func (s *Settings) CheckPerson(name string, identities, patterns []string, zone string) error {
	var errs []error
	if fault := personNameFault(name); fault != "" {
		errs = append(errs, fmt.Errorf("the name %s", fault))
	}
	for _, id := range identities {
		if fault := s.identityFault(id); fault != "" {
			errs = append(errs, errors.New(fault))
		}
	}
	for _, pattern := range patterns {
		if fault := patternFault(pattern); fault != "" {
			errs = append(errs, errors.New(fault))
		}
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

// FileName is what the settings were read from, for people to read.
func (s *Settings) FileName() string { return cmp.Or(s.File, "the settings") }
