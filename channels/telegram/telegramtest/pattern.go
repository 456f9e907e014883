package telegramtest

import (
	"regexp"
	"sync"
)

// pattern compiles an expression when it is first needed: the program carries this
// package for its developers, and is not to pay for it at each start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
