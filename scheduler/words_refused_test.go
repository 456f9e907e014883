package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// What is over or not right is refused with the reason.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2020-01-01 09:00 pay":                  "past: Wednesday 1 January 2020 at 09:00 is over",
		"2020-01-01T09:00:00Z":                  "past: That time is in the past",
		"today at 9":                            "past: Say “today at 21:00” or “tomorrow at 09:00”",
		"yesterday at 9":                        "past: That time is in the past",
		"every day at 9 until 1 9 2020":         "can be read in two ways",
		"in 0 minutes":                          "that is now",
		"in 213504 days tea":                    "longer than a hundred years",
		"in 30501 weeks tea":                    "longer than a hundred years",
		"tea in 15251 fortnights":               "longer than a hundred years",
		"in 999999 days":                        "longer than a hundred years",
		"in 999999.5 weeks":                     "longer than a hundred years",
		"in 999999 and a half weeks":            "longer than a hundred years",
		"in 30000 days 30000 days tea":          "longer than a hundred years",
		"in 999999h tea":                        "longer than a hundred years",
		"every 213504 days":                     "longer than",
		"at 25:00":                              "25:00 is no time of the day",
		"on 31 february":                        "there is no day 31",
		"2026-13-01":                            "there is no day 2026-13-01",
		"monday 5 december at 9":                "5 December 2026 is a Saturday",
		"today":                                 "say at which time today",
		"5/12 at 9":                             "can be read in two ways",
		"on 5.12. at 9":                         "can be read in two ways",
		"call Ann on 5/12 at 9":                 "can be read in two ways",
		"every day except sunday at 9":          "exceptions are not taken",
		"every friday the 13th":                 "a weekday together with a date",
		"every 5 months":                        "has to fit into a year",
		"every 2 years":                         "write the months, as in “every year on the 1st of may and october”",
		"bimonthly pay":                         "“bimonthly” may mean two things",
		"every hour between 9 and 5":            "between 09:00 and 17:00",
		"every day at 9 and 17:30":              "two jobs",
		"at 9am PST tea":                        "PST is not exact; write the name of a time zone, such as America/Los_Angeles",
		"at 9pm eastern time":                   "such as America/New_York",
		"tomorrow at 9am Eastern tea":           "America/New_York; if it is part of the text, write the time first, then “:”",
		"meet Bob tomorrow at 9am Pacific":      "such as America/Los_Angeles; if it is part",
		"tomorrow at 9am Central":               "such as America/Chicago; if it is part",
		"tomorrow at 9am US eastern":            "such as America/New_York; if it is part",
		"every hour until 18:00 Eastern":        "such as America/New_York; if it is part",
		"at 21:00 in EST":                       "EST is not exact",
		"at 21:00 in US Pacific":                "US Pacific is not exact",
		"at 21:00 (EST)":                        "EST is not exact",
		"at 21:00 (MST) tea":                    "MST is not exact",
		"at 21:00 (HST)":                        "HST is not exact",
		"at 21:00 (PST)":                        "PST is not exact",
		"at 21:00 (Eastern)":                    "Eastern is not exact",
		"at 21:00 AST":                          "such as America/Halifax",
		"at 21:00 ADT":                          "such as America/Halifax",
		"at 21:00 NST":                          "such as America/St_Johns",
		"at 21:00 ACST tea":                     "such as Australia/Adelaide",
		"at 21:00 AEST":                         "such as Australia/Sydney",
		"at 21:00 IST":                          "such as Asia/Kolkata",
		"at 21:00 BST":                          "such as Europe/London",
		"cron 0 9 * * 5 PST tea":                "PST is not exact",
		"at 9pm UTC+2 call":                     "an offset such as UTC+2",
		"at 21:00 Europe/Rom":                   "did you mean Europe/Rome?",
		"at 21:00 in the US call Bob":           "US is not exact; write the name of a time zone, such as America/New_York, America/Chicago",
		"call Bob at 21:00 in USA":              "such as America/New_York",
		"at 21:00 in mexico":                    "such as America/Mexico_City",
		"at 21:00 in Paris, Texas to a":         "“Paris, Texas” is in",
		"a at 21:00 in Paris, Texas":            "“Paris, Texas” is in",
		"tomorrow at 9 in Romee":                "did you mean Rome?",
		"in -5 minutes tea":                     "a number above zero",
		"every day at 9 at 10 tea":              "more than one time",
		"tomorrow at 9 and 10 tea":              "that is several times",
		"tomorrow at 9 or 10 tea":               "“or 10” is a second time",
		"tomorrow at 9 to 10:30 meet":           "“to 10:30” is a second time",
		"tomorrow from 9 to 10 meet":            "“from 9” is no exact time",
		"tomorrow at lunch tea":                 "“at lunch” is no exact time",
		"tomorrow 9 tea":                        "did you mean “at 9”? Then write that",
		"on monday and thursday at 9":           "“and thursday” is a second time",
		"call Bob on monday or tuesday":         "“or tuesday” is a second time",
		"the shop is open until 18:00":          "“until 18:00” is not understood",
		"on december 24 and 25 tea":             "“and 25” is a second time",
		"in 10 minutes and again in 20 minutes": "is a second time",
		"in an hour or two":                     "write the length like this",
		"in 1 h 30 tea":                         "write the length like this",
		"a week from friday":                    "only count from now",
		"2 hours ago":                           "past: That time is in the past",
		"tea at 9 and coffee at 10":             "more than one time",
		"at 9 tea and at 10 coffee":             "more than one time",
		"call Ann first thing tomorrow":         "“thing tomorrow” is not understood",
		"be back no later than 9pm":             "“than 9pm” is not understood",
		"every monday at 9 for 3 months":        "write the last day",
		"stand up every day at 9am PT":          "PT is not exact",
		"friday week":                           "friday next week",
		"at 9 water it every other day":         "more than one time",
		"every monday in december at 9":         "a month alone is not understood",
		"завтра в 15:00 стоматолог":             "in a language that is not read here",
		"jutro o 15:00 dentysta":                "in a language that is not read here",
		"tea in 5 min and rice in 10 min":       "more than one time",
		"prepare for friday":                    "When? Say",
		"rent every day at 9 until 13 9 2020":   "past: That time is in the past",
		"every second monday":                   "may mean two things",
		"biweekly":                              "every 2 weeks",
		"every day from 9 to 17:00":             "works only with an interval",
		"every hour at half past":               "cron 30",
		"every 15 minutes during work":          "write hours as",
		"call Ann on 5.12 at 9":                 "can be read in two ways",
		"5/12/2026":                             "can be read in two ways",
		"cron":                                  "after “cron” write",
		"cron 61 8 * * *":                       "“61” is not a minute; write 0, * or */15",
		"cron 0 8 31 2 *":                       "this is never due",
		"tomorrow 18:00+01:00 tea":              "is not understood as a time of the day",
		"tomorrow 18:00Z tea":                   "is not understood as a time of the day",
		"tomorrow 18:00-19:00 tea":              "is not understood as a time of the day",
		"tomorrow 6pm-7pm tea":                  "is not understood as a time of the day",
		"tomorrow (18:00) tea":                  "is not understood as a time of the day",
		"tomorrow \"18:00\" tea":                "is not understood as a time of the day",
		"tomorrow *18:00* tea":                  "is not understood as a time of the day",
		"tomorrow ~18:00 tea":                   "is not understood as a time of the day",
		"tomorrow - 18:00 tea":                  "is not understood as a time of the day",
		"tomorrow – 18:00 tea":                  "is not understood as a time of the day",
		"tomorrow １８:00 tea":                    "is not understood as a time of the day",
		"tomorrow evening 18:00Z":               "is not understood as a time of the day",
		"call Ann 18 tomorrow":                  "is not understood as a time of the day",
		"call Ann 18.30 tomorrow":               "is not understood as a time of the day",
		"call Ann before 6 tomorrow":            "is not understood as a time of the day",
		"call Ann before six tomorrow":          "is not understood as a time of the day",
		"call Ann about 6 tomorrow":             "is not understood as a time of the day",
		"call Ann at 6ish tomorrow":             "is not understood as a time of the day",
		"call Ann 18:00-19:00 on friday":        "is not understood as a time of the day",
		"tomorrow at “18:00” tea":               "is no time of the day",
		"pay rent next month at 18:00":          "“next month” is no exact day",
		"pay rent next year at 18:00":           "is no exact day",
		"pay the week after next at 18:00":      "is no exact day",
		"ski in december at 18:00":              "is no exact day",
		"on the third friday at 18:00":          "of which month?",
		"on the first working day at 18:00":     "the first working day of every month",
		"every day at 9, 12, 15 tea":            "after “and”",
		"every day at 9, 0 times tea":           "1 time or more",
		"every afternoon at 11":                 "write 11:00 or 23:00",
		"every morning at 12":                   "write 12:00 or 00:00",
		"tomorrow evening at 12":                "write 12:00 or 00:00",
		"every friday night at 10 and 1":        "which day",
		"every hour between 9am and 5":          "between 09:00 and 17:00",
		"call Ann":                              "When? Say for example",
		"":                                      "When? Say",
	} {
		_, err := Read(text, at(t, spoken), "Europe/Rome")
		if past, ok := errors.AsType[*PastError](err); ok && !strings.HasPrefix(want, "past: ") {
			t.Errorf("%s is past: %s", text, past.Reason)
		}
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, "past: ")) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	if _, err := Read("tomorrow", at(t, spoken), "Mars/Base"); err == nil || !strings.Contains(err.Error(), "IANA") {
		t.Error(err)
	}
}

// Long text costs little: a message may be 64 KB.
func TestReadLongText(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	for _, word := range []string{"every ", "1 ", "monday and ", "mondays and ", "at 9 ", "in the ", "cron * ", "from 9 to ", "12/24/2026 ", "at 9 Europe/Rom ", "at 9 (New York time) ", "at 9 in Romez "} {
		_, _ = Read(strings.Repeat(word, 64<<10/len(word))+"x", at(t, spoken), "Europe/Rome")
	}
	if took := time.Since(begun); took > 2*time.Minute {
		t.Errorf("took %s", took)
	}
}
