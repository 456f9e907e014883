package platforms_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/outbox"
)

// What a platform refused is listed to an admin there, and sent again by a button of the list,
// once; in the terminal the list says what to type.
func TestDeadAnswerIsSentAgainByAButtonOnEveryPlatform(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "")
	o.opens()
	o.claims()
	for _, d := range o.desks {
		id := o.undelivered(d)
		retry, drop := fmt.Sprint("Retry ", id), fmt.Sprint("Drop ", id)
		list := d.answer("deliveries", fmt.Sprint(id), "on "+d.kind)
		if shown := programtest.Labels(list); !slices.Equal(shown, []string{retry, drop}) {
			t.Errorf("on %s the buttons are %q", d.kind, shown)
		}
		d.ada.Presses(list, retry)
		d.ada.Reads(fmt.Sprintf("Delivery %d was dead and is pending now.", id))
		d.ada.Reads("Tools you may use here")
		o.Await("that is noted", programtest.Patience, func() bool {
			return slices.ContainsFunc(o.Deliveries(), func(d outbox.Info) bool { return d.ID == id && d.State == "sent" })
		})
		d.ada.Presses(list, retry)
		d.ada.Presses(list, drop)
		d.ada.Reads(fmt.Sprintf("delivery %d is sent", id)) // the press before was for nothing
		for _, text := range []string{fmt.Sprintf("Delivery %d was dead", id), "Tools you may use here"} {
			if n := d.ada.Bots(text); n != 1 {
				t.Errorf("on %s %q is read %d times", d.kind, text, n)
			}
		}
	}
	d := o.desks[0]
	id := o.undelivered(d)
	list, _, code := o.CommandWith("/deliveries\n", "chat")
	if want := fmt.Sprintf("To retry %d: /deliveries retry %[1]d\nTo drop %[1]d: /deliveries drop %[1]d\n", id); code != 0 || !strings.HasSuffix(list, want) {
		t.Errorf("exit %d, in the terminal %q, want %q", code, list, want)
	}
	if out, errs, code := o.CommandWith(fmt.Sprintf("/deliveries retry %d\n", id), "chat"); code != 0 {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	o.Await("it is read", programtest.Patience, func() bool { return d.ada.Bots("Tools you may use here") == 2 })
}
