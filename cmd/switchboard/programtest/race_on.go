//go:build linux && race

package programtest

// raceDetector says that the tests are built with it; fleets run engines that are too.
const raceDetector = true
