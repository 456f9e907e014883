package words

import "testing"

func TestBeginnings(t *testing.T) {
	t.Parallel()
	is := Beginnings("job Später écri http éta")
	for text, want := range map[string]bool{
		"": false, "my jobs": true, "JOB 7": true, "(job)": true, "a-job": true, "7job": true, "nojob": false, "später": true, "spaeter": false, "ÉCRIS": true,
		"récri": false, "see https://x": true, "xhttp": false, "jo b": false, "été, état": true,
	} {
		if is(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	if Beginnings("")("anything") {
		t.Error("no word begins like none")
	}
}
