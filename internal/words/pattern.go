package words

import (
	"regexp"
	"sync"
)

// Pattern compiles an expression when it is first needed. The program starts itself for
// each command that it runs, and is not to pay each time for what that does not use.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
