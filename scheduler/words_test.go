package scheduler

import (
	"errors"
	"strings"
	"testing"
)

// Monday 23 November 2026, 10:00 in Rome.
const spoken = "2026-11-23T09:00:00Z"

func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"in 3 seconds to stretch":                  "once, Monday 23 November 2026 at 10:00:03 (Europe/Rome) | stretch",
		"to stretch in 3 seconds":                  "once, Monday 23 November 2026 at 10:00:03 (Europe/Rome) | stretch",
		"in 20 minutes":                            "once, Monday 23 November 2026 at 10:20 (Europe/Rome)",
		"after 20 minutes: tea":                    "once, Monday 23 November 2026 at 10:20 (Europe/Rome) | tea",
		"10 minutes tea":                           "once, Monday 23 November 2026 at 10:10 (Europe/Rome) | tea",
		"in an hour":                               "once, Monday 23 November 2026 at 11:00 (Europe/Rome)",
		"in an hour and a half":                    "once, Monday 23 November 2026 at 11:30 (Europe/Rome)",
		"in half an hour call Ann":                 "once, Monday 23 November 2026 at 10:30 (Europe/Rome) | call Ann",
		"in 1 hour and 30 minutes":                 "once, Monday 23 November 2026 at 11:30 (Europe/Rome)",
		"in 1h30m":                                 "once, Monday 23 November 2026 at 11:30 (Europe/Rome)",
		"in two hours":                             "once, Monday 23 November 2026 at 12:00 (Europe/Rome)",
		"in 2 days":                                "once, Wednesday 25 November 2026 at 10:00 (Europe/Rome)",
		"in 2 days at 9":                           "once, Wednesday 25 November 2026 at 09:00 (Europe/Rome)",
		"in a week":                                "once, Monday 30 November 2026 at 10:00 (Europe/Rome)",
		"in a month at noon":                       "once, Wednesday 23 December 2026 at 12:00 (Europe/Rome)",
		"tomorrow at 9 to call Ann":                "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | call Ann",
		"Tomorrow at 9, call Ann":                  "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | call Ann",
		"call Ann tomorrow at 9":                   "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | call Ann",
		"call Ann at 9 tomorrow.":                  "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | call Ann",
		"tomorrow call Ann at 9":                   "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | call Ann",
		"at 9 call Ann tomorrow":                   "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | call Ann",
		"tomorrow 9":                               "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome)",
		"tomorrow at 9:30pm":                       "once, Tuesday 24 November 2026 at 21:30 (Europe/Rome)",
		"tomorrow at 9 p.m. call":                  "once, Tuesday 24 November 2026 at 21:00 (Europe/Rome) | call",
		"tomorrow":                                 "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome)",
		"tomorrow to buy 3 eggs":                   "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | buy 3 eggs",
		"tomorrow morning":                         "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome)",
		"tomorrow evening":                         "once, Tuesday 24 November 2026 at 19:00 (Europe/Rome)",
		"tomorrow at 3 in the afternoon":           "once, Tuesday 24 November 2026 at 15:00 (Europe/Rome)",
		"the day after tomorrow at 8":              "once, Wednesday 25 November 2026 at 08:00 (Europe/Rome)",
		"at 9pm":                                   "once, Monday 23 November 2026 at 21:00 (Europe/Rome)",
		"at 11":                                    "once, Monday 23 November 2026 at 11:00 (Europe/Rome)",
		"21:30":                                    "once, Monday 23 November 2026 at 21:30 (Europe/Rome)",
		"at 09:00":                                 "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome)",
		"at noon":                                  "once, Monday 23 November 2026 at 12:00 (Europe/Rome)",
		"at midnight":                              "once, Tuesday 24 November 2026 at 00:00 (Europe/Rome)",
		"tonight":                                  "once, Monday 23 November 2026 at 20:00 (Europe/Rome)",
		"tonight at 9":                             "once, Monday 23 November 2026 at 21:00 (Europe/Rome)",
		"today at 3":                               "once, Monday 23 November 2026 at 15:00 (Europe/Rome)",
		"this afternoon":                           "once, Monday 23 November 2026 at 15:00 (Europe/Rome)",
		"on wednesday":                             "once, Wednesday 25 November 2026 at 09:00 (Europe/Rome)",
		"on monday":                                "once, Monday 30 November 2026 at 09:00 (Europe/Rome)",
		"friday at 18:00 go home":                  "once, Friday 27 November 2026 at 18:00 (Europe/Rome) | go home",
		"next monday at 9":                         "once, Monday 30 November 2026 at 09:00 (Europe/Rome)",
		"on 5 december":                            "once, Saturday 5 December 2026 at 09:00 (Europe/Rome)",
		"on december 5th at 9:30":                  "once, Saturday 5 December 2026 at 09:30 (Europe/Rome)",
		"on the 5th of January at 9":               "once, Tuesday 5 January 2027 at 09:00 (Europe/Rome)",
		"on the 1st at 9":                          "once, Tuesday 1 December 2026 at 09:00 (Europe/Rome)",
		"29 february 2028":                         "once, Tuesday 29 February 2028 at 09:00 (Europe/Rome)",
		"2026-12-05 09:00":                         "once, Saturday 5 December 2026 at 09:00 (Europe/Rome)",
		"2026-12-05 at 9 pay":                      "once, Saturday 5 December 2026 at 09:00 (Europe/Rome) | pay",
		"2026-12-05T09:30":                         "once, Saturday 5 December 2026 at 09:30 (Europe/Rome)",
		"2026-12-05T09:00:00Z":                     "once, Saturday 5 December 2026 at 10:00 (Europe/Rome)",
		"tomorrow at 9 (America/New_York)":         "once, Tuesday 24 November 2026 at 09:00 (America/New_York)",
		"tomorrow at 9 Asia/Tokyo call":            "once, Tuesday 24 November 2026 at 09:00 (Asia/Tokyo) | call",
		"every 15 minutes":                         "every 15 min",
		"every hour":                               "every hour",
		"hourly":                                   "every hour",
		"every other day at 9":                     "every 2 days",
		"every 2 weeks on friday at 9":             "every 14 days",
		"every 10 seconds, 3 times":                "every 10 s, 3 times",
		"every 15 minutes between 9 and 18":        "every 15 min between 09:00 and 18:00 (Europe/Rome)",
		"every hour from 9:00 to 18:00":            "every hour between 09:00 and 18:00 (Europe/Rome)",
		"every hour until 18:00":                   "every hour until Monday 23 November 2026 at 18:00 (Europe/Rome)",
		"every day at 9":                           "every day at 09:00 (Europe/Rome)",
		"every day at 9 and 18:00":                 "every day at 09:00 and 18:00 (Europe/Rome)",
		"daily at 8 water the plants":              "every day at 08:00 (Europe/Rome) | water the plants",
		"every weekday at 8 send me the tasks":     "every weekday at 08:00 (Europe/Rome) | send me the tasks",
		"every weekday send me the tasks at 8":     "every weekday at 08:00 (Europe/Rome) | send me the tasks",
		"send me the tasks every weekday at 8":     "every weekday at 08:00 (Europe/Rome) | send me the tasks",
		"every morning":                            "every day at 09:00 (Europe/Rome)",
		"every evening at 7 stretch":               "every day at 19:00 (Europe/Rome) | stretch",
		"every monday and thursday at 9:30":        "every Monday and Thursday at 09:30 (Europe/Rome)",
		"every monday, tuesday and sunday at 9":    "every Sunday, Monday and Tuesday at 09:00 (Europe/Rome)",
		"on mondays at 9":                          "every Monday at 09:00 (Europe/Rome)",
		"weekly on friday at 17:00 report":         "every Friday at 17:00 (Europe/Rome) | report",
		"every month on the 1st at 9":              "every month on the 1st at 09:00 (Europe/Rome)",
		"every month on the 1st and 15th at 9":     "every month on the 1st and 15th at 09:00 (Europe/Rome)",
		"monthly on the 1st at 9 pay the rent":     "every month on the 1st at 09:00 (Europe/Rome) | pay the rent",
		"every year on 1 december at 9":            "every year on 1 December at 09:00 (Europe/Rome)",
		"every monday at 9 until 20 december":      "every Monday at 09:00 until Sunday 20 December 2026 at 23:59:59 (Europe/Rome)",
		"every day at 9 starting monday to a":      "every day at 09:00 from Monday 30 November 2026 at 00:00 (Europe/Rome) | a",
		"every day at 9 until monday":              "every day at 09:00 until Monday 30 November 2026 at 23:59:59 (Europe/Rome)",
		"every hour until this monday":             "every hour until Monday 23 November 2026 at 23:59:59 (Europe/Rome)",
		"every week from friday":                   "every Friday at 09:00 from Friday 27 November 2026 at 00:00 (Europe/Rome)",
		"every week from friday at 18:00 swim":     "every Friday at 18:00 from Friday 27 November 2026 at 18:00 (Europe/Rome) | swim",
		"every week at 18:00 starting friday":      "every Friday at 18:00 from Friday 27 November 2026 at 00:00 (Europe/Rome)",
		"every month from 5 december":              "every month on the 5th at 09:00 from Saturday 5 December 2026 at 00:00 (Europe/Rome)",
		"every year from 2026-12-05 rent":          "every year on 5 December at 09:00 from Saturday 5 December 2026 at 00:00 (Europe/Rome) | rent",
		"every monday at 9 from 1 december":        "every Monday at 09:00 from Tuesday 1 December 2026 at 00:00 (Europe/Rome)",
		"at 5:30 pm today":                         "once, Monday 23 November 2026 at 17:30 (Europe/Rome)",
		"tomorrow at half past 9":                  "once, Tuesday 24 November 2026 at 09:30 (Europe/Rome)",
		"tomorrow at a quarter to 10":              "once, Tuesday 24 November 2026 at 09:45 (Europe/Rome)",
		"tomorrow @ 9 tea":                         "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | tea",
		"20 minutes from now":                      "once, Monday 23 November 2026 at 10:20 (Europe/Rome)",
		"in 1.5 hours":                             "once, Monday 23 November 2026 at 11:30 (Europe/Rome)",
		"next week on tuesday":                     "once, Tuesday 1 December 2026 at 09:00 (Europe/Rome)",
		"friday 27th at 9":                         "once, Friday 27 November 2026 at 09:00 (Europe/Rome)",
		"the first of january at noon":             "once, Friday 1 January 2027 at 12:00 (Europe/Rome)",
		"Mondays at 10 swim":                       "every Monday at 10:00 (Europe/Rome) | swim",
		"every 4th of july":                        "every year on 4 July at 09:00 (Europe/Rome)",
		"every 3rd day":                            "every 3 days",
		"every 15 minutes from 9:00":               "every 15 min from Tuesday 24 November 2026 at 09:00 (Europe/Rome)",
		"every 20 minutes for 2 hours":             "every 20 min until Monday 23 November 2026 at 12:00 (Europe/Rome)",
		"every hour on the hour":                   "cron 0 * * * * (Europe/Rome)",
		"cron 0 8 * * 1-5":                         "every weekday at 08:00 (Europe/Rome)",
		"cron */10 9-17 * * mon-fri check it":      "cron */10 9-17 * * mon-fri (Europe/Rome) | check it",
		"cron `*/10 9-17 * * 1-5` 3 eggs":          "cron */10 9-17 * * 1-5 (Europe/Rome) | 3 eggs",
		"@daily":                                   "every day at 00:00 (Europe/Rome)",
		"enjoy the sun tomorrow":                   "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | enjoy the sun",
		"at 21:00 in Tokyo sushi":                  "once, Monday 23 November 2026 at 21:00 (Asia/Tokyo) | sushi",
		"sushi at 21:00 in Tokyo":                  "once, Monday 23 November 2026 at 21:00 (Asia/Tokyo) | sushi",
		"in Tokyo at 21:00 sushi":                  "once, Monday 23 November 2026 at 21:00 (Asia/Tokyo) | sushi",
		"tomorrow at 9 in New York tea":            "once, Tuesday 24 November 2026 at 09:00 (America/New_York) | tea",
		"at 21:00 in los angeles":                  "once, Monday 23 November 2026 at 21:00 (America/Los_Angeles)",
		"at 21:00 in Sao_Paulo":                    "once, Monday 23 November 2026 at 21:00 (America/Sao_Paulo)",
		"at 21:00 (New York) tea":                  "once, Monday 23 November 2026 at 21:00 (America/New_York) | tea",
		"sushi tomorrow at 21:00 Tokyo time":       "once, Tuesday 24 November 2026 at 21:00 (Asia/Tokyo) | sushi",
		"every day in Tokyo at 9 sushi":            "every day at 09:00 (Asia/Tokyo) | sushi",
		"every hour from 9 to 18:00 in New York":   "every hour between 09:00 and 18:00 (America/New_York)",
		"tomorrow at 9 utc call":                   "once, Tuesday 24 November 2026 at 09:00 (UTC) | call",
		"at 21:00 CET":                             "once, Monday 23 November 2026 at 21:00 (CET)",
		"at 9pm local time call":                   "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | call",
		"at 21:00 in the office call Bob":          "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | in the office call Bob",
		"at 21:00 in Springfield call Bob":         "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | in Springfield call Bob",
		"at 21:00 in Rome, Italy call Bob":         "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | call Bob",
		"at 21:00 in Mexico City, call Bob":        "once, Monday 23 November 2026 at 21:00 (America/Mexico_City) | call Bob",
		"at 21:00 in central Rome tea":             "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | in central Rome tea",
		"at 21:00 in Room 7":                       "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | in Room 7",
		"tomorrow in Paris buy cheese":             "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | in Paris buy cheese",
		"at 9pm wet the plants":                    "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | wet the plants",
		"at 9pm tea time":                          "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | tea time",
		"in 90min tea":                             "once, Monday 23 November 2026 at 11:30 (Europe/Rome) | tea",
		"in two and a half hours":                  "once, Monday 23 November 2026 at 12:30 (Europe/Rome)",
		"in a quarter of an hour":                  "once, Monday 23 November 2026 at 10:15 (Europe/Rome)",
		"in a couple of hours tea":                 "once, Monday 23 November 2026 at 12:00 (Europe/Rome) | tea",
		"in about twenty-five minutes":             "once, Monday 23 November 2026 at 10:25 (Europe/Rome)",
		"in 2 hours' time tea":                     "once, Monday 23 November 2026 at 12:00 (Europe/Rome) | tea",
		"20 minutes later tea":                     "once, Monday 23 November 2026 at 10:20 (Europe/Rome) | tea",
		"tomorrow at 09h30":                        "once, Tuesday 24 November 2026 at 09:30 (Europe/Rome)",
		"at 1830 tea":                              "once, Monday 23 November 2026 at 18:30 (Europe/Rome) | tea",
		"tomorrow at 9.30 am tea":                  "once, Tuesday 24 November 2026 at 09:30 (Europe/Rome) | tea",
		"tomorrow @9pm tea":                        "once, Tuesday 24 November 2026 at 21:00 (Europe/Rome) | tea",
		"tomorrow at nine thirty tea":              "once, Tuesday 24 November 2026 at 09:30 (Europe/Rome) | tea",
		"tomorrow at ten past nine tea":            "once, Tuesday 24 November 2026 at 09:10 (Europe/Rome) | tea",
		"fri 18:00 tea":                            "once, Friday 27 November 2026 at 18:00 (Europe/Rome) | tea",
		"friday next week at 18:00 tea":            "once, Friday 4 December 2026 at 18:00 (Europe/Rome) | tea",
		"this coming friday at 6pm":                "once, Friday 27 November 2026 at 18:00 (Europe/Rome)",
		"pay the rent by friday":                   "once, Friday 27 November 2026 at 09:00 (Europe/Rome) | pay the rent",
		"on the 5th of next month":                 "once, Saturday 5 December 2026 at 09:00 (Europe/Rome)",
		"24.12.2026 18:00 tea":                     "once, Thursday 24 December 2026 at 18:00 (Europe/Rome) | tea",
		"tea on 12/24/2026 at 18:00":               "once, Thursday 24 December 2026 at 18:00 (Europe/Rome) | tea",
		"2026-12-24T18:00+01:00":                   "once, Thursday 24 December 2026 at 18:00 (Europe/Rome)",
		"call Ann in 20 minutes please":            "once, Monday 23 November 2026 at 10:20 (Europe/Rome) | call Ann",
		"tomorrow at 9: every day counts":          "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | every day counts",
		"at 21:00: in Tokyo sushi":                 "once, Monday 23 November 2026 at 21:00 (Europe/Rome) | in Tokyo sushi",
		"tea, daily at 9am":                        "every day at 09:00 (Europe/Rome) | tea",
		"tomorrow at 9 to call Ann at 10":          "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | call Ann at 10",
		"standup on weekdays 9:30 Asia/Tokyo time": "every weekday at 09:30 (Asia/Tokyo) | standup",
		"tomorrow: 3 eggs":                         "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | 3 eggs",
		"once a day at 9":                          "every day at 09:00 (Europe/Rome)",
		"once a week on monday":                    "every Monday at 09:00 (Europe/Rome)",
		"mon-fri at 9 tea":                         "every weekday at 09:00 (Europe/Rome) | tea",
		"monday to saturday at 9":                  "every Monday, Tuesday, Wednesday, Thursday, Friday and Saturday at 09:00 (Europe/Rome)",
		"weekends at 10 tea":                       "every Sunday and Saturday at 10:00 (Europe/Rome) | tea",
		"on monday mornings":                       "every Monday at 09:00 (Europe/Rome)",
		"nightly at 2":                             "every day at 02:00 (Europe/Rome)",
		"every single day at 8, 12 and 18 tea":     "every day at 08:00, 12:00 and 18:00 (Europe/Rome) | tea",
		"at 8am and 6pm every day pills":           "every day at 08:00 and 18:00 (Europe/Rome) | pills",
		"pills at 8 and 20:00 every day":           "every day at 08:00 and 20:00 (Europe/Rome) | pills",
		"every monday & wednesday at 9":            "every Monday and Wednesday at 09:00 (Europe/Rome)",
		"every other monday at 9":                  "every 14 days",
		"every fortnight":                          "every 14 days",
		"every third day":                          "every 3 days",
		"every dec 24":                             "every year on 24 December at 09:00 (Europe/Rome)",
		"on the 1st of every month at 9 rent":      "every month on the 1st at 09:00 (Europe/Rome) | rent",
		"every day at 9 for the next 2 weeks":      "every day at 09:00 until Monday 7 December 2026 at 10:00 (Europe/Rome)",
		"every day at 9 twice":                     "every day at 09:00 (Europe/Rome), 2 times",
		"every weekday at 9 daily standup":         "every weekday at 09:00 (Europe/Rome) | daily standup",
		"every day at 9 every child gets tea":      "every day at 09:00 (Europe/Rome) | every child gets tea",
		"2026-12-05 18:00:00Z tea":                 "once, Saturday 5 December 2026 at 19:00 (Europe/Rome) | tea",
		"2026-12-05 18:00+01:00 tea":               "once, Saturday 5 December 2026 at 18:00 (Europe/Rome) | tea",
		"2026-12-05 18:00:00.000 tea":              "once, Saturday 5 December 2026 at 18:00 (Europe/Rome) | tea",
		"tomorrow 18:00h tea":                      "once, Tuesday 24 November 2026 at 18:00 (Europe/Rome) | tea",
		"tomorrow 18:00hrs tea":                    "once, Tuesday 24 November 2026 at 18:00 (Europe/Rome) | tea",
		"tomorrow - 3 eggs":                        "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | 3 eggs",
		"buy 3 eggs tomorrow":                      "once, Tuesday 24 November 2026 at 09:00 (Europe/Rome) | buy 3 eggs",
		"every day 10-minute walk":                 "every day at 09:00 (Europe/Rome) | 10-minute walk",
		"every 2 days at 9 from 5 december":        "every 2 days from Saturday 5 December 2026 at 09:00 (Europe/Rome)",
		"every friday night at 1 tea":              "every Saturday at 01:00 (Europe/Rome) | tea",
		"every saturday night at 12":               "every Sunday at 00:00 (Europe/Rome)",
		"every friday night at 10":                 "every Friday at 22:00 (Europe/Rome)",
		"every day at 9, 3 pills":                  "every day at 09:00 (Europe/Rome) | 3 pills",
		"walk for 20 minutes at 11":                "once, Monday 23 November 2026 at 11:00 (Europe/Rome) | walk for 20 minutes",
	} {
		got, err := Read(text, at(t, spoken), "Europe/Rome")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		said := got.Spec.String()
		if got.Rest != "" {
			said += " | " + got.Rest
		}
		if said != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, said, want)
		}
	}
}

// What is not clear is asked about, in words that are clear.
func TestReadAsks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"at 9 call Ann":           "Monday 23 November at 21:00 | Tuesday 24 November at 09:00",
		"at 3":                    "Monday 23 November at 15:00 | Tuesday 24 November at 03:00",
		"at 6 (America/New_York)": "Monday 23 November at 06:00 (America/New_York) | Monday 23 November at 18:00 (America/New_York)",
		"tomorrow at 3":           "Tuesday 24 November at 15:00 | Tuesday 24 November at 03:00",
		"next friday at 18:00":    "Friday 27 November at 18:00 | Friday 4 December at 18:00",
		"on monday at 18:00":      "Monday 23 November at 18:00 | Monday 30 November at 18:00",
		"every day at 5 from today": "every day at 17:00 from Monday 23 November 2026 at 00:00 (Europe/Rome) | " +
			"every day at 05:00 from Monday 23 November 2026 at 00:00 (Europe/Rome)",
		"every day at 5 stretch": "every day at 17:00 (Europe/Rome) | every day at 05:00 (Europe/Rome)",
	} {
		_, err := Read(text, at(t, spoken), "Europe/Rome")
		ambiguous, ok := errors.AsType[*Ambiguous](err)
		if !ok {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var words []string
		for _, c := range ambiguous.Choices {
			words = append(words, c.Words)
			if again, err := Read(c.Words, at(t, spoken), "Europe/Rome"); err != nil || again.Spec != c.When.Spec {
				t.Errorf("%s: %q is %+v, %v; want %+v", text, c.Words, again.Spec, err, c.When.Spec)
			}
		}
		if got := strings.Join(words, " | "); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}
