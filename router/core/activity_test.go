package core_test

import (
	"testing"

	"switchboard/router/core"
)

func TestActivityIsSignalledOnceUntilItIsRead(t *testing.T) {
	t.Parallel()
	var a core.Activity
	a.Note() // nobody follows
	happened, stop := a.Follow()
	select {
	case <-happened:
		t.Error("what was before is signalled")
	default:
	}
	a.Note()
	a.Note()
	<-happened
	select {
	case <-happened:
		t.Error("it is signalled twice")
	default:
	}
	stop()
	a.Note()
	select {
	case <-happened:
		t.Error("it is signalled after the end")
	default:
	}
}
