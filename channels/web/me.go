package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"switchboard/internal/words"
	"switchboard/router/browsers"
	"switchboard/router/core"
	"switchboard/router/sessions"
)

// A BrowserList lists the browsers of a person that are signed in, the one used last first.
type BrowserList interface {
	Browsers(ctx context.Context, person string) ([]browsers.Browser, error)
}

func (s *Site) mePages() {
	s.forAll("GET /me", s.me)
	s.forAll("POST /me/timezone", s.setZone)
	s.forAll("POST /me/end", s.endMine)
}

// A browserRow is a browser in a list.
type browserRow struct {
	browsers.Browser
	Words string // what it is
	This  bool   // it is the one that looks
}

// browsersOf lists those of a person.
func (s *Site) browsersOf(ctx context.Context, person string, this int64) ([]browserRow, error) {
	list, err := s.BrowserList.Browsers(ctx, person)
	var rows []browserRow
	for i := range list {
		b := &list[i]
		if ended, err := s.ended(ctx, b); err != nil {
			return nil, err
		} else if !ended {
			rows = append(rows, browserRow{*b, browserWords(b.About), b.ID == this})
		}
	}
	return rows, err
}

// browserWords are a browser's own words in short: "Firefox on Linux".
func browserWords(about string) string {
	first := func(of ...[2]string) string {
		for _, one := range of {
			if strings.Contains(about, one[0]) {
				return one[1]
			}
		}
		return ""
	}
	// Each calls itself also what those behind it here are.
	name := first([2]string{"Edg", "Edge"}, [2]string{"OPR/", "Opera"}, [2]string{"Firefox/", "Firefox"}, [2]string{"FxiOS/", "Firefox"},
		[2]string{"Chrome/", "Chrome"}, [2]string{"CriOS/", "Chrome"}, [2]string{"Safari/", "Safari"})
	system := first([2]string{"Android", "Android"}, [2]string{"iPhone", "iPhone"}, [2]string{"iPad", "iPad"}, [2]string{"Windows", "Windows"},
		[2]string{"Mac OS X", "macOS"}, [2]string{"CrOS", "ChromeOS"}, [2]string{"Linux", "Linux"})
	switch {
	case name != "" && system != "":
		return name + " on " + system
	case about == "":
		return "A browser"
	}
	return words.OneLine(words.Visible(about), 40)
}

// A meBody is the page of the visitor.
type meBody struct {
	*core.Person
	Usable   []string
	Browsers []browserRow
}

func (s *Site) me(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	list, err := s.browsersOf(r.Context(), v.person.Name, v.browser.ID)
	if err != nil {
		return err
	}
	return s.show(w, r, "me", v.person.Name, "me", meBody{v.person, s.Usable(v.person.Name, s.Channel.Name()), list})
}

// setZone sets the time zone of the visitor.
func (s *Site) setZone(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	c, err := sessions.PersonZone(v.person.Name, r.PostFormValue("timezone"))
	if file, inFile := s.Named(v.person.Name); inFile != nil && inFile.TimeZone != "" {
		err = &core.StateError{Sentence: "Your time zone stands in [[people]] of " + file + ": change it there."}
	} else if err != nil {
		err = &core.StateError{Sentence: strings.TrimSuffix(err.Error(), ".") + "."}
	}
	if err == nil {
		err = s.Changer.Change(r.Context(), c, v.actor())
	}
	return s.led(w, r, "/me", err)
}

// endMine ends a browser of the visitor.
func (s *Site) endMine(w http.ResponseWriter, r *http.Request) error {
	return s.led(w, r, "/me", s.endBrowser(r, visitorOf(r).person.Name))
}

// endBrowser ends the browser that a form names, or all of the person.
func (s *Site) endBrowser(r *http.Request, person string) error {
	id, err := strconv.ParseInt(r.PostFormValue("id"), 10, 64)
	switch {
	case r.PostFormValue("all") != "":
		id = 0
	case err != nil || id < 1:
		return core.ErrNotFound
	}
	return s.Browsers.End(r.Context(), id, person, visitorOf(r).actor())
}
