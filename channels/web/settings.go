package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/settings"
)

// SavedSettings are the keys that stand in the file now, and what somebody has to paste there.
type SavedSettings struct {
	Keys  []string
	Paste string
}

const (
	versionsMost = 100
	// countsWithin is how long a page waits for what was changed to count.
	countsWithin = 2 * time.Second
	countsPoll   = 20 * time.Millisecond
)

func (s *Site) settingsPages() {
	if s.Settings == nil {
		return
	}
	s.menu = append(s.menu, entry{Name: "settings", Path: "/settings", Label: "Settings", Admin: true})
	s.onlyAdmins("GET /settings", s.settingList)
	s.onlyAdmins("POST /settings", s.changeSetting)
	s.onlyAdmins("GET /settings/changes", func(w http.ResponseWriter, r *http.Request) error { return s.settingChanges(w, r, nil) })
	s.onlyAdmins("GET /settings/waiting", s.settingWaits)
	s.onlyAdmins("GET /settings/{setting}", s.setting)
	s.onlyAdmins("POST /settings/undo", s.undoSetting)
	s.onlyAdmins("POST /settings/confirm", s.confirmSetting)
	s.onlyAdmins("POST /settings/save", s.saveSettings)
}

// changesAt is the conversation in which somebody changes settings on the page. A change that could shut the page has to be
// confirmed from there.
func (s *Site) changesAt(v *visitor) channels.Conversation {
	return channels.Conversation{Channel: s.Channel.Name(), Kind: channels.Direct, ID: channels.ConversationID(v.person.Name + "/settings")}
}

// A settingRow is a setting in the list.
type settingRow struct {
	settings.Setting
	Means string
}

// settingList shows the settings that count, those alone that have all words of the search in them.
func (s *Site) settingList(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query().Get("q")
	var rows []settingRow
	for _, one := range s.Settings.Settings() {
		means, _ := s.About(one.Key)
		text := strings.ToLower(one.Key + " " + one.Value + " " + one.Source + " " + means)
		if !slices.ContainsFunc(strings.Fields(strings.ToLower(query)), func(word string) bool { return !strings.Contains(text, word) }) {
			rows = append(rows, settingRow{one, means})
		}
	}
	if isPart(r) {
		return s.part(w, r, "setting-rows", rows)
	}
	return s.show(w, r, "settings", "Settings", "settings", map[string]any{"Find": query, "Rows": rows})
}

// A settingBody is the page of one setting.
type settingBody struct {
	settings.Setting
	Means, Fixed string
	There        bool   // it is set, or has a default
	Changed      bool   // at run time
	Typed        string // what stands in the field
	Faults       []string
	Done         *settings.Version // the change that was made just now
	Plan         *settings.Plan    // of Done
	Versions     []versionRow      // those that changed it
	Waiting      *waitingBody
}

// A versionRow is a version of the settings in a list.
type versionRow struct {
	*settings.Version
	Undone int64 // the version that took it back; 0: none
}

// versionRows are the versions that touch a key, or all.
func (s *Site) versionRows(ctx context.Context, key string) ([]versionRow, error) {
	list, err := s.Settings.SettingsVersions(ctx, versionsMost)
	undone := map[int64]int64{}
	var rows []versionRow
	for i := range list {
		v := &list[i]
		if v.Undoes != 0 && !v.Lapsed {
			undone[v.Undoes] = v.ID
		}
		if key == "" || slices.ContainsFunc(v.Diff, func(d settings.Diff) bool { return d.Key == key }) {
			rows = append(rows, versionRow{v, undone[v.ID]})
		}
	}
	return rows, err
}

// settingOf is what is shown of a setting.
func (s *Site) settingOf(ctx context.Context, v *visitor, key string) (b settingBody, err error) {
	b.Key = key
	for _, one := range s.Settings.Settings() {
		if one.Key == key {
			b.Setting, b.There, b.Typed = one, true, settings.Unquoted(one.Value)
		}
	}
	if b.Value == "[redacted]" || b.Value == "(not set)" {
		b.Typed = ""
	}
	b.Means, b.Fixed = s.About(key)
	if b.Versions, err = s.versionRows(ctx, key); err != nil {
		return b, err
	}
	diff, err := s.Settings.SettingsDiff(ctx)
	if _, broken := errors.AsType[*core.StateError](err); err != nil && !broken {
		return b, err
	}
	b.Changed = slices.ContainsFunc(diff, func(d settings.Difference) bool { return d.Key == key })
	b.Waiting, err = s.waiting(ctx, v)
	return b, err
}

func (s *Site) setting(w http.ResponseWriter, r *http.Request) error {
	b, err := s.settingOf(r.Context(), visitorOf(r), r.PathValue("setting"))
	if err == nil && !b.There && len(b.Versions) == 0 {
		err = core.ErrNotFound
	}
	if err != nil {
		return err
	}
	if done, err := strconv.ParseInt(r.URL.Query().Get("done"), 10, 64); err == nil && len(b.Versions) > 0 && b.Versions[0].ID == done {
		b.Done = b.Versions[0].Version
	}
	return s.show(w, r, "settings", b.Key, "setting-page", b)
}

// changeSetting sets a setting, or takes it back to what the file or the default says.
func (s *Site) changeSetting(w http.ResponseWriter, r *http.Request) error {
	v, key, value := visitorOf(r), strings.TrimSpace(r.PostFormValue("key")), r.PostFormValue("value")
	set, unset := map[string]string{key: settings.Unquoted(strings.TrimSpace(value))}, []string(nil)
	if r.PostFormValue("unset") != "" {
		set, unset = nil, []string{key}
	}
	plan, err := s.Settings.PlanSettings(r.Context(), s.changesAt(v), set, unset...)
	if err == nil {
		err = s.makeChange(r.Context(), v, plan)
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if plan.Change != nil && len(plan.Warnings) == 0 && !isPart(r) {
		s.lead(w, r, "/settings/"+url.PathEscape(key)+"?done="+strconv.FormatInt(plan.Change.Version.ID, 10))
		return nil
	}
	b, err := s.settingOf(r.Context(), v, key)
	if err != nil {
		return err
	}
	if b.Faults = plan.Faults; plan.Change == nil {
		b.Typed, status = value, http.StatusUnprocessableEntity
	} else {
		b.Done, b.Plan = plan.Change.Version, plan
	}
	return s.showAs(w, r, status, "settings", b.Key, "setting-page", b)
}

// makeChange makes the change of a plan, if it has one, and waits a moment until it is used here.
func (s *Site) makeChange(ctx context.Context, v *visitor, plan *settings.Plan) error {
	change := plan.Change
	if change == nil {
		return nil
	}
	change.Conversation = core.SessionKey(s.changesAt(v))
	if err := s.Changer.Change(ctx, change, v.actor()); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, countsWithin)
	defer stop()
	for counts := change.Kind != settings.Revert; (s.Settings.SettingsCounting() == change.Version.ID) != counts; {
		if !retry.Sleep(ctx, countsPoll) {
			break
		}
	}
	return nil
}

// settingChanges shows the versions of the settings.
func (s *Site) settingChanges(w http.ResponseWriter, r *http.Request, saved *SavedSettings) error {
	rows, err := s.versionRows(r.Context(), "")
	diff, broken := s.Settings.SettingsDiff(r.Context())
	if refused, ok := errors.AsType[*core.StateError](broken); !ok && err == nil {
		err = broken
	} else if ok {
		diff, broken = nil, refused
	}
	if err != nil {
		return err
	}
	return s.show(w, r, "settings", "Changes of the settings", "setting-changes", map[string]any{"Rows": rows, "Diff": diff, "Broken": broken, "Saved": saved})
}

// undoSetting takes a version back.
func (s *Site) undoSetting(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	version, err := strconv.ParseInt(r.PostFormValue("version"), 10, 64)
	if err != nil || version < 1 {
		return wrong("That is no version of the settings.")
	}
	plan, err := s.Settings.PlanUndo(r.Context(), s.changesAt(v), version)
	if err == nil {
		err = s.makeChange(r.Context(), v, plan)
	}
	if err == nil && len(plan.Faults) > 0 {
		err = refusal{http.StatusUnprocessableEntity, "Nothing was changed: " + strings.Join(plan.Faults, "; ") + "."}
	}
	return s.led(w, r, "/settings/changes", err)
}

// saveSettings writes what was changed at run time into the file.
func (s *Site) saveSettings(w http.ResponseWriter, r *http.Request) error {
	saved, change, err := s.SaveSettings(r.Context())
	if err == nil {
		err = s.makeChange(r.Context(), visitorOf(r), &settings.Plan{Change: change})
	}
	if err != nil {
		return err
	}
	return s.settingChanges(w, r, &saved)
}

// A waitingBody is a change of the settings that is used only until its time is over, unless somebody confirms it.
type waitingBody struct {
	*settings.Version
	Seconds int
	Mine    bool   // it was asked for on the page, by the visitor
	Said    string // what became of it, in place of all that
}

// waiting is the change that waits; nil: none does, or the visitor is no admin.
func (s *Site) waiting(ctx context.Context, v *visitor) (*waitingBody, error) {
	if s.Settings == nil || !v.admin() {
		return nil, nil
	}
	list, err := s.Settings.SettingsVersions(ctx, 1)
	if err != nil || len(list) == 0 || !list[0].Waiting() {
		return nil, err
	}
	version := &list[0]
	mine := version.Person == v.person.Name && version.Conversation == core.SessionKey(s.changesAt(v))
	return &waitingBody{Version: version, Seconds: int(version.Left.Seconds()) + 1, Mine: mine}, nil
}

// settingWaits answers with the change that waits, or what became of one that did.
func (s *Site) settingWaits(w http.ResponseWriter, r *http.Request) error {
	b, err := s.waiting(r.Context(), visitorOf(r))
	if err == nil && b == nil {
		var list []settings.Version
		list, err = s.Settings.SettingsVersions(r.Context(), versionsMost)
		for i := range list {
			if v := &list[i]; strconv.FormatInt(v.ID, 10) == r.URL.Query().Get("version") && v.Lapsed {
				b = &waitingBody{Said: "Nobody confirmed the change of " + v.Keys() + ", so I took it back: all is as it was before."}
			}
		}
	}
	if err != nil {
		return err
	}
	return s.part(w, r, "waiting", b)
}

// confirmSetting keeps the change that waits.
func (s *Site) confirmSetting(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	version, _ := strconv.ParseInt(r.PostFormValue("version"), 10, 64)
	change := &settings.Change{
		Kind: settings.Confirm, ID: version, Conversation: core.SessionKey(s.changesAt(v)), Counting: s.Settings.SettingsCounting(),
	}
	err := s.Changer.Change(r.Context(), change, v.actor())
	if err == nil && isPart(r) {
		return s.part(w, r, "waiting", &waitingBody{Said: "Confirmed: " + change.Version.Keys() + " stays so."})
	}
	return s.led(w, r, "/settings/changes", err)
}
