//go:build linux && !race

package programtest

// RaceDetector says that the tests are built with it; fleets run engines that are too.
const RaceDetector = false
