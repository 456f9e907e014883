//go:build !race

package sandboxtest

func fastHelper(*string) (remove func()) { return func() {} }
